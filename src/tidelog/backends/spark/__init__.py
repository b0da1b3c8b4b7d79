"""Takes rule plans and Spark tables, returns Spark tables. Empty so far."""
