"""Take the delta of a rule group, return what follows by an algorithm of its own (add, overdelete, rederive, diff).

Empty so far: semi-naive as a module, transitive and symmetric-transitive closure.
"""
