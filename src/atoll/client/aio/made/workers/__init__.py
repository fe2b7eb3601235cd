"""Nouns of workers, awaited."""
