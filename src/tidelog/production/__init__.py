"""Takes rules with signed heads and priorities, returns the changes they make. Empty so far."""
