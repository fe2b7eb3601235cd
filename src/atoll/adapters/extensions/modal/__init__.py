"""Sandboxes on machines of Modal, by its own library (the extra `modal`)."""
