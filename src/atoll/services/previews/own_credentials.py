"""Recognition of this installation's own credentials: tokens, sessions, tickets, links, signed
tokens.

What goes into a sandbox is stripped of them. A word that is none stays none, since all are drawn at
random: both answers are remembered.
"""

import re
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from atoll.domain.people.login import fingerprint
from atoll.domain.people.person import TICKET_PREFIX
from atoll.domain.people.token import PREFIX
from atoll.domain.previews.own_credentials import OPAQUE_CHARACTERS, SHORTEST
from atoll.domain.workers.dialled import LEASE_TOKEN
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.people.logins import Logins
from atoll.services.people.signing_keys import SigningKeys
from atoll.wire.jwt import (
    MAX_HEADER_CHARACTERS,
    MAX_TOKEN_CHARACTERS,
    BadToken,
    read_compact,
    read_object,
)

MAX_KNOWN: Final = 8192
_BY_SHAPE = re.compile(
    rf"{PREFIX}[0-9A-Za-z]+|{LEASE_TOKEN}[0-9A-Za-z_-]{{20,}}|{TICKET_PREFIX}[0-9A-Za-z_-]{{43}}"
)
_SIGNED = re.compile(
    rf"(?=(eyJ[A-Za-z0-9_-]{{1,{MAX_HEADER_CHARACTERS - 3}}}\."
    rf"[A-Za-z0-9_-]{{1,{MAX_TOKEN_CHARACTERS}}}\.[A-Za-z0-9_-]{{86}}))"
)
"""A signed token anywhere in a word: a JSON header, a payload, and the signature of ES256. Bounded
as tokens are: each `eyJ` begins one, and a head of a request may be full of them."""


class OwnCredentials:
    """The credentials of an installation. `issuer` is the claim `iss` of its signed tokens."""

    def __init__(self, ground: Ground, logins: Logins, keys: SigningKeys, *, issuer: str) -> None:
        self._ground = ground
        self._logins = logins
        self._keys = keys
        self._issuer = issuer
        self._known: OrderedDict[str, bool] = OrderedDict()

    async def among(self, words: Iterable[str]) -> frozenset[bytes]:
        """Return the credentials among words, and the token of the home in any case. Raises
        `Unavailable` when the store does."""
        credentials = {self._logins.home_token}
        opaque: list[str] = []
        for word in words:
            credentials.update(match.encode() for match in _BY_SHAPE.findall(word))
            for signed in _SIGNED.findall(word):
                if await self._is_signed(signed):
                    credentials.add(signed.encode())
            if len(word) == OPAQUE_CHARACTERS:
                opaque.append(word)
        for word in await self._find_kept(opaque):
            # The page's key is made of the cookie's value, and is worth something beside it.
            credentials |= {word.encode(), self._logins.page_key(word).encode()}
        return frozenset(credential for credential in credentials if len(credential) >= SHORTEST)

    async def _is_signed(self, text: str) -> bool:
        try:
            await self._keys.payload(text)
        except BadToken:
            return self._names_us(text)
        return True

    def _names_us(self, text: str) -> bool:
        """Report whether a token says that it is of this installation, as one of an older key."""
        try:
            return read_object(read_compact(text).payload).get("iss") == self._issuer
        except BadToken:
            return False

    async def _find_kept(self, words: Iterable[str]) -> list[str]:
        """Return the words whose fingerprints are kept somewhere."""
        marks = {fingerprint(word): word for word in words}
        unknown = [mark for mark in marks if mark not in self._known]
        if unknown:
            async with self._ground.store.read() as rows:
                for mark in unknown:
                    self._note(mark, self._logins.knows(mark) or await _is_kept(rows, mark))
        return [word for mark, word in marks.items() if self._known.get(mark)]

    def _note(self, mark: str, own: bool) -> None:
        self._known[mark] = own
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)


async def _is_kept(rows: Transaction, mark: str) -> bool:
    lookups = (
        rows.person_sessions.marked,
        rows.shares.marked,
        rows.shares.guest,
        rows.invitations.marked,
        rows.preview_visits.marked,
        rows.cli_logins.get,
    )
    for look in lookups:
        if await look(mark) is not None:
            return True
    return False
