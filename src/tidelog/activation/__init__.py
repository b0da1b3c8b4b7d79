"""Takes tuples as they come and go, returns the matches of watched rules that begin and end with each of them."""
