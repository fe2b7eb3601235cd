"""Checks of the tallies."""

from dataclasses import replace

from atoll.domain.sandbox.sandbox import State
from atoll.ports import Store
from atoll.testing.contracts.rows.sandboxes import sandbox
from atoll.testing.contracts.rows.statuses import agent


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
