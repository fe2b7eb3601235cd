"""Nouns of agents, awaited."""
