"""Logins as pure rules: single-use tickets, sessions that end, counted wrong guesses.

Secrets never appear here in the clear beyond the call that makes them: a book holds their
fingerprints. `services.people.logins` reads the clock, draws the randomness and keeps the book.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atoll.domain.errors import Conflict, NotFound
from atoll.domain.ids import PrincipalId

SECRET_BYTES = 32
"""The length of a secret, 256 bits: too many to guess, so a plain hash needs no salt and no
stretching."""

TICKET_LIFE = timedelta(minutes=10)
SESSION_LIFE = timedelta(days=30)
LINK_LIFE = timedelta(minutes=10)
MAX_TICKETS = 32
MAX_LINKS = 8
MAX_SESSIONS = 256

GUESS_WINDOW = timedelta(minutes=1)
MAX_GUESSES = 100


def spell_secret(entropy: bytes) -> str:
    """Return a secret as 43 URL-safe characters; `entropy` is 32 random bytes."""
    if len(entropy) < SECRET_BYTES:
        raise ValueError(f"a secret needs {SECRET_BYTES} random bytes, got {len(entropy)}")
    return base64.urlsafe_b64encode(entropy).decode().rstrip("=")


def fingerprint(secret: str) -> str:
    """Return the stored form of a secret: its SHA-256 in hex."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def page_key(secret: bytes, session: str) -> str:
    """Return the key that the page sends beside the cookie of `session`.

    Nobody can compute it without `secret`, a value of the server's own. A browser sends a cookie to
    every port of a host, and other servers there must not be able to use it.
    """
    return spell_secret(
        hmac.digest(secret, b"page\0" + session.encode("utf-8", "replace"), "sha256")
    )


@dataclass(frozen=True, slots=True)
class Grant:
    """A ticket or session: the fingerprint of its secret and its end."""

    fingerprint: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class LoginBook:
    """Every live ticket and session, oldest first, and the name of the person they are for, empty
    until they choose one. `login` is who this person is at a login provider, empty until one of
    `links` was accepted."""

    tickets: tuple[Grant, ...] = ()
    sessions: tuple[Grant, ...] = ()
    name: str = ""
    links: tuple[Grant, ...] = ()
    login: PrincipalId = PrincipalId("")  # noqa: RUF009 - a text


def _drop_expired(grants: tuple[Grant, ...], now: datetime) -> tuple[Grant, ...]:
    return tuple(grant for grant in grants if grant.expires_at > now)


def with_ticket(book: LoginBook, secret: str, now: datetime) -> LoginBook:
    """Return the book with one more ticket, good for 10 minutes; past 32 the oldest are dropped."""
    ticket = Grant(fingerprint(secret), now + TICKET_LIFE)
    return replace(book, tickets=(*_drop_expired(book.tickets, now), ticket)[-MAX_TICKETS:])


def redeem(book: LoginBook, ticket: str, session: str, now: datetime) -> LoginBook | None:
    """Return the book after `ticket` was traded for `session`, or None when the ticket is unknown,
    used or too old. Past 256 sessions the oldest are logged out."""
    mark = fingerprint(ticket)
    live = _drop_expired(book.tickets, now)
    left = tuple(grant for grant in live if grant.fingerprint != mark)
    if len(left) == len(live):
        return None
    opened = Grant(fingerprint(session), now + SESSION_LIFE)
    sessions = (*_drop_expired(book.sessions, now), opened)[-MAX_SESSIONS:]
    return replace(book, tickets=left, sessions=sessions)


def without_session(book: LoginBook, session: str) -> LoginBook:
    """Return the book after a log-out; the same book when there was no such session."""
    mark = fingerprint(session)
    return replace(book, sessions=tuple(s for s in book.sessions if s.fingerprint != mark))


def with_link(book: LoginBook, secret: str, now: datetime) -> LoginBook:
    """Return the book with one more link for the person's login at a provider, good for 10 minutes;
    past 8 the oldest are dropped. Raises `Conflict` once there is such a login."""
    _check_unlinked(book)
    link = Grant(fingerprint(secret), now + LINK_LIFE)
    return replace(book, links=(*_drop_expired(book.links, now), link)[-MAX_LINKS:])


def check_link(book: LoginBook, secret: str, now: datetime) -> None:
    """Check that a link can be accepted. Raises `Conflict` once the person has a login, `NotFound`
    for a link that is unknown, used or too old."""
    _check_unlinked(book)
    mark = fingerprint(secret)
    if not any(link.fingerprint == mark for link in _drop_expired(book.links, now)):
        raise NotFound(
            "This link was used, is older than 10 minutes, or is of another Atoll: "
            "`atoll org link` makes a new one."
        )


def link_login(book: LoginBook, secret: str, login: PrincipalId, now: datetime) -> LoginBook:
    """Return the book with the person's login at a provider; every link ends. Raises like
    `check_link`."""
    check_link(book, secret, now)
    return replace(book, links=(), login=login)


def _check_unlinked(book: LoginBook) -> None:
    if book.login:
        raise Conflict(
            f"{book.name or 'The person'} who runs this Atoll has a login at a provider already. "
            "`atoll org unlink` ends that, on its machine.",
            code="linked_already",
        )


@dataclass(frozen=True, slots=True)
class Guesses:
    """Wrong secrets from one source since `since`."""

    since: datetime
    count: int = 0


def count_guess(guesses: Guesses | None, now: datetime) -> Guesses:
    """Return the count after one more wrong secret; a new count begins when the last window is
    over."""
    if guesses is None or now - guesses.since >= GUESS_WINDOW:
        return Guesses(now, 1)
    return replace(guesses, count=guesses.count + 1)


def wait_seconds(guesses: Guesses | None, now: datetime) -> int:
    """Return how many seconds this source has to wait: 0 while it may go on.

    Only wrong secrets are refused for it; a right one always passes, so nobody can lock the person
    out.
    """
    if guesses is None or guesses.count < MAX_GUESSES:
        return 0
    left = (guesses.since + GUESS_WINDOW - now).total_seconds()
    return max(0, -int(-left // 1))
