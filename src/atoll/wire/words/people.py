"""Roles of members, and bounds of names, groups, tokens, sessions, browsers and SSH keys."""

from enum import StrEnum


class OrgRole(StrEnum):
    """A member's role in an organization, from the most to the least."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


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

MAX_GROUPS = 64
"""The number of a member's groups."""

DEFAULT_INVITATION_SECONDS = 7 * 24 * 3600
"""The life of an invitation to an organization."""

MAX_SESSIONS = 50
"""The sessions of one person; past them the oldest ends."""

MAX_SUBSCRIPTIONS = 20
"""The number of browsers of one person."""

MAX_ENDPOINT = 1024
"""The length of an address at a push service."""

API_AUDIENCE = "atoll"
"""The audience of tokens for this API."""

BEARER_SECONDS = 15 * 60
"""The longest life of a signed token."""

MAX_SUBSCRIBED = 32
"""The number of streams, and of read models, of one subscription."""
MAX_REALMS = 64

MAX_SSH_KEYS = 50
"""The number of a person's keys at a time."""

MAX_KEY_LINE = 16 * 1024
"""The characters of a key's line: RSA of 16,384 bits has 2,800."""

MIN_CERTIFICATE_SECONDS = 5 * 60
MAX_CERTIFICATE_SECONDS = 8 * 60 * 60
DEFAULT_CERTIFICATE_SECONDS = 60 * 60
"""The life of a certificate."""
