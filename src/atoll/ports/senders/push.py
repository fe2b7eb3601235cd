"""The PushSender port: messages to browsers, by the push services of their vendors."""

from typing import Protocol

from atoll.domain.people.push import PushTarget


class PushSender(Protocol):
    """Sender of Web Push messages (RFC 8030), under one key of its own (RFC 8292)."""

    async def public_key(self) -> str:
        """Return the key that browsers subscribe with, in base64url without padding. It stays the
        same over restarts. Raises `Failed` when it cannot be read or made."""
        ...

    async def check(self, endpoint: str) -> None:
        """Return if the endpoint may be dialled. Raises `Forbidden` when its host resolves to an
        address that is not public, `Unavailable` when it does not resolve."""
        ...

    async def send(self, target: PushTarget, message: bytes) -> None:
        """Deliver a message of at most 1024 bytes, encrypted for the browser alone (RFC 8291).

        Raises `NotFound` when the browser is no longer subscribed, `Unavailable` when the same
        message may be accepted later, `Forbidden` as `check` does, `Failed` when the push service
        refuses for good.
        """
        ...
