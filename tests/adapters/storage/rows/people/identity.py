"""Checks of the rows of people who log in at a provider, of their sessions and tickets."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.cli_login import CliLogin
from atoll.domain.people.person import LoginTicket, Person, PersonSession, SessionId
from atoll.ports import Store
from atoll.ports.vault import Sealed
from atoll.testing.samples import NOW

ADA = Person(PrincipalId("usr_ada"), "https://id.example", "ada", "Ada", "ada@example.org")
_GRANT = Sealed("k", b"wrapped", b"body")
_OTHER = Sealed("k2", b"w", b"b")


def session(name: str, *, seconds: int = 0) -> PersonSession:
    """Return a session of an hour, begun after some seconds."""
    at = NOW + timedelta(seconds=seconds)
    return PersonSession(
        id=SessionId(name),
        person=ADA.id,
        realm="corp",
        issuer=ADA.issuer,
        mark=f"mark of {name}",
        created_at=at,
        seen_at=at,
        expires_at=at + timedelta(hours=1),
        checked_at=at,
        address="192.0.2.1",
        agent="Bröwser",
    )


def ticket(state: str, text: str, *, seconds: int = 60) -> LoginTicket:
    """Return a ticket that ends after some seconds."""
    ends = NOW + timedelta(seconds=seconds)
    return LoginTicket(state, text, "browser", ADA.id, "corp", ADA.issuer, "join", ends)


async def check_person_is_found_by_id_and_by_subject(store: Store) -> None:
    """By the subject of the same issuer alone; a second `put` replaces."""
    async with store.begin() as rows:
        await rows.people.put(ADA)
        await rows.people.put(replace(ADA, name="Ada L.", claimed=(OrgId("acme"),)))
    async with store.read() as rows:
        found = await rows.people.get(ADA.id)
        assert found is not None and (found.name, found.claimed) == ("Ada L.", ("acme",))
        assert await rows.people.known(ADA.issuer, "ada") == found
        assert await rows.people.known("https://other.example", "ada") is None
        assert await rows.people.get(PrincipalId("usr_eve")) is None


async def check_session_keeps_its_use_and_its_choice(store: Store) -> None:
    """Beside what it was begun with; another one stays as it is."""
    later = NOW + timedelta(minutes=5)
    async with store.begin() as rows:
        await rows.person_sessions.add(session("two", seconds=1), _GRANT)
        await rows.person_sessions.add(session("one"), None)
        await rows.person_sessions.seen(SessionId("one"), later)
        await rows.person_sessions.choose(SessionId("one"), OrgId("acme"))
        await rows.person_sessions.seen(SessionId("three"), later)
    async with store.read() as rows:
        changed = replace(session("one"), seen_at=later, org_id=OrgId("acme"))
        assert await rows.person_sessions.marked("mark of one") == changed
        assert await rows.person_sessions.of(ADA.id) == [changed, session("two", seconds=1)]
        assert await rows.person_sessions.marked("mark of three") is None
        assert await rows.person_sessions.grant(SessionId("one")) is None
        assert await rows.person_sessions.grant(SessionId("two")) == _GRANT


async def check_sessions_with_a_grant_are_due_by_their_last_check(store: Store) -> None:
    """A check without a new grant keeps the old one."""
    async with store.begin() as rows:
        for number, name in enumerate(("a", "b", "c")):
            await rows.person_sessions.add(session(name, seconds=number), _GRANT)
        await rows.person_sessions.add(session("none"), None)
        await rows.person_sessions.checked(SessionId("a"), NOW + timedelta(minutes=1), None)
        await rows.person_sessions.checked(SessionId("b"), NOW, _OTHER)
    async with store.read() as rows:
        due = await rows.person_sessions.due(NOW + timedelta(seconds=2), 10)
        assert [one.id for one in due] == ["b", "c"]
        assert [one.id for one in await rows.person_sessions.due(NOW, 10)] == ["b"]
        assert len(await rows.person_sessions.due(NOW + timedelta(hours=1), 2)) == 2
        later = NOW + timedelta(hours=1)
        assert await rows.person_sessions.due(later, 10, without={"corp"}) == []
        assert await rows.person_sessions.grant(SessionId("a")) == _GRANT
        assert await rows.person_sessions.grant(SessionId("b")) == _OTHER


async def check_session_is_claimed_once(store: Store) -> None:
    """A claim counts for what was read: a second one of the same reading finds it changed."""
    async with store.begin() as rows:
        await rows.person_sessions.add(session("one"), _GRANT)
        (read,) = await rows.person_sessions.due(NOW, 10)
        assert await rows.person_sessions.claim(read, NOW + timedelta(minutes=1))
        assert not await rows.person_sessions.claim(read, NOW + timedelta(minutes=2))
        assert await rows.person_sessions.due(NOW, 10) == []
        (again,) = await rows.person_sessions.due(NOW + timedelta(minutes=1), 10)
        await rows.person_sessions.remove(again.id)
        assert not await rows.person_sessions.claim(again, NOW)


async def check_ended_session_is_gone(store: Store) -> None:
    """Removed by name, or forgotten after its end."""
    async with store.begin() as rows:
        for name in ("a", "b"):
            await rows.person_sessions.add(session(name), None)
        await rows.person_sessions.remove(SessionId("a"))
        await rows.person_sessions.remove(SessionId("a"))
        await rows.person_sessions.forget(NOW + timedelta(minutes=59))
    async with store.begin() as rows:
        assert [one.id for one in await rows.person_sessions.of(ADA.id)] == ["b"]
        await rows.person_sessions.forget(NOW + timedelta(hours=1))
    async with store.read() as rows:
        assert await rows.person_sessions.of(ADA.id) == []


async def check_ticket_is_good_once_and_its_login_stays_known(store: Store) -> None:
    """Until it is forgotten."""
    async with store.begin() as rows:
        assert await rows.login_tickets.add(ticket("s1", "t1"), _GRANT)
        assert not await rows.login_tickets.add(ticket("s1", "t2"), None)
        assert await rows.login_tickets.redeem("t2") is None
        assert await rows.login_tickets.redeem("t1") == (ticket("s1", "t1"), _GRANT)
        assert await rows.login_tickets.redeem("t1") is None
    async with store.begin() as rows:
        assert not await rows.login_tickets.add(ticket("s1", "t3"), None)
        await rows.login_tickets.forget(NOW + timedelta(seconds=60))
        assert await rows.login_tickets.add(ticket("s1", "t3"), None)
        assert await rows.login_tickets.redeem("t3") == (ticket("s1", "t3"), None)


async def check_login_of_a_command_line_is_found_until_it_ends(store: Store) -> None:
    """By its secret's fingerprint and by its code; confirmed, it keeps both."""
    login = CliLogin("m1", "BCDF-GHJK", "192.0.2.1", "laptop", NOW + timedelta(minutes=10))
    done = replace(login, org_id=OrgId("acme"), person=ADA.id)
    async with store.begin() as rows:
        await rows.cli_logins.put(login)
        early = replace(login, mark="m2", code="BCDF-GHJL", expires_at=NOW)
        await rows.cli_logins.put(early)
        await rows.cli_logins.put(done)
        await rows.cli_logins.remove("m3")
    async with store.begin() as rows:
        assert await rows.cli_logins.get("m1") == done
        assert await rows.cli_logins.coded("BCDF-GHJK") == done
        assert await rows.cli_logins.coded("BCDF-GHJM") is None
        assert await rows.cli_logins.all() == [early, done]
        await rows.cli_logins.remove("m2")
        await rows.cli_logins.forget(NOW + timedelta(minutes=9))
        assert await rows.cli_logins.all() == [done]
        await rows.cli_logins.forget(NOW + timedelta(minutes=10))
        assert await rows.cli_logins.get("m1") is None
