"""Takes a checked program, returns its rule application graph; takes a rule plan, returns code that pushes rows."""
