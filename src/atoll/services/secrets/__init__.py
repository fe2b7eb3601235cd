"""Secrets of people: stored sealed, bound to hosts, never returned."""
