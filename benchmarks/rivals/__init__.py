"""Other rule engines beside Tidelog: takes a problem that both can state, returns what each took and answered."""
