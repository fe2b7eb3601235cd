"""Building a sandbox."""
