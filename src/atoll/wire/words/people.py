"""Bounds of people's names, and of their tokens."""

MAX_NAME = 64
"""The length of a name."""

MAX_TOKENS = 100
"""The number of a person's tokens at a time."""

MAX_CAPABILITIES = 100
"""The number of permissions that a token is made with."""
