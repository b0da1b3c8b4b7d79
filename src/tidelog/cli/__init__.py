"""Takes command-line arguments, returns an exit code: one file a command, `main` chooses among them."""
