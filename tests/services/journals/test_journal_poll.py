"""Whose journals are waited for, and for how long."""

import asyncio

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.domain.sandboxes.task import TaskRequest
from atoll.services.journals.journal_poll import LATELY, POLL_SECONDS
from tests.peers.contract import AGENT
from tests.services.journals.test_journals import entry
from tests.services.scene import Scene, scene


async def turns(s: Scene, count: int, seconds: float = POLL_SECONDS) -> int:
    """Let that much time pass; how often a runtime was asked to tell of urgent things."""
    before = len(s.runtime.calls)
    for _ in range(count):
        s.clock.turn(seconds)
        for _ in range(20):
            await asyncio.sleep(0)
        await asyncio.sleep(0.001)  # the store's threads are not turned by the clock
    return sum("wait" in dict(call.query) for call in s.runtime.calls[before:])


async def is_waited_for(s: Scene) -> None:
    """Once its runtime is asked: the store is real, and takes the time it takes."""
    while not await turns(s, 1):
        pass


async def is_left_alone(s: Scene) -> None:
    """Once it is asked no more: what was on its way to it when it fell quiet may still come."""
    while await turns(s, 20):
        pass


async def stirred(s: Scene) -> Sandbox:
    sandbox = await s.ready()
    assert await turns(s, 20) == 0
    await s.access.runtime(LOCAL_PERSON, sandbox.id, activity=True)
    return sandbox


async def test_sandbox_in_which_nothing_went_on_costs_no_request() -> None:
    async with scene() as s:
        await s.ready()
        assert await turns(s, 40) == 0


async def test_sandbox_that_somebody_uses_is_waited_for() -> None:
    async with scene() as s:
        await stirred(s)
        await is_waited_for(s)


async def test_sandbox_that_fell_quiet_is_waited_for_no_longer_until_it_tells_something() -> None:
    async with scene() as s:
        await stirred(s)
        await is_waited_for(s)
        await turns(s, 70, LATELY.total_seconds() / 60)
        await is_left_alone(s)
        s.runtime.journal.append(entry(1, "exec.started", id="e_1", argv0="true"))
        await turns(s, 40)
        await is_waited_for(s)


async def test_sandbox_whose_agent_was_given_a_task_is_waited_for_although_nobody_calls() -> None:
    async with scene() as s:
        s.runtime.answers["POST", "/execs"] = (200, {"exit": {"exit_code": 0}})
        s.runtime.answers["GET", "/agents"] = (200, {"agents": []})
        s.runtime.answers["POST", "/agents"] = (201, AGENT)
        await s.ready(agent="codex", task=TaskRequest("Fix it."))
        await is_waited_for(s)
        await turns(s, 70, LATELY.total_seconds() / 60)
        await is_left_alone(s)


async def test_sandbox_that_was_stopped_is_waited_for_no_longer() -> None:
    async with scene() as s:
        sandbox = await stirred(s)
        await is_waited_for(s)
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        await is_left_alone(s)


async def test_next_leadership_waits_for_what_the_last_one_was_about_to_wait_for() -> None:
    async with scene(run=False) as s, asyncio.TaskGroup() as tasks:
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox(profile="bare"))
        s.background.journal_poll._polled.add(made.id)  # its task was cancelled before it began
        running = tasks.create_task(s.background.run())
        await s.sandboxes.wait(LOCAL_PERSON, made.id)
        await s.access.runtime(LOCAL_PERSON, made.id, activity=True)
        await is_waited_for(s)
        running.cancel()
