import asyncio
from typing import cast

import pytest
import structlog

from atoll.domain.errors import Unavailable
from atoll.services import task_runner
from atoll.services.provisioning.provisioning import Provisioning
from atoll.services.sandboxes.maintenance import Maintenance
from atoll.services.task_runner import TaskRunner, complete
from tests.services.scene import scene


async def test_act_started_before_the_run_runs_once_it_begins() -> None:
    runner, done = TaskRunner(), asyncio.Event()

    async def act() -> None:
        done.set()

    runner.start(act)
    assert not runner.running
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(runner.run())
        await done.wait()
        assert runner.running
        running.cancel()
    assert not runner.running


async def test_act_keeps_the_context_of_who_started_it() -> None:
    runner, seen = TaskRunner(), asyncio.Queue[object]()

    async def act() -> None:
        seen.put_nowait(structlog.contextvars.get_contextvars().get("request_id"))

    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(runner.run())
        with structlog.contextvars.bound_contextvars(request_id="mine"):
            runner.start(act)
        runner.start(act)
        assert [await seen.get(), await seen.get()] == ["mine", None]
        running.cancel()


async def test_cancelled_runner_cancels_its_acts_and_waits_for_them() -> None:
    runner, begun, ended = TaskRunner(), asyncio.Event(), asyncio.Event()

    async def act() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    runner.start(act)
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(runner.run())
        await begun.wait()
        running.cancel()
    assert ended.is_set()


async def test_act_that_has_to_complete_ends_although_its_caller_is_cancelled() -> None:
    begun, answered, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def act() -> None:
        begun.set()
        await answered.wait()
        done.set()

    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        caller = tasks.create_task(complete(act()))
        await begun.wait()
        caller.cancel()
        answered.set()
    assert done.is_set() and caller.cancelled()


async def test_act_that_does_not_complete_in_time_is_cancelled_with_its_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_runner, "FINISH_SECONDS", 0.01)
    begun, never = asyncio.Event(), asyncio.Event()

    async def act() -> None:
        begun.set()
        await never.wait()

    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        caller = tasks.create_task(complete(act()))
        await begun.wait()
        caller.cancel()
    assert caller.cancelled()


async def test_error_of_an_act_that_completed_is_raised_bare() -> None:
    async def act() -> None:
        raise Unavailable("not now")

    with pytest.raises(Unavailable, match="not now"):
        await complete(act())


async def test_maintenance_is_unavailable_while_no_runner_runs() -> None:
    async with scene() as s:
        maintenance = Maintenance(cast(Provisioning, None), s.clock, TaskRunner())
        with pytest.raises(Unavailable, match="not up yet"):
            async with maintenance.opened(await s.ready()):
                pass
