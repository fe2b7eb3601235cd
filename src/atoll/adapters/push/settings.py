"""Settings of push notifications."""

from dataclasses import dataclass

from atoll.domain.errors import Invalid

_CONTACT = "mailto:atoll@example.com"


@dataclass(frozen=True, slots=True)
class PushSettings:
    """Settings of push notifications. Raises `Invalid` for a contact that push services refuse.

    `push_contact`: where the operators of push services can reach this server's owner, as a
    `mailto:` or `https:` address (RFC 8292 §2.1).
    `allow_loopback_push`: push services on this machine may be used (development).
    """

    push_contact: str = _CONTACT
    allow_loopback_push: bool = False

    def __post_init__(self) -> None:
        told = self.push_contact
        if not told.startswith(("mailto:", "https://")) or not told.isprintable() or " " in told:
            raise Invalid(
                "push_contact is a mailto: or https:// address, such as mailto:me@example.com",
                field="push_contact",
            )
