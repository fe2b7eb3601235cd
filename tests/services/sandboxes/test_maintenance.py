"""What a sandbox that does not run keeps can be read, by a start that changes nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from atoll.adapters.extensions.in_memory import FailurePoint
from atoll.domain.errors import Conflict, Failed, Unavailable
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.services.sandboxes.backend_watch import SURVEY_SECONDS
from atoll.services.sandboxes.maintenance import ALONE_SECONDS, IDLE_SECONDS, MOST_SECONDS
from atoll.wire.contract.execs import list_execs
from atoll.wire.words.sandboxes import State
from tests.services.scene import Scene, opened, scene

SECRET = "correct-horse-battery"


async def settled(s: Scene, sandbox: Sandbox) -> Sandbox:
    return await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)


async def calm() -> None:
    """Let every task get as far as it can without time going on."""
    for _ in range(200):
        await asyncio.sleep(0)


async def surveyed(s: Scene) -> None:
    """Let a survey begin and end: one that goes on would see what ends after it as left behind."""
    await _next_survey(s)
    s.clock.turn(SURVEY_SECONDS + 1)  # nobody else sleeps until the end of the next one then
    await _next_survey(s)


async def _next_survey(s: Scene) -> None:
    async with asyncio.timeout(60):
        while not s.clock.awaited(SURVEY_SECONDS):  # noqa: ASYNC110 - a sleeper wakes nobody
            await asyncio.sleep(0)


async def ended(s: Scene, sandbox: Sandbox) -> None:
    """Until no maintenance start of it lives."""
    for _ in range(100):
        await calm()
        if not s.extension.lives(sandbox.id):
            return
    raise AssertionError("the maintenance start lives on")


async def stopped(s: Scene) -> Sandbox:
    sandbox = await s.ready()
    await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
    return await settled(s, sandbox)


async def expired(s: Scene) -> Sandbox:
    sandbox = await s.ready()
    s.clock.turn(3601)
    return await s.until(sandbox, "expired")


async def failed(s: Scene) -> Sandbox:
    sandbox = await s.ready()
    s.extension.die(sandbox.id)
    return await s.until(sandbox, "failed")


@pytest.mark.parametrize("made", [stopped, expired, failed])
async def test_reading_brings_up_the_wall_alone_and_changes_no_state(
    made: Callable[[Scene], Awaitable[Sandbox]],
) -> None:
    async with scene() as s:
        sandbox = await made(s)
        await settled(s, sandbox)
        told = await s.kinds(sandbox)
        acts = list(s.workspaces.acts)
        async with s.access.reading(LOCAL_PERSON, sandbox.id) as (found, client):
            s.runtime.answers["GET", "/execs"] = (200, {"execs": []})
            await client.call(list_execs())
            assert s.runtime.calls[-1].path == "/execs"
            assert found.state is sandbox.state
            asked = s.extension.provisioned[-1]
            assert (asked.maintenance_seconds, asked.fresh) == (ALONE_SECONDS, False)
            assert (asked.generation, asked.env, asked.host_mounts) == (1, (), ())
            assert s.extension.lives(sandbox.id)
        assert s.workspaces.acts == [*acts, "mounts"]
        await calm()
        s.clock.turn(IDLE_SECONDS + 1)
        await ended(s, sandbox)
        assert (await s.sandboxes.get(LOCAL_PERSON, sandbox.id)).state is sandbox.state
        assert await s.kinds(sandbox) == told


async def test_many_readers_share_one_start_and_it_lives_on_for_the_next() -> None:
    async with scene() as s:
        sandbox = await stopped(s)
        before = len(s.extension.provisioned)

        async def read() -> None:
            async with s.access.reading(LOCAL_PERSON, sandbox.id):
                await asyncio.sleep(0)

        await asyncio.gather(*(read() for _ in range(20)))
        s.clock.turn(IDLE_SECONDS / 2)
        await read()
        assert len(s.extension.provisioned) == before + 1
        # A reader that stays keeps it, up to the most.
        async with s.access.reading(LOCAL_PERSON, sandbox.id):
            await calm()
            s.clock.turn(IDLE_SECONDS + 1)
            await calm()
            assert s.extension.lives(sandbox.id)
            s.clock.turn(MOST_SECONDS)
            await ended(s, sandbox)


async def test_start_ends_the_maintenance_start_first() -> None:
    async with scene() as s:
        sandbox = await stopped(s)
        async with s.access.reading(LOCAL_PERSON, sandbox.id):
            await s.sandboxes.start(LOCAL_PERSON, sandbox.id)
            up = await s.sandboxes.wait(LOCAL_PERSON, sandbox.id)
        assert up.state is State.READY
        assert s.extension.provisioned[-1].maintenance_seconds is None
        assert s.extension.lives(sandbox.id)


async def test_destroy_ends_it_too_and_leaves_nothing() -> None:
    async with scene() as s:
        sandbox = await stopped(s)
        async with s.access.reading(LOCAL_PERSON, sandbox.id):
            await s.sandboxes.destroy(LOCAL_PERSON, sandbox.id)
            await s.until(sandbox, "destroyed")
        assert not s.extension.kept(sandbox.id)


async def test_survey_leaves_a_maintenance_start_alone_and_a_new_control_plane_ends_it(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as first:
        sandbox = await stopped(first)
        async with first.access.reading(LOCAL_PERSON, sandbox.id):
            await surveyed(first)
            assert first.extension.lives(sandbox.id)
            # Its end fails on the way out: as if the control plane had been killed.
            first.extension.fail(FailurePoint.TEARDOWN, Failed("killed"), times=1)
        await calm()
        first.clock.turn(IDLE_SECONDS + 1)
        await calm()
        assert first.extension.lives(sandbox.id)
    async with opened(tmp_path, before=first):
        await ended(first, sandbox)


async def test_one_that_cannot_come_up_says_why_and_the_next_try_is_new() -> None:
    async with scene() as s:
        sandbox = await stopped(s)
        s.extension.fail(FailurePoint.WAIT_READY, Failed("no loop device"))
        with pytest.raises(Failed, match="no loop device"):
            async with s.access.reading(LOCAL_PERSON, sandbox.id):
                pass
        async with s.access.reading(LOCAL_PERSON, sandbox.id):
            assert s.extension.lives(sandbox.id)


async def test_reader_whose_runtime_went_away_makes_the_next_one_start_anew() -> None:
    async with scene() as s:
        sandbox = await stopped(s)
        with pytest.raises(Unavailable):
            async with s.access.reading(LOCAL_PERSON, sandbox.id):
                s.extension.die(sandbox.id)
                raise Unavailable("it is gone")
        before = len(s.extension.provisioned)
        async with s.access.reading(LOCAL_PERSON, sandbox.id):
            assert len(s.extension.provisioned) == before + 1
        assert (await s.sandboxes.get(LOCAL_PERSON, sandbox.id)).state is State.STOPPED


async def test_what_keeps_nothing_is_refused() -> None:
    async with scene() as s:
        s.extension.fail(FailurePoint.PROVISION, Failed("no such image"))
        sandbox = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
        await s.until(sandbox, "failed")
        with pytest.raises(Conflict, match="recreate it"):
            async with s.access.reading(LOCAL_PERSON, sandbox.id):
                pass


async def test_without_anything_running_nothing_is_opened() -> None:
    async with scene(run=False) as s:
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
        with pytest.raises(Unavailable):
            async with s.access.reading(LOCAL_PERSON, made.id):
                pass
