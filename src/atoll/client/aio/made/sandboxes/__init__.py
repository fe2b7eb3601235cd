"""Nouns of sandboxes, awaited."""
