"""SSH: keys, and logins by them."""
