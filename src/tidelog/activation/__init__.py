"""Takes a change, returns the rules it can make fire. Empty so far: the yield index, its baselines and the agenda."""
