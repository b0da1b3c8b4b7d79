"""Takes a checked program, returns its rule application graph, and from it compiled code that pushes rows.

Only the graph so far.
"""
