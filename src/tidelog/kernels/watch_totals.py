"""Places in `totals`, where the tables of a yield index count: what was made, what is free again, what was touched."""

MADE_TUPLES, FREE_TUPLE, TUPLES, MADE_ENTRIES, FREE_ENTRY, ENTRIES, SEARCHES, ENTRIES_READ, FOUND = range(9)
MADE_NODES, FREE_NODE = 9, 10
TOTALS = 11
