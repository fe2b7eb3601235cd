"""Rows of work in sandboxes."""
