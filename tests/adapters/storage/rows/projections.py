"""Checks of the rows of what is derived from the log, and of the tallies."""

from dataclasses import replace

from atoll.domain.event import sandbox_stream
from atoll.domain.ids import PERSONAL_ORG
from atoll.domain.projection import ModelState, StoredModel
from atoll.ports import Store
from atoll.testing.samples import OTHER, OWNER, draft, sandbox
from atoll.wire.words.sandboxes import State
from tests.adapters.storage.event_log import append

MODEL = "agents"

BODY = (
    '[{"id":"t_1","agent":"codex","mode":"machine",'
    '"status":{"status":"needs_you","since":"2026-01-01T00:00:00.000Z"}}]'
)


async def check_state_of_a_stream_is_found_by_stream_and_by_owner(store: Store) -> None:
    """A state replaces the one before; one without a body is none."""
    one, two = sandbox("one"), replace(sandbox("two"), owner=OTHER)
    streams = [sandbox_stream(one.id), sandbox_stream(two.id)]
    async with store.begin() as rows:
        for made in (one, two):
            await rows.sandboxes.insert(made)
        await rows.projections.put(MODEL, streams[0], ModelState("[]", 1))
        await rows.projections.put(MODEL, streams[0], ModelState(BODY, 2))
        await rows.projections.put(MODEL, streams[1], ModelState("[]", 3))
        await rows.projections.put("other", streams[0], ModelState("x", 1))
    async with store.read() as rows:
        found = await rows.projections.states(MODEL, [*streams, "sandbox:none"])
        assert found == {streams[0]: ModelState(BODY, 2), streams[1]: ModelState("[]", 3)}
        owned = await rows.projections.owned(MODEL, PERSONAL_ORG, OWNER)
        assert owned == {streams[0]: ModelState(BODY, 2)}
        assert await rows.projections.states(MODEL, []) == {}
    async with store.begin() as rows:
        await rows.projections.put(MODEL, streams[0], ModelState(None, 4))
    async with store.read() as rows:
        assert [*await rows.projections.states(MODEL, streams)] == [streams[1]]


async def check_position_of_a_projection_begins_at_zero(store: Store) -> None:
    """Each projection has its own."""
    async with store.begin() as rows:
        assert await rows.projections.position(MODEL) == 0
        await rows.projections.set_position(MODEL, 5)
        await rows.projections.set_position(MODEL, 7)
        assert await rows.projections.position(MODEL) == 7
        assert await rows.projections.position("other") == 0


async def check_snapshots_stay_beside_states(store: Store) -> None:
    """A snapshot is the state of when it was kept; a stream that ended keeps its own."""
    async with store.begin() as rows:
        await rows.projections.put(MODEL, "kept", ModelState("a", 1))
        await rows.projections.put(MODEL, "ended", ModelState("b", 2))
        await rows.projections.put(MODEL, "later", ModelState("c", 3))
        await rows.projections.put("other", "kept", ModelState("d", 4))
        for stream in ("kept", "ended"):
            await rows.projections.keep(stream)
        await rows.projections.put(MODEL, "kept", ModelState("aa", 5))
        await rows.projections.put(MODEL, "ended", ModelState(None, 6))
        assert await rows.projections.stored(MODEL) == {
            "kept": StoredModel(ModelState("aa", 5), ModelState("a", 1)),
            "ended": StoredModel(None, ModelState("b", 2)),
            "later": StoredModel(ModelState("c", 3), None),
        }
        assert [*await rows.projections.stored("other")] == ["kept"]
        await rows.projections.keep("ended")
        assert [*await rows.projections.stored(MODEL)] == ["kept", "later"]


async def check_log_is_read_by_kinds(store: Store) -> None:
    """Other kinds are left out, and the limit counts what is returned."""
    await append(store, [draft(number) for number in range(1, 5)])
    async with store.read() as rows:
        found = await rows.events.after(1, 2, kinds=frozenset({"auth.login", "sandbox.ready"}))
        assert [one.position for one in found] == [2, 3]
        assert await rows.events.after(0, 9, kinds=frozenset({"sandbox.ready"})) == []


async def check_tallies_count_over_all_owners_and_leave_out_what_is_gone(store: Store) -> None:
    """Sandboxes by state, and agents of those that run by status."""
    async with store.read() as rows:
        assert await rows.tallies.sandboxes() == {}
        assert await rows.tallies.agents() == {}
        assert await rows.tallies.approvals() == 0
    states = (State.READY, State.READY, State.STOPPED, State.DESTROYED)
    made = [replace(sandbox(f"n{number}"), state=state) for number, state in enumerate(states)]
    async with store.begin() as rows:
        for one in made:
            await rows.sandboxes.insert(one)
            await rows.projections.put(MODEL, sandbox_stream(one.id), ModelState(BODY, 1))
        twice = f"[{BODY[1:-1]},{BODY[1:-1]}]"
        await rows.projections.put(MODEL, sandbox_stream(made[0].id), ModelState(twice, 2))
    async with store.read() as rows:
        assert await rows.tallies.sandboxes() == {"ready": 2, "stopped": 1}
        assert await rows.tallies.agents() == {"needs_you": 3}
