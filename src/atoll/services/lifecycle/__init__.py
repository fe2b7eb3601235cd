"""Lifecycle of sandboxes in the store: their transitions, and what this process knows of them."""
