"""The timer of a machine that moves its own deadline, on the event loop that runtimes use."""

import asyncio

import uvloop

from atoll.runtime.clock import Alarm


def test_deadline_that_is_past_may_be_set_again_before_it_rings() -> None:
    async def run() -> list[str]:
        loop, rung = asyncio.get_running_loop(), list[str]()
        alarm = Alarm(lambda: rung.append("rung"))
        alarm.set(loop.time() - 1)
        alarm.set(loop.time() + 60)
        await asyncio.sleep(0.01)
        return rung

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run()) == ["rung"]


def test_earlier_deadline_replaces_a_later_one_and_none_cancels() -> None:
    async def run() -> list[str]:
        loop, rung = asyncio.get_running_loop(), list[str]()
        alarm, silent = Alarm(lambda: rung.append("one")), Alarm(lambda: rung.append("two"))
        alarm.set(loop.time() + 60)
        alarm.set(loop.time())
        silent.set(loop.time())
        silent.set(None)
        await asyncio.sleep(0.01)
        return rung

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run()) == ["one"]
