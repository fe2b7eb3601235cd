"""Changes of the state of work: one event for each, and the state that readers see."""

import asyncio
from collections.abc import Sequence
from typing import Any

from atoll.domain.event import Json
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.work.states import WorkStates
from tests.services.approvals.test_approvals import entry
from tests.services.scene import Scene, scene

AGENT = {"id": "g_1", "agent": "codex", "mode": "machine", "since": "2026-01-01T00:00:00.000Z"}
STUCK = {"path": "/workspace", "branch": "fix", "conflict": "rebase", "mark": "m"}


def status(number: int, word: str, **more: Any) -> Any:
    return entry(number, "agent.status", {**AGENT, "status": word, "begins": True, **more})


async def reported(s: Scene, sandbox: Sandbox, count: int) -> Sequence[tuple[Json, Json]]:
    """The states that events gave, each with the one before, once there are `count`."""
    async with asyncio.timeout(20):
        while True:
            log = await s.events.list(LOCAL_PERSON, stream=f"sandbox:{sandbox.id}", limit=1000)
            changes = [
                (event.payload["before"], event.payload["work_state"])
                for event in log
                if event.event_type == "work.changed"
            ]
            if len(changes) >= count:
                return changes
            s.clock.turn(1)
            await asyncio.sleep(0)


async def test_each_state_is_reported_once() -> None:
    async with scene() as s:
        sandbox = await s.ready(name="box")
        s.runtime.journal = [status(1, "working"), status(2, "done", turns=1)]
        changes = await reported(s, sandbox, 1)
        s.runtime.journal.append(entry(3, "git.tree", {"trees": [STUCK]}))
        changes = await reported(s, sandbox, len(changes) + 1)
        assert [after for _, after in changes][-2:] == ["to_review", "in_conflict"]
        assert [before for before, _ in changes] == [None, *(after for _, after in changes[:-1])]
        work = await WorkStates(s.store).one(await s.sandboxes.get(LOCAL_PERSON, sandbox.id))
        assert work.state == "in_conflict" and work.conflict_at is not None


async def test_plain_shell_has_no_work_to_report() -> None:
    async with scene() as s:
        sandbox = await s.ready(name="plain")
        s.runtime.journal = [entry(1, "exec.started", {"id": "x_1", "argv0": "true"})]
        async with asyncio.timeout(20):
            while "exec.started" not in await s.kinds(sandbox):
                s.clock.turn(1)
                await asyncio.sleep(0)
        s.clock.turn(5)
        await asyncio.sleep(0)
        assert "work.changed" not in await s.kinds(sandbox)
