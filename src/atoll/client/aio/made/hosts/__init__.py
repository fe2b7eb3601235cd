"""Nouns of hosts and routes, awaited."""
