"""Logins: the token and login links of single-person mode, and browser sessions of everybody.

A credential is matched to its person here; what that person may do is decided elsewhere.
"""

import asyncio
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime

import structlog

from atoll.domain.errors import AtollError, Forbidden, LimitReached, Unauthenticated
from atoll.domain.people.login import (
    SECRET_BYTES,
    Guesses,
    LoginBook,
    count_guess,
    fingerprint,
    page_key,
    redeem,
    spell_secret,
    wait_seconds,
    with_ticket,
    without_session,
)
from atoll.domain.people.name import printable_name
from atoll.domain.people.principal import LOCAL_PERSON, Principal, is_local
from atoll.domain.people.rate_limit import client_block
from atoll.ports import Store, Transaction
from atoll.ports.clock import Clock
from atoll.services.people.identity.sessions import PersonSessions
from atoll.services.wakeups import Wakeups

FOLLOW_SECONDS = 1.0
"""The longest time between two looks at what other replicas changed."""

CHANNEL = "logins"
"""The live channel on which replicas wake each other after a change."""

_MAX_SOURCES = 1024
_HOME = "home:"
_SESSION = "session:"

TOKEN_PERSON = replace(LOCAL_PERSON, interactive=False)
"""The same person through the token file: may do everything but approve."""

Recorder = Callable[[Principal, str], Awaitable[None]]
"""Appends the `auth.login` event: who, and a sentence saying how."""

Decide = Callable[[LoginBook], LoginBook]
"""Returns the book after a change."""

Also = Callable[[Transaction, LoginBook], Awaitable[None]]
"""Does what else belongs in the transaction of a change, given the book as it was."""

_log = structlog.get_logger(__name__)


