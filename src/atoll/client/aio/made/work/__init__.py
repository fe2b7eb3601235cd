"""Nouns of the work in sandboxes, awaited."""
