"""How a change in the log is made known."""
