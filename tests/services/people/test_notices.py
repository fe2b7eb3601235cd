"""Notices to a person's own command."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from atoll.domain.event import Json
from atoll.domain.ids import PERSONAL_ORG, EventId, PrincipalId
from atoll.domain.people.organization import Organization
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.people.push import PER_WINDOW
from atoll.services.journals.events import Note, draft_of
from atoll.services.people.notices import Notices
from atoll.wire.words.sandboxes import Scope
from tests.services.approvals.test_approvals import entry
from tests.services.scene import Scene, scene

PUSHED: dict[str, Json] = {"repo": 0, "branch": "evil", "commit": "c" * 40, "generation": 1}
STATUS = {"id": "t_1", "agent": "codex", "mode": "tui", "since": "2026-01-01T00:00:00.000Z"}


class Told:
    """What the command was run with."""

    def __init__(self) -> None:
        self.notices: list[tuple[str, str]] = []
        self.came = asyncio.Event()

    async def __call__(self, reason: str, name: str) -> None:
        self.notices.append((reason, name))
        self.came.set()


@asynccontextmanager
async def noticing(s: Scene) -> AsyncIterator[Told]:
    told = Told()
    notices = Notices(s.events, s.sandboxes, told)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(notices.run())
        await notices.started()
        try:
            yield told
        finally:
            running.cancel()


def reports(s: Scene, status: str, **more: object) -> None:
    n = len(s.runtime.journal) + 1
    s.runtime.journal.append(entry(n, "agent.status", {**STATUS, "status": status, **more}))


async def until(s: Scene, told: Told, count: int) -> None:
    async with asyncio.timeout(30):
        while len(told.notices) < count:
            s.clock.turn(1)
            await asyncio.sleep(0.001)


async def test_agent_that_needs_its_person_is_done_or_failed_is_told() -> None:
    async with scene() as s:
        await s.ready(name="box")
        async with noticing(s) as told:
            reports(s, "working")
            reports(s, "needs_you", question="rm -rf /; $(evil)", begins=True)
            reports(s, "needs_you", on="other", begins=False)
            reports(s, "working")
            reports(s, "done", begins=True)
            reports(s, "failed", reason="$(evil)", begins=True)
            await until(s, told, 3)
            words = ("done", "failed", "needs-you")
            assert sorted(told.notices) == [(word, "box") for word in words]


async def test_held_push_is_told_and_shares_the_ten_of_a_minute() -> None:
    async with scene() as s:
        sandbox = await s.ready(name="box")
        async with noticing(s) as told:
            for n in range(3 * PER_WINDOW):
                note = Note(
                    f"sandbox:{sandbox.id}", "git.pushed", {**PUSHED, "sandbox_id": sandbox.id}
                )
                event = draft_of(note, LOCAL_PERSON, at=s.clock.now(), event_id=EventId(f"ev_p{n}"))
                async with s.store.begin() as rows:
                    await rows.events.append((event,))
            s.bus.announce((f"sandbox:{sandbox.id}",))
            reports(s, "done", begins=True)
            await until(s, told, PER_WINDOW)
            assert told.notices == [("pushed", "box")] * PER_WINDOW


async def test_sandbox_causes_ten_notices_a_minute() -> None:
    async with scene() as s:
        await s.ready(name="box")
        await s.ready(name="other")
        async with noticing(s) as told:
            for _ in range(5 * PER_WINDOW):
                reports(s, "done", begins=True)
            # Both sandboxes have the one fake runtime, and so the same journal.
            await until(s, told, 2 * PER_WINDOW)
            assert told.notices.count(("done", "box")) == PER_WINDOW
            assert told.notices.count(("done", "other")) == PER_WINDOW


async def test_sandbox_that_another_member_shares_is_told_to_nobody_here() -> None:
    async with scene() as s:
        await s.ready(name="mine")
        shared = await s.ready(name="theirs", scope=Scope.SHARED)
        made = Organization(PERSONAL_ORG, "acme", "Acme", s.clock.now())
        async with s.store.begin() as rows:
            await rows.organizations.put(made)
            await rows.sandboxes.update(replace(shared, owner=PrincipalId("ann")))
            await rows.events.give(f"sandbox:{shared.id}", LOCAL_PERSON.id, PrincipalId("ann"))
        s.events.note_team(PERSONAL_ORG)
        async with noticing(s) as told:
            reports(s, "done")
            await until(s, told, 1)
            assert told.notices == [("done", "mine")]
