"""Bounds of push subscriptions."""

MAX_SUBSCRIPTIONS = 20
"""The number of browsers of one person."""

MAX_ENDPOINT = 1024
"""The length of an address at a push service."""
