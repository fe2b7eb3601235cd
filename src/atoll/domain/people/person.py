"""People who log in at a provider, their sessions, and logins that are under way. Pure.

Secrets never appear here: a session and a ticket are their fingerprints.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NewType

from atoll.domain.ids import NO_ORG, OrgId, PrincipalId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.unseen import is_unseen
from atoll.wire.words.events import ActorKind

SessionId = NewType("SessionId", str)

LOGIN_LIFE = timedelta(minutes=10)
"""The time from the first click to the end of a login."""

TICKET_LIFE = timedelta(minutes=1)
"""The time for which the page may trade the ticket of a finished login."""

TICKET_PREFIX = "oidc-"

SEEN_EVERY = timedelta(minutes=1)
"""The interval at which the last use of a session is noted."""

MAX_AGENT = 120

_ROUTE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}(/[A-Za-z0-9_-]{1,64}){0,4}")


@dataclass(frozen=True, slots=True)
class Person:
    """A person by the provider's `issuer` and `subject`, which are never given to another one.

    `claimed` are the organizations that the provider's claims made them a member of; `sovereign`,
    that those claims make them an administrator of the installation. With `local` they are the
    person who runs it.
    """

    id: PrincipalId
    issuer: str
    subject: str
    name: str
    email: str
    claimed: tuple[OrgId, ...] = ()
    sovereign: bool = False
    local: bool = False


@dataclass(frozen=True, slots=True)
class PersonSession:
    """A browser in which a person is logged in. `org_id` is the organization that they chose, or
    empty. `checked_at` is when the provider confirmed the login for the last time; `address` and
    `agent` say from where it came."""

    id: SessionId
    person: PrincipalId
    realm: str
    issuer: str
    mark: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    checked_at: datetime
    org_id: OrgId = OrgId("")  # noqa: RUF009 - a text
    address: str = ""
    agent: str = ""

    def ends_at(self, idle: timedelta) -> datetime:
        """Return when it ends, unless it is used before."""
        return min(self.expires_at, self.seen_at + idle)


@dataclass(frozen=True, slots=True)
class PendingLogin:
    """A login under way, kept by the browser itself, sealed. `verifier` is of RFC 7636."""

    realm: str
    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    route: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class LoginTicket:
    """A finished login that its browser may trade for a session, once. `state_mark` keeps a second
    use of the same login out; `browser_mark` is of the cookie it was begun with."""

    state_mark: str
    mark: str
    browser_mark: str
    person: PrincipalId
    realm: str
    issuer: str
    route: str
    expires_at: datetime


def own_route(text: str) -> str:
    """Return a route of our own page (`join`, `sandboxes/sb_…`), empty for anything else."""
    bare = text.removeprefix("#").removeprefix("/")
    return bare if _ROUTE.fullmatch(bare) else ""


def printable_agent(text: str) -> str:
    """Return the name that a browser gives itself, as it may be shown."""
    seen = "".join(char for char in text[:MAX_AGENT] if char.isprintable() and not is_unseen(char))
    return seen.strip()


def newcomer(person: Person) -> Principal:
    """Return a person who is no member of anything: they may accept an invitation."""
    return Principal(
        NO_ORG,
        person.id,
        ActorKind.PERSON,
        interactive=True,
        name=person.name,
        capabilities=frozenset({Capability.ME}),
    )
