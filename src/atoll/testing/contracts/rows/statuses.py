"""Checks of the rows of what agents were reported to do, and of the tallies."""

from dataclasses import replace

from atoll.domain.ids import PERSONAL_ORG
from atoll.domain.sandbox.reported import MAX_REPORTED_AGENTS, ReportedAgent
from atoll.domain.sandbox.sandbox import State
from atoll.ports import Store
from atoll.testing.contracts.event_log import OTHER, OWNER
from atoll.testing.contracts.rows.sandboxes import sandbox
from atoll.wire.contract.agents import StatusOption, StatusRecord

AT = "2026-01-01T00:00:00.000Z"


def agent(name: str, *, turns: int = 0) -> ReportedAgent:
    """Return an agent that asks for a permission."""
    options = (StatusOption("allow", "Allow", "allow"),)
    status = StatusRecord("needs_you", AT, "ls", "Allow Bash? ls", options=options, turns=turns)
    return ReportedAgent(name, "codex", "machine", status)


async def check_status_replaces_the_one_before_and_goes_with_its_sandbox(store: Store) -> None:
    """The last status of each agent, by sandbox and by owner."""
    one, two = sandbox("one"), sandbox("two")
    async with store.begin() as rows:
        await rows.statuses.put(one, agent("t_1"))
        await rows.statuses.put(one, agent("t_1", turns=1))
        await rows.statuses.put(two, agent("t_2"))
    async with store.read() as rows:
        assert await rows.statuses.of(sandbox("one").id) == [agent("t_1", turns=1)]
        found = await rows.statuses.owned(PERSONAL_ORG, OWNER)
        assert found == {one.id: [agent("t_1", turns=1)], two.id: [agent("t_2")]}
    async with store.begin() as rows:
        await rows.statuses.give(two.id, OTHER)
    async with store.read() as rows:
        assert [*await rows.statuses.owned(PERSONAL_ORG, OTHER)] == [two.id]
        assert [*await rows.statuses.owned(PERSONAL_ORG, OWNER)] == [one.id]
    async with store.begin() as rows:
        await rows.statuses.give(two.id, OWNER)
        await rows.statuses.clear(sandbox("one").id)
    async with store.read() as rows:
        assert [*await rows.statuses.owned(PERSONAL_ORG, OWNER)] == [two.id]


async def check_statuses_that_changed_longest_ago_go_first(store: Store) -> None:
    """A sandbox keeps a bounded number."""
    async with store.begin() as rows:
        for number in range(MAX_REPORTED_AGENTS):
            await rows.statuses.put(sandbox("one"), agent(f"t_{number}"))
        await rows.statuses.put(sandbox("one"), agent("t_0", turns=1))
        await rows.statuses.put(sandbox("one"), agent("t_new"))
    async with store.read() as rows:
        kept = {one.id for one in await rows.statuses.of(sandbox("one").id)}
    assert len(kept) == MAX_REPORTED_AGENTS
    assert {"t_0", "t_new"} <= kept and "t_1" not in kept


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
            await rows.statuses.put(one, agent("t_1"))
        await rows.statuses.put(made[0], agent("t_2"))
    async with store.read() as rows:
        assert await rows.tallies.sandboxes() == {"ready": 2, "stopped": 1}
        assert await rows.tallies.agents() == {"needs_you": 3}
