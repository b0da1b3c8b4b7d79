"""Places in `totals`, where the tables of a yield index count: what was made, what is free again, what was touched.

The last four say how far an arrival is that waits for room for its matches: its tuple, what is looked for (what ends
or what begins), the occurrence and the step there. No arrival waits where the step is NONE.
"""

MADE_TUPLES, FREE_TUPLE, TUPLES, MADE_ENTRIES, FREE_ENTRY, ENTRIES, SEARCHES, ENTRIES_READ, FOUND = range(9)
MADE_NODES, FREE_NODE = 9, 10
NUMBER, TURN, OCCURRENCE, STEP = 11, 12, 13, 14
TOTALS = 15
