"""Sandboxes on machines of E2B, by its own library (the extra `e2b`)."""
