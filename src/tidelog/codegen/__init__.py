"""Takes a plan, returns compiled code that pushes rows through it. Empty so far."""
