"""Takes a plan, returns which intermediate joins to retain. Empty so far: Rete, TREAT, CoSMA and their cost."""
