"""Quotas where room is taken: also by two at once, and after a failure."""

import asyncio
from dataclasses import replace

import pytest

from atoll.domain.errors import AtollError, Failed, LimitReached
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.quota import Quota
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.domain.wall.resources import Resources
from atoll.ports.store.people.quotas import OPENING
from atoll.wire.contract.terminals import OpenBody
from tests.peers.contract import SESSION
from tests.services.scene import Scene, scene

ORG = LOCAL_PERSON.org_id


async def limit(s: Scene, quota: Quota, *, own: bool = True) -> None:
    async with s.store.begin() as rows:
        await rows.quotas.put(ORG, LOCAL_PERSON.id if own else None, quota)


async def sessions(s: Scene) -> int:
    async with s.store.read() as rows:
        return await rows.sessions.count(ORG, None)


@pytest.mark.parametrize("own", [True, False])
async def test_of_many_creates_at_once_as_many_succeed_as_fit(own: bool) -> None:
    async with scene() as s:
        await limit(s, Quota(sandboxes=3), own=own)
        creates = [s.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare")) for _ in range(8)]
        done = await asyncio.gather(*creates, return_exceptions=True)
        refused = [one for one in done if isinstance(one, LimitReached)]
        assert (len(done) - len(refused), {one.code for one in refused}) == (3, {"quota_exceeded"})


async def test_destroyed_sandbox_makes_room() -> None:
    async with scene() as s:
        await limit(s, Quota(sandboxes=1))
        made = await s.ready()
        with pytest.raises(LimitReached):
            await s.ready()
        await s.sandboxes.destroy(LOCAL_PERSON, made.id)
        await s.until(made, "destroyed")
        await s.ready()


async def test_profile_without_the_counted_limit_gets_the_default_and_is_bounded_by_it() -> None:
    async with scene() as s:
        made = await s.ready()
        assert made.profile.resources == Resources()
        await limit(s, Quota(memory_mb=10_000, cpu=4.0), own=False)
        second = await s.ready()
        # The quota does not count storage, and of the first what it does.
        assert second.profile.resources == Resources(cpu=1.0, memory_mb=4096)
        with pytest.raises(LimitReached) as refused:
            await s.ready()
        assert (refused.value.code, refused.value.field) == ("quota_exceeded", "memory")
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.until(made, "stopped")
        await s.ready()
        await limit(s, Quota(), own=False)
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        assert (await s.until(made, "ready")).profile.resources == Resources()


async def test_sandbox_that_began_without_a_limit_gets_it_at_its_next_start() -> None:
    async with scene() as s:
        made = await s.ready()
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.until(made, "stopped")
        await limit(s, Quota(cpu=1.0))
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        again = await s.until(made, "ready")
        assert again.profile.resources == Resources(cpu=1.0)


async def test_quota_of_another_organization_or_member_is_not_asked() -> None:
    async with scene() as s:
        async with s.store.begin() as rows:
            await rows.quotas.put(replace(LOCAL_PERSON, org_id="x").org_id, None, Quota(0))  # type: ignore[arg-type]
        await s.ready()


async def test_start_beyond_a_quota_that_was_lowered_is_refused_and_nothing_changes() -> None:
    async with scene() as s:
        made = await s.ready()
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.until(made, "stopped")
        await limit(s, Quota(sandboxes=0))
        before = await s.kinds(made)
        with pytest.raises(LimitReached):
            await s.sandboxes.start(LOCAL_PERSON, made.id)
        assert await s.kinds(made) == before
        assert (await s.sandboxes.get(LOCAL_PERSON, made.id)).state == "stopped"


async def test_of_many_terminals_at_once_as_many_open_as_fit() -> None:
    async with scene() as s:
        made = await s.ready()
        await limit(s, Quota(sessions=2))
        s.runtime.answers["POST", "/sessions"] = (201, SESSION)
        await s.within.checks.check_start(made, s.runtime, None)
        s.runtime.gate = asyncio.Event()
        terminals = s.terminals
        outcomes: list[object] = []

        async def open_one() -> None:
            try:
                outcomes.append(await terminals.open(LOCAL_PERSON, made.id, OpenBody()))
            except LimitReached as refused:
                outcomes.append(refused)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(6):
                tasks.create_task(open_one())
            while len(outcomes) < 4:  # noqa: ASYNC110 - they wait in the store
                await asyncio.sleep(0)
            s.runtime.gate.set()
        assert sum(isinstance(one, LimitReached) for one in outcomes) == 4
        # Both have the one id that the scripted runtime gives.
        assert await sessions(s) == 1


async def test_place_of_a_terminal_that_did_not_open_is_free_again() -> None:
    async with scene() as s:
        made = await s.ready()
        await limit(s, Quota(sessions=1))
        s.runtime.answers["POST", "/sessions"] = (502, {"code": "failed", "detail": "no PTY"})
        for _ in range(3):
            with pytest.raises(AtollError) as failed:
                await s.terminals.open(LOCAL_PERSON, made.id, OpenBody())
            assert isinstance(failed.value, Failed)
        assert await sessions(s) == 0


async def test_place_of_a_control_plane_that_died_is_free_after_a_while() -> None:
    async with scene() as s:
        made = await s.ready()
        await limit(s, Quota(sessions=1))
        async with s.store.begin() as rows:
            await rows.sessions.put(made, f"{OPENING}lost", s.clock.now())
        s.runtime.answers["POST", "/sessions"] = (201, SESSION)
        terminals = s.terminals
        with pytest.raises(LimitReached):
            await terminals.open(LOCAL_PERSON, made.id, OpenBody())
        s.clock.turn(301)
        await terminals.open(LOCAL_PERSON, made.id, OpenBody())


async def test_journal_counts_terminals_and_machine_agents_until_they_end() -> None:
    async with scene() as s:
        made = await s.ready()
        at = "2026-01-01T12:00:00Z"

        async def told(n: int, kind: str, **payload: object) -> int:
            s.runtime.journal.append({"n": n, "at": at, "kind": kind, "payload": payload})
            await s.within.journals.collect(made, s.access.runtime_of(made))
            return await sessions(s)

        assert await told(1, "terminal.opened", id="t_1", argv0="bash") == 1
        assert await told(2, "agent.started", id="g_1", agent="codex", mode="machine") == 2
        assert await told(3, "agent.started", id="t_1", agent="codex", mode="tui") == 2
        assert await told(4, "terminal.exited", id="t_1", argv0="bash") == 1
        assert await told(5, "agent.ended", id="g_1", agent="codex", why="exited") == 0
        assert await told(6, "terminal.opened", id="t_2", argv0="bash") == 1
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.until(made, "stopped")
        assert await sessions(s) == 0
