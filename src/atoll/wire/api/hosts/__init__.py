"""Declarations of hosts, and of the routes that bring sandboxes to them."""
