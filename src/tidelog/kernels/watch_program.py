"""What the tables of watched rules hold, and where.

The rules are rows of one table, `program`, written by `activation.rule_tables`. Rows are of several sorts, whose
columns are named here: an occurrence is a literal that a tuple can stand for, with a range of steps, one for each other
positive literal; a step has operations, one for each column that is compared with another, and bounds, one for each
order that its columns have to keep. `space` is where an activation notes how far it is.
"""

COLUMNS = 12
"""Columns of `program`."""

# of an occurrence
RULE, LITERAL, NEGATED, OPERATIONS, OPERATIONS_END, PRESENT, PRESENT_END = 0, 1, 2, 3, 4, 5, 6
STEPS, STEPS_END, COMPARED, COMPARED_END, RULE_ROW = 7, 8, 9, 10, 11
# of a step; a negated literal is one too
STEP_RELATION, STEP_LITERAL, STEP_OPERATIONS, STEP_OPERATIONS_END, STEP_COMPARED, STEP_COMPARED_END = range(6)
STEP_BOUNDS, STEP_BOUNDS_END, EXCLUDES, NEEDS_AT = 6, 7, 8, 9
# of a rule
CONSTANTS, CONSTANTS_END, NEGATIONS, NEGATIONS_END, HEADS, HEADS_END, JOINED = range(7)
# of a bound: how the column's value stands to that of the variable
BOUND_COLUMN, BOUND_OPERATOR, BOUND_VARIABLE = range(3)

CHECK, BIND, SAME = 0, 1, 2
"""What a literal's column does with its variable: compare it, give it its value, or compare it with a column before."""

EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = range(6)
"""Comparisons are written with the first four; bounds with the last five."""

VALUES, ON_PAGES, LIE_UNDER, NEEDS, NEEDS_ABSENT, CURSORS, LISTS, CHOSEN, ROW, PLACES, HIGHEST, HOLES = range(12)
SPACE = 12
"""Of each variable its value, the page where its entry is known (NONE: nowhere) and that entry; of each operation the
entry that a candidate needs; of each step the next candidate and the list it is from; of each literal its tuple. A step
that follows an order has the place reached there (NONE: it follows none), the highest value that it may take and the
entry that it passes over."""

ARRIVALS, EFFECTIVE, RULE_SEARCHES, RULE_ENTRIES_READ, TUPLES_READ, BEGUN, ENDED = range(7)
STATISTICS = 7
"""What is counted for each rule; an activation is effective when every joined literal has a tuple for the values."""
