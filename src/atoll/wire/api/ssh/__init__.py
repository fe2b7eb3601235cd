"""SSH: keys of people."""
