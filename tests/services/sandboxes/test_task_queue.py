"""The queue of tasks over a real store: it starts the next one, also after a restart."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.domain.sandboxes.task import TaskRequest
from atoll.wire.words.sandboxes import State, TaskState
from tests.peers.contract import AGENT
from tests.services.scene import Scene, opened


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    yield path
    shutil.rmtree(path)


async def ordered(s: Scene, *, most: int = 1) -> Sandbox:
    s.clock.turn(1)
    s.runtime.answers["POST", "/execs"] = (200, {"exit": {"exit_code": 0}})
    s.runtime.answers["GET", "/agents"] = (200, {"agents": []})
    s.runtime.answers["POST", "/agents"] = (201, AGENT)
    task = TaskRequest("Go.", max_working=most)
    request = CreateSandbox("bare", agent="codex", task=task)
    made = await s.sandboxes.create(LOCAL_PERSON, request)
    return await s.sandboxes.wait(LOCAL_PERSON, made.id)


async def begun(s: Scene, sandbox: Sandbox) -> None:
    """Let time pass until a queued sandbox begins: its queue may not wait on the clock yet."""
    with s.bus.listen(f"sandbox:{sandbox.id}") as listener:
        async with asyncio.timeout(60):
            while (await s.sandboxes.get(LOCAL_PERSON, sandbox.id)).state is State.REQUESTED:
                s.clock.turn(5)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await listener.wait()


async def test_task_beyond_the_bound_waits_and_starts_when_another_is_gone(folder: Path) -> None:
    async with opened(folder) as s:
        first, second, third = [await ordered(s) for _ in range(3)]
        assert first.state is State.READY
        places = [one.task and (one.task.state, one.task.before) for one in (second, third)]
        assert places == [(TaskState.QUEUED, 0), (TaskState.QUEUED, 1)]
        with pytest.raises(Conflict, match="waits for a place: 1 before it"):
            await s.access.runtime(LOCAL_PERSON, third.id)
        await s.sandboxes.stop(LOCAL_PERSON, first.id)
        s.clock.turn(5)
        # It is ready only until it has its task.
        assert "task.given" in await s.kinds(await s.until(second, "active"))
        now = await s.sandboxes.get(LOCAL_PERSON, third.id)
        assert now.task is not None and (now.task.state, now.task.before) == (TaskState.QUEUED, 0)


async def test_queue_outlives_the_control_plane(folder: Path) -> None:
    async with opened(folder) as before:
        first, second = [await ordered(before) for _ in range(2)]
    async with opened(folder, before=before) as after:
        waiting = await after.sandboxes.get(LOCAL_PERSON, second.id)
        assert waiting.task is not None and waiting.task.state is TaskState.QUEUED
        await after.sandboxes.destroy(LOCAL_PERSON, first.id)
        await begun(after, second)
        assert "task.given" in await after.kinds(await after.until(second, "active"))


async def test_queued_task_can_be_destroyed(folder: Path) -> None:
    async with opened(folder) as s:
        _, second = [await ordered(s) for _ in range(2)]
        await s.sandboxes.destroy(LOCAL_PERSON, second.id)
        await s.until(second, "destroyed")
