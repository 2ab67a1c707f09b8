"""Programs, and everything that can be said about one without running it."""
