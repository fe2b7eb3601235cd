"""Read models and the log: what the live writer derives, a rebuild derives, too."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.event import EventDraft, Json
from atoll.domain.event_retention import Removal
from atoll.domain.ids import EventId
from atoll.domain.sandboxes.reported import AGENTS, MAX_REPORTED_AGENTS, read_agents
from atoll.ports import Store, Transaction
from atoll.services.lifecycle.projections import Projections, Rebuild, catch_up
from atoll.testing import FakeLeadership
from atoll.testing.samples import NOW, draft
from tests.adapters.storage.event_log import EVER
from tests.services.scene import scene

STREAMS = [f"sandbox:{name}" for name in "abc"]
STATUS: dict[str, Json] = {"agent": "codex", "mode": "tui", "since": "2026-01-01T00:00:00.000Z"}
ENDING: dict[str, Json] = {"sandbox_id": "x", "generation": 1}
LIFE: dict[str, Json] = {"sandbox_id": "x", "generation": 1, "name": "x", "state": "ready"}

Act: TypeAlias = "tuple[str, str, str, str] | tuple[str, int]"


def event(number: int, act: tuple[str, str, str, str]) -> EventDraft:
    """An event of a sandbox: `act` is its kind, stream, agent, and a text."""
    kind, stream, agent, text = act
    inside: dict[str, Json] = {**ENDING, "n": number, "id": agent}
    payload = {
        "agent.started": {**inside, "agent": "codex", "mode": "tui"},
        "agent.status": {**inside, **STATUS, "status": "working", "on": text, "turns": number},
        "agent.forgotten": ENDING,
        "sandbox.destroyed": LIFE,
        "sandbox.ready": LIFE,
    }[kind]
    made = draft(number, stream=stream)
    at = NOW + timedelta(microseconds=number * 137)
    changed = {"id": EventId(f"ev_{number}"), "event_type": kind, "at": at, "payload": payload}
    return replace(made, **changed)  # type: ignore[arg-type]


events = st.tuples(
    st.sampled_from(
        ["agent.status"] * 5
        + ["agent.started", "agent.forgotten", "sandbox.destroyed", "sandbox.ready"]
    ),
    st.sampled_from(STREAMS),
    st.sampled_from(["t_1", "t_2", "../t"]),
    st.text(max_size=5),
)
prunings = st.tuples(st.sampled_from(STREAMS), st.integers(1, 4))


async def derived(rows: Transaction) -> dict[str, str | None]:
    """The texts of all states."""
    found = await rows.projections.states(AGENTS.name, STREAMS)
    return {stream: state.body for stream, state in found.items()}


async def play(store: Store, acts: list[Act], *, first: int = 1) -> None:
    """Append the events, a transaction each and derived in it, and remove old ones in between."""
    for number, act in enumerate(acts, first):
        async with store.begin() as rows:
            match act:
                case (str(stream), int(count)):
                    await catch_up(rows)
                    if await rows.events.remove(Removal(stream, EVER, 1000, count)):
                        await rows.projections.keep(stream)
                case (str(), str(), str(), str()):
                    await rows.events.append((event(number, act),))
                    if number % 3:
                        await catch_up(rows)


@given(st.lists(st.one_of(events, prunings), max_size=25), st.integers(0, 25))
def test_rebuild_gives_byte_for_byte_what_the_live_writer_gave(acts: list[Act], read: int) -> None:
    """Also of what was appended and removed between its reading and its switch."""

    async def compare() -> None:
        async with scene(run=False) as s:
            await play(s.store, acts[:read])
            rebuilt = Rebuild(AGENTS)
            async with s.store.read() as rows:
                await rebuilt.read(rows)
            await play(s.store, acts[read:], first=read + 1)
            async with s.store.begin() as rows:
                await catch_up(rows)
                live = await derived(rows)
                for one in (rebuilt, Rebuild(AGENTS)):
                    assert await one.switch(rows) == await rows.events.last_position()
                    assert await derived(rows) == live

    asyncio.run(compare())


async def test_state_that_ended_and_was_removed_while_it_was_rebuilt_is_gone() -> None:
    """Its end was removed from the log, too; what came after that is derived."""
    status, forgotten = ("agent.status", "sandbox:b"), ("agent.forgotten", "sandbox:b", "", "")
    for later in ([], [(*status, "t_2", "y")]):
        async with scene(run=False) as s:
            await play(s.store, [(*status, "t_1", "x")])
            rebuilt = Rebuild(AGENTS)
            async with s.store.read() as rows:
                await rebuilt.read(rows)
            # Each removal leaves the newest event; an agent with such an id is none.
            unread, newest = (*status, "../t", "z"), ("sandbox:b", 1)
            await play(s.store, [forgotten, newest, unread, newest, *later], first=2)
            async with s.store.begin() as rows:
                await catch_up(rows)
                live = await derived(rows)
                await rebuilt.switch(rows)
                assert await derived(rows) == live
            assert [one.id for one in read_agents(live.get("sandbox:b"))] == ["t_2"] * len(later)


async def test_rebuild_repairs_what_was_damaged() -> None:
    async with scene(run=False) as s:
        acts = [("agent.status", "sandbox:a", f"t_{n}", "x") for n in range(90)]
        async with s.store.begin() as rows:
            await rows.events.append([event(n, act) for n, act in enumerate(acts)])
            await catch_up(rows)
            live = await derived(rows)
            (state,) = (await rows.projections.states(AGENTS.name, STREAMS)).values()
            await rows.projections.put(AGENTS.name, "sandbox:a", replace(state, body="[]"))
            await rows.projections.put(AGENTS.name, "sandbox:b", state)
        rebuilt = Rebuild(AGENTS)
        async with s.store.read() as rows:
            await rebuilt.read(rows)
            assert await derived(rows) != live
        async with s.store.begin() as rows:
            await rebuilt.switch(rows)
            assert await derived(rows) == live
    kept = [one.id for one in read_agents(live["sandbox:a"])]
    assert kept == [f"t_{n}" for n in range(90 - MAX_REPORTED_AGENTS, 90)]


async def test_leader_alone_derives_also_what_a_follower_appended() -> None:
    leadership = FakeLeadership()
    async with scene() as s:
        follower = Projections(replace(s.ground, leadership=leadership))
        async with s.store.begin() as rows:
            act = ("agent.status", "sandbox:a", "t_1", "x")
            await follower.follow(rows, await rows.events.append([event(1, act)]))
            assert await derived(rows) == {}
        s.bus.announce(["sandbox:a"])
        async with asyncio.timeout(10):
            while True:
                async with s.store.read() as rows:
                    if await derived(rows):
                        break
                s.clock.turn(1)
                await asyncio.sleep(0)
