"""Sandboxes: admission, provisioning, and what keeps them as they should be."""
