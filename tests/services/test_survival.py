import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.adapters.extensions.in_memory import FailurePoint
from atoll.domain.errors import Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.profile.profile import Profile
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.ports import Provision
from atoll.services.sandboxes.backend_watch import SURVEY_SECONDS
from atoll.wire.words.sandboxes import State
from tests.services.scene import Scene, opened, timers

PATIENCE_SECONDS = 60.0
SHORT_WAIT_SECONDS = 5.0
"""Timers below it are waits for time; those above end what hangs."""
TURN_SECONDS = 0.02
"""Real time for the disk between two turns of the clock. Until `PATIENCE_SECONDS` are over, less
than the hour passes after which a sandbox expires."""


async def second(scene: Scene) -> None:
    """Let a second pass, and whoever waited for it act."""
    scene.clock.turn(1)
    await asyncio.sleep(TURN_SECONDS)


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.mark.timeout(300)
async def test_restart_with_a_hundred_sandboxes_reaches_all_before_one_answers(
    folder: Path,
) -> None:
    async with opened(folder, max_sandboxes=200) as before:
        made = [
            await before.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
            for _ in range(100)
        ]
        for one in made:
            await before.sandboxes.wait(LOCAL_PERSON, one.id)
    # Asking a runtime on the way would wait for ever; asking one after the other takes a timer.
    before.runtime.gate = asyncio.Event()
    async with opened(folder, before=before) as after:
        with timers() as waits:
            await after.background.adopted()
            reached = [await after.access.runtime(LOCAL_PERSON, one.id) for one in made]
        assert {sandbox.state for sandbox, _client in reached} == {State.READY}
        assert len({sandbox.id for sandbox, _client in reached}) == 100
        assert [each for each in waits if each < SHORT_WAIT_SECONDS] == []
        before.runtime.gate.set()
    assert len(before.extension.provisioned) == 100


async def test_what_died_meanwhile_is_failed_with_a_reason(folder: Path) -> None:
    async with opened(folder) as before:
        dead, alive = await before.ready(), await before.ready()
    before.extension._places[dead.id].live = False
    async with opened(folder, before=before) as after:
        failed = await after.until(dead, "failed")
        assert "no control plane was there" in (failed.reason or "")
        assert (await after.sandboxes.get(LOCAL_PERSON, alive.id)).state is State.READY


async def test_interrupted_provisioning_is_gone_on_with(folder: Path) -> None:
    async with opened(folder, run=False) as before:
        made = await before.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
    async with opened(folder, before=before) as after:
        assert (await after.sandboxes.wait(LOCAL_PERSON, made.id)).state is State.READY


async def test_interrupted_destroying_is_gone_on_with(folder: Path) -> None:
    async with opened(folder) as before:
        made = await before.ready()
        before.extension.fail(FailurePoint.TEARDOWN, Unavailable("busy"))
        await before.sandboxes.destroy(LOCAL_PERSON, made.id)
    async with opened(folder, before=before) as after:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await after.sandboxes.get(LOCAL_PERSON, made.id)).state is not State.DESTROYED:
                await second(after)
    assert not before.extension.kept(made.id)


async def test_orphan_of_a_crash_is_ended_and_a_stranger_to_nobody_stays(folder: Path) -> None:
    async with opened(folder, run=False) as before:
        pass
    orphan = SandboxId("sb_orphan")
    profile = Profile("profile.x", "1.0.0")
    await before.extension.provision(Provision(orphan, 1, "orphan", profile))
    async with opened(folder, before=before) as after:
        kept = await after.ready()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while after.extension.kept(orphan):
                await second(after)
        assert after.extension.lives(kept.id)


async def test_expired_while_away_expires_at_the_start(folder: Path) -> None:
    async with opened(folder) as before:
        made = await before.ready()
    before.clock.turn(3700)
    async with opened(folder, before=before) as after:
        await after.until(made, "expired")


async def test_backend_that_does_not_answer_is_asked_again(folder: Path) -> None:
    async with opened(folder) as before:
        made = await before.ready()
    before.extension.fail(FailurePoint.SURVEY, Unavailable("the zygote is not there"), times=2)
    async with opened(folder, before=before) as after:
        await after.background.adopted()
        before.extension.die(made.id)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await after.sandboxes.get(LOCAL_PERSON, made.id)).state is not State.FAILED:
                await second(after)


async def test_backend_that_forgot_without_telling_is_found_out(folder: Path) -> None:
    async with opened(folder) as here:
        made, stopped = await here.ready(), await here.ready()
        await here.sandboxes.stop(LOCAL_PERSON, stopped.id)
        await here.sandboxes.wait(LOCAL_PERSON, stopped.id, settled=True)
        here.extension._places[made.id].live = False
        here.extension._places[stopped.id].live = True
        here.clock.turn(SURVEY_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await here.sandboxes.get(LOCAL_PERSON, made.id)).state is not State.FAILED:
                await second(here)
            while here.extension.lives(stopped.id):
                await second(here)
        assert (await here.sandboxes.get(LOCAL_PERSON, stopped.id)).state is State.STOPPED
