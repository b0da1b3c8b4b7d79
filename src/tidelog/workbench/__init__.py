"""Takes a session, returns a JSON API and pages to look at it in a browser. Empty so far."""
