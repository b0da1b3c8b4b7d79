"""Takes changes of facts and rules, returns what appeared and vanished: the session and its what-ifs are worlds."""
