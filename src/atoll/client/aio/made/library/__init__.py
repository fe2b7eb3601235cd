"""Nouns of repositories and the work in them, awaited."""
