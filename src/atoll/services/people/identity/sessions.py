"""Sessions of people who logged in at a provider.

A call is judged by the row of its session alone, so a provider that is stopped disturbs nobody who
is logged in. What a person may do follows from their membership now.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atoll.domain.errors import NotFound
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.people.organization import Member, member_principal
from atoll.domain.people.person import (
    SEEN_EVERY,
    LoginTicket,
    Person,
    PersonSession,
    SessionId,
    newcomer,
    printable_agent,
)
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.people.realm import Realm
from atoll.ports import Transaction
from atoll.ports.vault import Sealed
from atoll.services.ground import Ground
from atoll.services.people.identity.settings import SessionLives
from atoll.wire.words.people import MAX_SESSIONS


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whence a browser comes: its address, and the name that it gives itself."""

    address: str
    agent: str = ""


class PersonSessions:
    """Use cases on sessions. A session of a realm that the settings name no more is none."""

    def __init__(self, ground: Ground, realms: Mapping[str, Realm], lives: SessionLives) -> None:
        self._ground = ground
        self.realms = realms
        self.lives = lives

    async def by_session(self, secret: str) -> Principal | None:
        """Return the person of a cookie, None when it is no session. Its use is noted, at most once
        a minute."""
        now = self._ground.clock.now()
        async with self._ground.store.read() as rows:
            session = await self._find_valid_session(rows, fingerprint(secret))
            principal = None if session is None else await _principal(rows, session)
        if session is not None and now - session.seen_at >= SEEN_EVERY:
            async with self._ground.store.begin() as rows:
                await rows.person_sessions.seen(session.id, now)
        return principal

    async def holds(self, mark: str) -> bool:
        """Return whether the session whose cookie has this fingerprint still stands."""
        async with self._ground.store.read() as rows:
            return await self._find_valid_session(rows, mark) is not None

    async def open(
        self, rows: Transaction, ticket: LoginTicket, visitor: Visitor, grant: Sealed | None
    ) -> str:
        """Return the secret of a new session, in the caller's transaction. Past 50 of a person the
        oldest end."""
        now, secret = self._ground.clock.now(), spell_secret(secrets.token_bytes(SECRET_BYTES))
        await rows.person_sessions.forget(now)
        older = await rows.person_sessions.of(ticket.person)
        for oldest in older[: max(0, len(older) - MAX_SESSIONS + 1)]:
            await rows.person_sessions.remove(oldest.id)
        session = PersonSession(
            id=SessionId(self._ground.ids.new("ses")),
            person=ticket.person,
            realm=ticket.realm,
            issuer=ticket.issuer,
            mark=fingerprint(secret),
            created_at=now,
            seen_at=now,
            expires_at=now + self.lives.whole,
            checked_at=now,
            address=visitor.address,
            agent=printable_agent(visitor.agent),
        )
        await rows.person_sessions.add(session, grant)
        return secret

    async def end(self, secret: str) -> tuple[PersonSession, Sealed | None] | None:
        """End the session of a cookie; return it with its grant, None when there is none."""
        async with self._ground.store.begin() as rows:
            session = await rows.person_sessions.marked(fingerprint(secret))
            if session is None:
                return None
            grant = await rows.person_sessions.grant(session.id)
            await rows.person_sessions.remove(session.id)
        return session, grant

    async def list(self, caller: Principal) -> list[PersonSession]:
        """Return the caller's standing sessions, oldest first."""
        now = self._ground.clock.now()
        async with self._ground.store.read() as rows:
            sessions = await rows.person_sessions.of(await _login_of(rows, caller))
        return [session for session in sessions if session.ends_at(self.lives.idle) > now]

    async def end_one(self, caller: Principal, session_id: str) -> None:
        """End a session of the caller. Raises `NotFound`."""
        own = {session.id for session in await self.list(caller)}
        if session_id not in own:
            raise NotFound(f"You have no session {session_id[:80]!r}: list them to see.")
        async with self._ground.store.begin() as rows:
            await rows.person_sessions.remove(SessionId(session_id))

    async def end_all(self, person_id: PrincipalId) -> int:
        """End all sessions of a person; return how many."""
        async with self._ground.store.begin() as rows:
            sessions = await rows.person_sessions.of(person_id)
            for session in sessions:
                await rows.person_sessions.remove(session.id)
        return len(sessions)

    async def choose(self, secret: str, ref: str) -> None:
        """Have a session work in another organization of its person, by id or slug. Raises
        `NotFound`."""
        async with self._ground.store.begin() as rows:
            session = await rows.person_sessions.marked(fingerprint(secret))
            org = await rows.organizations.get(ref)
            member = None
            if session is not None and org is not None:
                person = await rows.people.get(session.person)
                members = [] if person is None else await _memberships(rows, person)
                member = next((one for one in members if one.org_id == org.id), None)
            if session is None or member is None:
                raise NotFound(f"You are no member of {ref[:80]!r}: list yours to see.")
            await rows.person_sessions.choose(session.id, member.org_id)

    async def _find_valid_session(self, rows: Transaction, mark: str) -> PersonSession | None:
        """Return the session of a mark; None when it is over or its realm changed."""
        session = await rows.person_sessions.marked(mark)
        if session is None or session.ends_at(self.lives.idle) <= self._ground.clock.now():
            return None
        realm = self.realms.get(session.realm)
        return session if realm is not None and realm.issuer == session.issuer else None


async def _principal(rows: Transaction, session: PersonSession) -> Principal | None:
    """Return the person of a session in the organization that they chose, else in the one they
    joined first."""
    person = await rows.people.get(session.person)
    return None if person is None else await as_member(rows, person, session.org_id)


async def as_member(rows: Transaction, person: Person, org_id: OrgId) -> Principal:
    """Return a person as a member of this organization, else of the one they joined first, else as
    a newcomer. Who runs the installation is its person."""
    memberships = await _memberships(rows, person)
    chosen = [membership for membership in memberships if membership.org_id == org_id]
    if person.local and (not chosen or org_id == LOCAL_PERSON.org_id):
        return replace(LOCAL_PERSON, name=person.name)
    best = chosen or sorted(memberships, key=lambda membership: membership.since)
    if not best:
        return newcomer(person)
    sovereign = person.sovereign or person.local
    return member_principal(best[0], interactive=True, sovereign=sovereign)


async def _memberships(rows: Transaction, person: Person) -> Sequence[Member]:
    """Return the memberships of a person; who runs the installation has those of its person,
    too."""
    own = await rows.members.memberships(person.id)
    if not person.local:
        return own
    local = await rows.members.memberships(LOCAL_PERSON.id)
    taken = {member.org_id for member in local}
    return [*local, *(member for member in own if member.org_id not in taken)]


async def _login_of(rows: Transaction, caller: Principal) -> PrincipalId:
    """Return the person at the provider who the caller is."""
    book = await rows.logins.newer(0) if caller.id == LOCAL_PERSON.id else None
    return caller.id if book is None or not book[1].login else book[1].login
