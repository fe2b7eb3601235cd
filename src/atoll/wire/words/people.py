"""Bounds of people's names, and of their tokens."""

MAX_NAME = 64
"""The length of a name."""

MAX_TOKENS = 100
"""The number of a person's tokens at a time."""

MAX_CAPABILITIES = 100
"""The number of permissions that a token is made with."""

MAX_SHARES = 32
"""The number of links of one sandbox or dashboard at a time."""

DEFAULT_SHARE_SECONDS = 3600
"""The life of a link."""
