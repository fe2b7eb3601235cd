"""Identifiers: new ids from injected randomness, and checks of ids that clients send."""

import re
import secrets
from collections.abc import Callable

from atoll.domain.contents.keys import SECRET_BYTES
from atoll.domain.errors import NotFound
from atoll.domain.ids import ID_ENTROPY_BYTES, EventId, spell
from atoll.domain.webhooks.signature import SIGNING_KEY_BYTES
from atoll.wire.contract.call import PathId

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def checked_id(text: str, *, noun: str) -> PathId:
    """Return `text` if it can be an id. Raises `NotFound`."""
    if not _ID.match(text):
        raise NotFound(f"There is no such {noun} here; list them to see which there are.")
    return PathId(text)


class Identifiers:
    """A generator of new ids; tests inject their own entropy."""

    def __init__(self, entropy: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._entropy = entropy

    def new(self, prefix: str) -> str:
        """Return a new id with this prefix, for the type that the caller gives it."""
        return spell(prefix, self._entropy(ID_ENTROPY_BYTES))

    def event(self) -> EventId:
        """Return a new event id."""
        return EventId(self.new("ev"))

    def signing_key(self) -> bytes:
        """Return the 32 random bytes of a webhook's new secret."""
        return self._entropy(SIGNING_KEY_BYTES)

    def content_secret(self) -> bytes:
        """Return the 32 random bytes of an organization's new secret for its contents."""
        return self._entropy(SECRET_BYTES)
