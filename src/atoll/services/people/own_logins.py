"""The login at a provider of the person who runs the installation.

That person begins without one, in single-person mode. A link, made by them and opened by somebody
who has logged in, says that both are one: the login leads to the same principal from then on, and
nothing of theirs is touched.
"""

import secrets
from dataclasses import dataclass, replace

from atoll.domain.errors import Conflict, Forbidden, NotFound
from atoll.domain.event import Json
from atoll.domain.ids import PERSONAL_ORG, PrincipalId
from atoll.domain.people.login import (
    SECRET_BYTES,
    LoginBook,
    check_link,
    link_login,
    spell_secret,
    with_link,
)
from atoll.domain.people.person import Person
from atoll.domain.people.principal import LOCAL_PERSON, Principal, is_local
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.people.departures import Departure, Departures
from atoll.services.people.identity.sessions import PersonSessions
from atoll.services.people.logins import Logins
from atoll.services.people.memberships import Memberships
from atoll.services.people.org_events import member_event, org_stream

_LINKS = "auth"


@dataclass(frozen=True, slots=True)
class OwnLogin:
    """The installation's person by the name that others see, and a login of theirs, by the name and
    email that its provider says."""

    person: str
    login: Person


class OwnLogins:
    """Use cases on the login of the installation's person."""

    def __init__(
        self,
        ground: Ground,
        memberships: Memberships,
        departures: Departures,
        *,
        logins: Logins,
        sessions: PersonSessions | None,
    ) -> None:
        self._ground = ground
        self._memberships = memberships
        self._departures = departures
        self._logins = logins
        self._sessions = sessions

    async def get(self, caller: Principal) -> OwnLogin | None:
        """Return the caller's login at a provider, None where there is none. Raises `Forbidden` for
        anybody but the person of the installation."""
        _check_local(caller)
        book = await self._logins.book()
        async with self._ground.store.read() as rows:
            person = await rows.people.get(book.login)
        return None if person is None else OwnLogin(book.name, person)

    async def make(self, caller: Principal) -> str:
        """Return the secret of a new link, which is never seen again. Raises `Forbidden`,
        `NotFound` where there is no provider, `Conflict` for who has a login already."""
        _check_local(caller)
        if self._sessions is None:
            raise NotFound(
                "There is no login provider here: set one up first (docs/run/sign-in.md).",
                code="no_provider",
            )
        secret = spell_secret(secrets.token_bytes(SECRET_BYTES))
        now = self._ground.clock.now()
        await self._logins.change_book(lambda book: with_link(book, secret, now))
        return secret

    async def look(self, caller: Principal, secret: str) -> OwnLogin:
        """Return whom a link makes of the caller, without accepting it. Raises like `accept`."""
        book = await self._logins.book()
        check_link(book, secret, self._ground.clock.now())
        async with self._ground.store.read() as rows:
            login = await self._login_of(rows, caller)
            await _check_holds_nothing(rows, login)
        return OwnLogin(book.name or LOCAL_PERSON.id, login)

    async def accept(self, caller: Principal, secret: str) -> Principal:
        """Have the caller, who has logged in at a provider, be the person of the installation; the
        link is used up by that. Raises `NotFound` for a link that is unknown, used or over,
        `Conflict` once that person has a login and for a caller who has something of their own,
        `Forbidden` for who has not logged in at a provider."""
        now, login = self._ground.clock.now(), caller.id
        gone: list[Departure] = []

        async def also(rows: Transaction, before: LoginBook) -> None:
            person = await self._login_of(rows, caller)
            await _check_holds_nothing(rows, person)
            left = await self._leave(rows, person, actor=caller)
            gone.extend(() if left is None else (left,))
            claimed = tuple(org for org in person.claimed if org != PERSONAL_ORG)
            await rows.people.put(replace(person, local=True, claimed=claimed))
            local = await rows.members.get(PERSONAL_ORG, LOCAL_PERSON.id)
            if local is not None:
                name = before.name or person.name
                await rows.members.put(replace(local, name=name, email=person.email))
            payload: dict[str, Json] = {"login": person.id, "name": person.name}
            await self._note(rows, LOCAL_PERSON, "auth.linked", payload)

        await self._logins.change_book(
            lambda book: _with_name(link_login(book, secret, login, now), caller.name), also
        )
        await self._settle(gone)
        return self._logins.person()

    async def end(self, caller: Principal) -> None:
        """End the caller's login at a provider, with its sessions: who logs in there is somebody
        else from now on. Raises `Forbidden`, `NotFound` where there is none."""
        _check_local(caller)

        async def also(rows: Transaction, before: LoginBook) -> None:
            person = await rows.people.get(before.login)
            if person is None:
                raise NotFound("You have no login at a provider: `atoll org link` makes a link.")
            await rows.people.put(replace(person, local=False))
            for session in await rows.person_sessions.of(person.id):
                await rows.person_sessions.remove(session.id)
            await self._note(rows, caller, "auth.unlinked", {"login": person.id})

        await self._logins.change_book(lambda book: replace(book, login=PrincipalId("")), also)
        self._ground.bus.announce((_LINKS,))

    async def _login_of(self, rows: Transaction, caller: Principal) -> Person:
        """Return who the caller is at a provider. Raises `Forbidden` for who is nobody there."""
        if is_local(caller):
            raise Conflict(
                f"You are {caller.name or 'that person'} already: log in at the provider, and open "
                "the link there.",
                code="not_logged_in",
            )
        person = await rows.people.get(caller.id)
        token = caller.token is not None or caller.guest_access is not None
        if person is None or token or not caller.interactive:
            raise Forbidden("only a person who logged in at a provider opens this, in a browser")
        return person

    async def _leave(
        self, rows: Transaction, person: Person, *, actor: Principal
    ) -> Departure | None:
        """Remove the membership that the login had before it was the installation's person."""
        member = await rows.members.get(PERSONAL_ORG, person.id)
        if member is None:
            return None
        departure = await self._departures.forget(rows, member, actor=actor)
        await rows.members.remove(member.org_id, member.id)
        event = member_event(self._ground, actor, "member.removed", member, **departure.counts)
        await rows.events.append((event,))
        return departure

    async def _settle(self, gone: list[Departure]) -> None:
        for departure in gone:
            self._memberships.forget(departure.member.org_id, departure.member.id)
            await self._departures.settle(departure)
        self._ground.bus.announce((org_stream(PERSONAL_ORG), _LINKS))

    async def _note(
        self, rows: Transaction, actor: Principal, kind: str, payload: dict[str, Json]
    ) -> None:
        ground, note = self._ground, Note(_LINKS, kind, payload)
        draft = draft_of(note, actor, at=ground.clock.now(), event_id=ground.ids.event())
        await rows.events.append((draft,))


async def _check_holds_nothing(rows: Transaction, person: Person) -> None:
    """Check that a login has nothing of its own where it becomes another person. Raises
    `Conflict`."""
    org_id, owner = PERSONAL_ORG, person.id
    visible = await rows.secrets.visible(org_id, owner)
    own = [secret for secret in visible if secret.holder == owner]
    held = {
        "sandboxes": len(await rows.sandboxes.held(org_id, owner)),
        "dashboards": len(await rows.dashboards.owned(org_id, owner)),
        "secrets": len(own),
    }
    words = ", ".join(f"{number} {what}" for what, number in held.items() if number)
    if words:
        raise Conflict(
            f"{person.name} has something here already ({words}). Give it to who runs this Atoll "
            "with `atoll give` and `atoll dashboard give`, or remove it, and open the link again.",
            code="holds_something",
        )


def _with_name(book: LoginBook, name: str) -> LoginBook:
    """Return the book with a name for a person who chose none yet."""
    return book if book.name else replace(book, name=name)


def _check_local(caller: Principal) -> None:
    bound = caller.token is not None or caller.guest_access is not None
    if not is_local(caller) or bound:
        raise Forbidden("only the person who runs this Atoll links their login, without a token")
