"""The installation's own keys for SSH: one for each purpose, of which clients remember the public
halves."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SshIdentityName(StrEnum):
    """The purpose of a key."""

    HOST = "host"
    """Proof of the gateway that it is the gateway."""
    HOST_AUTHORITY = "host-authority"
    """Signer of the host's certificate."""
    USER_AUTHORITY = "user-authority"
    """Signer of the certificates of users."""


@dataclass(frozen=True, slots=True)
class SshIdentity:
    """The public half of a key, a line of OpenSSH."""

    name: SshIdentityName
    public: str
    created_at: datetime


def bound_to(name: SshIdentityName) -> tuple[str, str]:
    """Return the words that the private half is sealed with."""
    return ("ssh-identity", name)
