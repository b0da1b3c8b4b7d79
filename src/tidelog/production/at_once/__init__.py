"""Production rules that fire in sets, run by one kernel: takes rules and facts, returns what a run did to the facts."""
