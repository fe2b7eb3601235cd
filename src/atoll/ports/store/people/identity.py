"""People who log in at a provider, their sessions, and logins that their page has yet to finish."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.cli_login import CliLogin
from atoll.domain.people.person import LoginTicket, Person, PersonSession, SessionId
from atoll.ports.store.records import Records
from atoll.ports.vault import Sealed


class PersonRows(Protocol):
    """People, by id and by who they are at their provider."""

    async def put(self, person: Person) -> None:
        """Add a person, or replace the row of this one."""
        ...

    async def get(self, person_id: PrincipalId) -> Person | None:
        """Return a person."""
        ...

    async def known(self, issuer: str, subject: str) -> Person | None:
        """Return the person whom this issuer calls `subject`."""
        ...


class PersonSessionRows(Protocol):
    """Sessions of people. Only fingerprints of their cookies are stored."""

    async def add(self, session: PersonSession, grant: Sealed | None) -> None:
        """Add a session, with what the provider gave for later, sealed."""
        ...

    async def marked(self, mark: str) -> PersonSession | None:
        """Return the session whose cookie has this fingerprint."""
        ...

    async def of(self, person_id: PrincipalId) -> list[PersonSession]:
        """Return a person's sessions, oldest first."""
        ...

    async def seen(self, session_id: SessionId, at: datetime) -> None:
        """Note the last use of a session; a missing one is not an error."""
        ...

    async def choose(self, session_id: SessionId, org_id: OrgId) -> None:
        """Note the organization that a session works in."""
        ...

    async def grant(self, session_id: SessionId) -> Sealed | None:
        """Return what the provider gave for later."""
        ...

    async def due(
        self, before: datetime, limit: int, *, without: Collection[str] = ()
    ) -> list[PersonSession]:
        """Return sessions with a grant that were confirmed at `before` or earlier, oldest first;
        none of the realms `without`."""
        ...

    async def claim(self, session: PersonSession, at: datetime) -> bool:
        """Note a time for a session that nobody has noted another for since it was read. Returns
        False when somebody has, or when it is gone."""
        ...

    async def checked(self, session_id: SessionId, at: datetime, grant: Sealed | None) -> None:
        """Note that the provider confirmed a session. Its new grant, None keeps the old one."""
        ...

    async def remove(self, session_id: SessionId) -> None:
        """Remove a session; a missing one is not an error."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove sessions that ended at `before` or earlier."""
        ...


class LoginTicketRows(Protocol):
    """Finished logins. Only fingerprints are stored."""

    async def add(self, ticket: LoginTicket, grant: Sealed | None) -> bool:
        """Add a ticket. Returns False when its login was finished before."""
        ...

    async def redeem(self, mark: str) -> tuple[LoginTicket, Sealed | None] | None:
        """Return the ticket whose text has this fingerprint; from now on it is used."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove tickets that ended at `before` or earlier."""
        ...


class CliLoginRows(Records[CliLogin, str], Protocol):
    """Logins of command lines that wait to be confirmed or fetched, by the fingerprint of their
    secret."""

    async def coded(self, code: str) -> CliLogin | None:
        """Return the login with this code."""
        ...

    async def all(self) -> list[CliLogin]:
        """Return every login, the first to end first. Their number is bounded by who adds them."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove logins that ended at `before` or earlier."""
        ...
