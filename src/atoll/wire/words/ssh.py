"""Bounds of SSH keys and certificates."""

MAX_SSH_KEYS = 50
"""The number of a person's keys at a time."""

MAX_KEY_LINE = 16 * 1024
"""The characters of a key's line: RSA of 16,384 bits has 2,800."""

MIN_CERTIFICATE_SECONDS = 5 * 60
MAX_CERTIFICATE_SECONDS = 8 * 60 * 60
DEFAULT_CERTIFICATE_SECONDS = 60 * 60
"""The life of a certificate."""