class Logins:
    """Tickets, sessions and the token. `load` it once before use.

    The book is in the store, for all replicas. This process remembers the newest version it saw.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        token: str,
        record: Recorder | None = None,
        people: PersonSessions | None = None,
        wakeups: Wakeups | None = None,
    ) -> None:
        self._wakeups = wakeups or Wakeups(None, clock)
        self._store = store
        self._clock = clock
        self._token_mark = fingerprint(token)
        self._page_secret = token.encode()
        self._record = record
        self._people = people
        self._version = 0
        self._book = LoginBook()
        self._sessions: dict[str, datetime] = {}
        self._guesses: OrderedDict[str, Guesses] = OrderedDict()

    async def load(self, earlier: Callable[[], LoginBook] = LoginBook) -> None:
        """Read the stored book, so that a restart leaves people logged in. Where there is none yet,
        it is what `earlier` returns."""
        await self.look()
        if not self._version:
            book = await asyncio.to_thread(earlier)
            # A replica that started at the same time may have been faster.
            await self._change(lambda stored: stored if stored != LoginBook() else book)

    async def look(self) -> None:
        """Read what another replica changed."""
        async with self._store.read() as rows:
            update = await rows.logins.newer(self._version)
        if update is not None:
            self._remember(*update)

    async def follow(self) -> None:
        """Take over what other replicas change, until cancelled. While the store does not answer,
        what was known last is valid."""
        with self._wakeups.waiting(LOCAL_PERSON.org_id, CHANNEL) as news:
            while True:
                await news.wait(FOLLOW_SECONDS)
                try:
                    await self.look()
                except AtollError as error:
                    _log.warning("logins_not_followed", reason=error.message)

    def by_home(self, token: str) -> Principal | None:
        """Return the principal of the token in the home; None when this is another token."""
        if hmac.compare_digest(fingerprint(token), self._token_mark):
            return replace(TOKEN_PERSON, name=self._book.name)
        return None

    async def by_session(self, session: str, source: str) -> Principal:
        """Return the principal of a session cookie. Raises `Unauthenticated`, or `LimitReached`
        after too many wrong ones from `source` (an address)."""
        mark = fingerprint(session)
        if not self._in_book(mark):
            principal = None if self._people is None else await self._people.by_session(session)
            if principal is not None:
                return self.person() if is_local(principal) else principal
            await self.look()  # another replica may have begun it a moment ago
        if self._in_book(mark):
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
        shown = printable_name(name)
        await self._change(lambda book: replace(book, name=shown))
        return replace(caller, name=shown)

    @property
    def home_token(self) -> bytes:
        """Return the token of the home, to take it out of what goes into a sandbox."""
        return self._page_secret

    def knows(self, mark: str) -> bool:
        """Report whether a fingerprint is that of a session or a login ticket, also of one that is
        over."""
        return mark in self._sessions or any(
            mark == ticket.fingerprint for ticket in self._book.tickets
        )

    def page_key(self, session: str) -> str:
        """Return the key that the page sends beside this cookie, a person's or a guest's.

        A new token of the server ends it, and thereby every login."""
        return page_key(self._page_secret, session)

    def from_page(self, session: str, keys: Iterable[str]) -> bool:
        """Return whether one of `keys` is the page's for this cookie."""
        own = self.page_key(session).encode()
        return any(hmac.compare_digest(own, key.encode("utf-8", "replace")) for key in keys)

    async def holds(self, session: str) -> bool:
        """Return whether this session is still a login. Called at intervals while a connection of
        the session lasts."""
        return await self._is_login_valid(fingerprint(session))

    def origin(self, session: str | None) -> str:
        """Return the name of a login, for tokens that end with it: of a browser's session, or of
        the token in the home. Nobody logs in by it."""
        if session is None:
            return f"{_HOME}{self._token_mark}"
        return f"{_SESSION}{fingerprint(session)}"

    async def stands(self, origin: str) -> bool:
        """Return whether the login of this name is still one."""
        if origin.startswith(_SESSION):
            return await self._is_login_valid(origin.removeprefix(_SESSION))
        return hmac.compare_digest(origin.encode(), self.origin(None).encode())

    async def _is_login_valid(self, mark: str) -> bool:
        """Report whether the login with this mark is in the book or a person's session."""
        if self._in_book(mark):
            return True
        return self._people is not None and await self._people.holds(mark)

    def _in_book(self, mark: str) -> bool:
        ends = self._sessions.get(mark)
        return ends is not None and ends > self._clock.now()

    async def new_ticket(self) -> str:
        """Return a login ticket: good for one use within 10 minutes, also across a restart."""
        ticket = spell_secret(secrets.token_bytes(SECRET_BYTES))
        await self._change(lambda book: with_ticket(book, ticket, self._clock.now()))
        return ticket

    async def login(self, ticket: str, source: str) -> str:
        """Trade a ticket for a session secret (30 days). Raises `Unauthenticated` when it is
        unknown, used or too old, `LimitReached` after too many of those from `source`."""
        session = spell_secret(secrets.token_bytes(SECRET_BYTES))

        def trade(book: LoginBook) -> LoginBook:
            after = redeem(book, ticket, session, self._clock.now())
            if after is None:
                raise self.wrong(
                    source,
                    "this login link was used already or is older than 10 minutes; "
                    "run `atoll login` for a new one",
                )
            return after

        await self._change(trade)
        if self._record is not None:
            await self._record(LOCAL_PERSON, "logged in with a login link")
        return session

    async def logout(self, session: str) -> None:
        """End a session; an unknown one is not an error."""
        await self._change(lambda book: without_session(book, session))

    async def logout_everywhere(self, caller: Principal) -> None:
        """End all sessions of the caller. Raises `Forbidden` for a guest."""
        if caller.guest_access is not None:
            raise Forbidden("a guest has no sessions: leave by logging out")
        local = caller.id == LOCAL_PERSON.id
        if local:
            await self._change(lambda book: replace(book, sessions=()))
        if self._people is not None:
            await self._people.end_all(self._book.login if local else caller.id)

    async def book(self) -> LoginBook:
        """Return the book as it is now."""
        await self.look()
        return self._book

    async def change_book(self, decide: Decide, also: Also | None = None) -> None:
        """Change the book, and do in the same transaction what follows from that. Raises what they
        do."""
        await self._change(decide, also)

    async def _change(self, decide: Decide, also: Also | None = None) -> None:
        """Change the stored book in one transaction: of two who use a ticket, one finds it used."""
        async with self._store.begin() as rows:
            version, book = await self._read_newest_book(rows)
            after = decide(book)
            if also is not None:
                await also(rows, book)
            if after != book:
                version = await rows.logins.put(after)
        self._remember(version, after)
        if after != book:
            self._wakeups.send(LOCAL_PERSON.org_id, CHANNEL)

    async def _read_newest_book(self, rows: Transaction) -> tuple[int, LoginBook]:
        """Return the newest login book, with its version."""
        return await rows.logins.newer(self._version) or (self._version, self._book)

    def _remember(self, version: int, book: LoginBook) -> None:
        # A slow reader may come with a version that has been replaced meanwhile.
        if version > self._version:
            self._version, self._book = version, book
            self._sessions = {grant.fingerprint: grant.expires_at for grant in book.sessions}

    def wrong(self, source: str, sentence: str) -> Unauthenticated | LimitReached:
        """Return the error for a wrong secret from `source`, which is counted."""
        now, client = self._clock.now(), client_block(source)
        counted = count_guess(self._guesses.get(client), now)
        self._guesses[client] = counted
        self._guesses.move_to_end(client)
        while len(self._guesses) > _MAX_SOURCES:
            self._guesses.popitem(last=False)
        wait = wait_seconds(counted, now)
        if wait:
            return LimitReached(f"too many wrong credentials from {source}; wait {wait} s")
        return Unauthenticated(sentence)
