"""News that comes too late: chains of facts over the iterations of a run, and INCR_UPDATE on them."""
