"""One plan rewrite per file. Each keeps the bag of rows that a rule gives, and so the answer."""
