"""Which rules can fire, and what is retained to know it: networks of production rules in motion."""
