import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from atoll.adapters.signers import Es256Signer
from atoll.domain.errors import LimitReached
from atoll.domain.event import Event, Gap, Json, sandbox_stream
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports import EventQuery, Transaction
from atoll.services.journals.events import MAX_LIMIT, Note
from atoll.services.people.signing_keys import SigningKeys
from atoll.services.tools.mcp_sessions import McpSessions
from atoll.services.tools.resources import Resources
from atoll.services.tools.watches import PAGE, Change, Watches
from tests.services.scene import Scene, scene
from tests.services.tools.test_consent import inside

CALLED: dict[str, Json] = {"tool": "t", "permission": "p", "digest": "d", "outcome": "ok", "ms": 1}


async def _noise(s: Scene, count: int) -> None:
    """Append events that no token of a sandbox reads."""
    for _ in range(count):
        await s.events.record(LOCAL_PERSON, Note("tools", "tool.called", CALLED))


def _reads(s: Scene) -> list[EventQuery]:
    """Return the queries of the log from now on."""
    queries, read = list[EventQuery](), s.events.read

    async def counted(
        rows: Transaction, query: EventQuery, gap_after: int
    ) -> tuple[list[Event], Gap | None]:
        queries.append(query)
        return await read(rows, query, gap_after)

    s.events.read = counted  # type: ignore[method-assign]
    return queries


async def test_token_of_a_sandbox_learns_of_changes_behind_many_foreign_events() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        watches = Watches(s.ground, s.events, scheme="atoll")
        after = await s.events.last_position()
        await _noise(s, PAGE + 1)
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        changes = watches.follow_uris(inside(sandbox), ["atoll://sandbox/*"], after=after)
        async with asyncio.timeout(5), aclosing(changes):  # type: ignore[type-var]
            assert (await anext(changes)).uris == (f"atoll://sandbox/{sandbox.id}",)


async def test_token_of_a_sandbox_reads_it_behind_many_foreign_events() -> None:
    async with scene() as s:
        sandbox, other = await s.ready(), await s.ready()
        await _noise(s, MAX_LIMIT)
        resources = Resources(s.events, scheme="atoll")
        found = await resources.read(inside(sandbox), "atoll://sandbox/*")
        assert [one.uri for one in found] == [f"atoll://sandbox/{sandbox.id}"]
        listed = await s.events.list(inside(other), limit=3)
        assert {one.stream for one in listed} == {sandbox_stream(other.id)}


async def test_gap_in_the_log_is_told_once() -> None:
    async with scene() as s:
        await s.ready()
        gaps: list[int] = []

        async def read(
            rows: Transaction, query: EventQuery, gap_after: int
        ) -> tuple[list[Event], Gap | None]:
            gaps.append(gap_after)
            return [], Gap(0, 900) if gap_after < 900 else None

        s.events.read = read  # type: ignore[method-assign]
        watches = Watches(s.ground, s.events, scheme="atoll")
        after = await s.events.last_position()
        changes = watches.follow_uris(LOCAL_PERSON, ["atoll://hr/*"], after=after)
        async with aclosing(changes):  # type: ignore[type-var]
            assert (await anext(changes)).uris == ("atoll://hr/*",)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    s.ground.bus.announce(("tools",))
                    await anext(changes)
        assert gaps == [after, 900]


async def test_reader_ahead_of_the_log_is_told_of_all_it_watches_and_then_of_what_changes() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        watches = Watches(s.ground, s.events, scheme="atoll")
        uris = ["atoll://sandbox/*", "atoll://hr/*"]
        changes = watches.follow_uris(LOCAL_PERSON, uris, after=5000)
        async with asyncio.timeout(5), aclosing(changes):  # type: ignore[type-var]
            assert (await anext(changes)).uris == ("atoll://sandbox/*", "atoll://hr/*")
            await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
            assert (await anext(changes)).uris == (f"atoll://sandbox/{sandbox.id}",)


async def test_very_many_uris_are_refused() -> None:
    async with scene() as s:
        watches = Watches(s.ground, s.events, scheme="atoll")
        watches.check(LOCAL_PERSON, ["atoll://hr/a/b"] * 100)
        with pytest.raises(LimitReached):
            watches.check(LOCAL_PERSON, ["atoll://hr/a/b"] * 101)


async def _first(changes: AsyncIterator[Change]) -> Change:
    return await anext(changes)


async def test_watchers_at_the_same_place_share_the_read_of_the_log() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        reads = _reads(s)
        watches = Watches(s.ground, s.events, scheme="atoll")
        after = await s.events.last_position()
        followed = [
            watches.follow_uris(LOCAL_PERSON, ["atoll://sandbox/*"], after=after) for _ in range(20)
        ]
        async with asyncio.TaskGroup() as tasks:
            first = [tasks.create_task(_first(one)) for one in followed]
            await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        assert {one.result().uris for one in first} == {(f"atoll://sandbox/{sandbox.id}",)}
        assert len(reads) < len(followed)


async def test_watchers_who_are_apart_share_the_pages_of_a_flood() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        watches = Watches(s.ground, s.events, scheme="atoll")
        after, reads = await s.events.last_position(), _reads(s)
        await _noise(s, 4 * PAGE)
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        # Each begins at another place, and comes when those before it have passed.
        for behind in range(PAGE):
            place = after + 3 * behind
            changes = watches.follow_uris(LOCAL_PERSON, ["atoll://sandbox/*"], after=place)
            async with aclosing(changes):  # type: ignore[type-var]
                assert (await anext(changes)).uris == (f"atoll://sandbox/{sandbox.id}",)
        assert len(reads) < PAGE / 2


async def test_kept_page_is_told_from_the_place_of_its_reader_on() -> None:
    async with scene() as s:
        first, second = await s.ready(), await s.ready()
        watches = Watches(s.ground, s.events, scheme="atoll")
        after = await s.events.last_position()
        await s.sandboxes.stop(LOCAL_PERSON, first.id)
        between = await s.events.last_position()
        await s.sandboxes.stop(LOCAL_PERSON, second.id)
        both = watches.follow_uris(LOCAL_PERSON, ["atoll://sandbox/*"], after=after)
        one = watches.follow_uris(LOCAL_PERSON, ["atoll://sandbox/*"], after=between)
        async with aclosing(both), aclosing(one):  # type: ignore[type-var]
            told = {f"atoll://sandbox/{first.id}", f"atoll://sandbox/{second.id}"}
            assert set((await anext(both)).uris) == told
            assert (await anext(one)).uris == (f"atoll://sandbox/{second.id}",)


async def test_session_that_comes_after_a_page_was_read_learns_what_it_changed() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        watches = Watches(s.ground, s.events, scheme="atoll")
        sessions = McpSessions(s.ground, SigningKeys(s.ground, s.vault, Es256Signer()))
        session = await sessions.find(LOCAL_PERSON, await sessions.begin(LOCAL_PERSON, ""))
        assert session is not None
        await watches.begin(LOCAL_PERSON, session, "atoll://sandbox/*")
        after = await s.events.last_position()
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        changed = (f"atoll://sandbox/{sandbox.id}",)
        first = watches.follow_uris(LOCAL_PERSON, ["atoll://sandbox/*"], after=after)
        later = watches.follow_session(LOCAL_PERSON, session, after=after)
        async with aclosing(first), aclosing(later):  # type: ignore[type-var]
            assert (await anext(first)).uris == changed
            assert (await anext(later)).uris == changed
