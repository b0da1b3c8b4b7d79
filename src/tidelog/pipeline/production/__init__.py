"""Takes parallel production rules and DataFrames, returns what the rules leave, by data reduction.

Every partition runs the same rules on less data (Wolfson, Dewan, Stolfo and Yemini 1991, sections 6 and 7). A partition
is a processor: a rule handler for the instantiations that a hash of one of their variables gives it, and a data handler
for the facts that are at home there. A shuffle is the mail. `placement` says who has what, `handler` is a partition at
work, `rounds` the exchanges between them.
"""
