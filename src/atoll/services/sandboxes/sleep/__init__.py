"""Sandboxes that sleep: who wakes them, and what is kept of their terminals meanwhile."""
