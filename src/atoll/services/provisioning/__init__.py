"""Provisioning of sandboxes: from a stored sandbox to a runtime that answers."""
