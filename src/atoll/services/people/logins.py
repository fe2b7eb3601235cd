"""Logins of single-person mode: tokens, login links and browser sessions.

A credential is matched to its person here; what that person may do is decided elsewhere.
"""

import asyncio
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime

from atoll.domain.errors import Forbidden, LimitReached, Unauthenticated
from atoll.domain.people.login import (
    SECRET_BYTES,
    Guesses,
    LoginBook,
    fingerprint,
    guessed,
    page_key,
    redeemed,
    spell_secret,
    wait_seconds,
    with_ticket,
    without_session,
)
from atoll.domain.people.name import shown_name
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.ports.clock import Clock
from atoll.ports.logins import LoginBooks

_MAX_SOURCES = 1024

TOKEN_PERSON = replace(LOCAL_PERSON, interactive=False)
"""The same person through the token file: may do everything but approve."""

Recorder = Callable[[Principal, str], Awaitable[None]]
"""Appends the `auth.login` event: who, and a sentence saying how."""


class Logins:
    """Tickets, sessions and the token. `load` it once before use."""

    def __init__(
        self, books: LoginBooks, clock: Clock, *, token: str, record: Recorder | None = None
    ) -> None:
        self._books = books
        self._clock = clock
        self._token_mark = fingerprint(token)
        self._page_secret = token.encode()
        self._record = record
        self._book = LoginBook()
        self._sessions: dict[str, datetime] = {}
        self._guesses: OrderedDict[str, Guesses] = OrderedDict()
        # Serialises changes of the book, whose file is written while it is held: a ticket
        # that raced itself must find the first use already recorded.
        self._changing = asyncio.Lock()

    async def load(self) -> None:
        """Read the kept book, so that a restart leaves people logged in."""
        self._remember(await self._books.load())

    def by_token(self, token: str, source: str) -> Principal:
        """Return the principal of a bearer token. Raises `Unauthenticated`, or `LimitReached` after
        too many wrong ones from `source` (an address)."""
        if hmac.compare_digest(fingerprint(token), self._token_mark):
            return replace(TOKEN_PERSON, name=self._book.name)
        raise self.wrong(source, "the bearer token is not valid; use the one in $ATOLL_HOME/token")

    def by_session(self, session: str, source: str) -> Principal:
        """Return the principal of a session cookie. Raises like `by_token`."""
        if self.holds(session):
            return self.person()
        raise self.wrong(source, "you are logged out; run `atoll login` for a new link")

    def person(self) -> Principal:
        """Return the person whose logins these are, by the name they chose."""
        return replace(LOCAL_PERSON, name=self._book.name)

    async def rename(self, caller: Principal, name: str) -> Principal:
        """Give the caller a name that others see; return them as they are now. Raises `Invalid` for
        a name that cannot be shown, `Forbidden` for a guest."""
        if caller.guest_access is not None:
            raise Forbidden("a guest's name is chosen when the link is opened")
        shown = shown_name(name)
        async with self._changing:
            await self._replace(replace(self._book, name=shown))
        return replace(caller, name=shown)

    def page_key(self, session: str) -> str:
        """Return the key that the page sends beside this cookie, a person's or a guest's.

        A new token of the server ends it, and thereby every login."""
        return page_key(self._page_secret, session)

    def from_page(self, session: str, keys: Iterable[str]) -> bool:
        """Return whether one of `keys` is the page's for this cookie."""
        own = self.page_key(session).encode()
        return any(hmac.compare_digest(own, key.encode("utf-8", "replace")) for key in keys)

    def holds(self, session: str) -> bool:
        """Return whether this session is still a login. Called at intervals while a connection of
        the session lasts."""
        ends = self._sessions.get(fingerprint(session))
        return ends is not None and ends > self._clock.now()

    async def new_ticket(self) -> str:
        """Return a login ticket: good for one use within 10 minutes, also across a restart."""
        ticket = spell_secret(secrets.token_bytes(SECRET_BYTES))
        async with self._changing:
            await self._replace(with_ticket(self._book, ticket, self._clock.now()))
        return ticket

    async def login(self, ticket: str, source: str) -> str:
        """Trade a ticket for a session secret (30 days). Raises `Unauthenticated` when it is
        unknown, used or too old, `LimitReached` after too many of those from `source`."""
        session = spell_secret(secrets.token_bytes(SECRET_BYTES))
        async with self._changing:
            book = redeemed(self._book, ticket, session, self._clock.now())
            if book is None:
                raise self.wrong(
                    source,
                    "this login link was used already or is older than 10 minutes; "
                    "run `atoll login` for a new one",
                )
            await self._replace(book)
        if self._record is not None:
            await self._record(LOCAL_PERSON, "logged in with a login link")
        return session

    async def logout(self, session: str) -> None:
        """End a session; an unknown one is not an error."""
        async with self._changing:
            await self._replace(without_session(self._book, session))

    async def _replace(self, book: LoginBook) -> None:
        if book != self._book:
            await self._books.save(book)
            self._remember(book)

    def _remember(self, book: LoginBook) -> None:
        self._book = book
        self._sessions = {grant.fingerprint: grant.expires_at for grant in book.sessions}

    def wrong(self, source: str, sentence: str) -> Unauthenticated | LimitReached:
        """Return the error for a wrong secret from `source`, which is counted."""
        now = self._clock.now()
        counted = guessed(self._guesses.get(source), now)
        self._guesses[source] = counted
        self._guesses.move_to_end(source)
        while len(self._guesses) > _MAX_SOURCES:
            self._guesses.popitem(last=False)
        wait = wait_seconds(counted, now)
        if wait:
            return LimitReached(f"too many wrong credentials from {source}; wait {wait} s")
        return Unauthenticated(sentence)
