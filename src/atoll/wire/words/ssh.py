"""Bounds of SSH keys."""

MAX_SSH_KEYS = 50
"""The number of a person's keys at a time."""

MAX_KEY_LINE = 16 * 1024
"""The characters of a key's line: RSA of 16,384 bits has 2,800."""
