"""Wiring of what sandboxes live by."""
