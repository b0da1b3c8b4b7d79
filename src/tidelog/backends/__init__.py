"""Take rule plans and tables, return tables: the protocol every backend keeps, and one folder for each backend."""
