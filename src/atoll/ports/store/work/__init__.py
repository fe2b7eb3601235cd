"""Ports of the rows of work in sandboxes."""
