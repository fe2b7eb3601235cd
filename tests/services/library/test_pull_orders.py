"""Pull orders over a restart of the control plane, and those that nobody takes."""

import asyncio
from datetime import timedelta

import pytest

from atoll.domain.errors import Conflict, NotFound
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.pull_order import Checkout, PullDraft, PullOrder, PullResult
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.library.pull_orders import PullOrders
from atoll.wire.words.library import OrderState
from tests.services.scene import Scene, scene

REPO = SandboxRepo("https://h.example/o/r", "fix", None, "/workspace")
HERE = Checkout("k", "https://h.example/o/r")


def pulls_of(s: Scene) -> PullOrders:
    """Return the service as a control plane makes it that starts now."""
    return PullOrders(Ground(s.store, s.bus, s.clock, Identifiers()), s.sandboxes)


async def ordered(s: Scene) -> tuple[Sandbox, PullOrder]:
    sandbox = await s.ready(name="box", repos=(REPO,))
    return sandbox, await pulls_of(s).order(LOCAL_PERSON, sandbox.id, PullDraft(into="review"))


async def states(s: Scene, sandbox: Sandbox) -> list[str]:
    found, _ = await pulls_of(s).of(LOCAL_PERSON, sandbox.id)
    return [one.state.value for one in found]


async def test_order_survives_restarts_before_and_after_it_is_taken() -> None:
    async with scene() as s:
        sandbox, order = await ordered(s)
        taken = await pulls_of(s).take(LOCAL_PERSON, HERE, seconds=0)
        assert taken is not None and (taken.id, taken.draft.into) == (order.id, "review")
        assert await pulls_of(s).take(LOCAL_PERSON, HERE, seconds=0) is None
        assert await states(s, sandbox) == ["taken"]
        done = PullResult(done=True, written="review", commit="a" * 40, commits=2)
        await pulls_of(s).finish(LOCAL_PERSON, order.id, done)
        ((told,), _) = await pulls_of(s).of(LOCAL_PERSON, sandbox.id)
        assert (told.state, told.written, told.commits) == (OrderState.DONE, "review", 2)


async def test_order_that_nobody_takes_fails_after_a_day() -> None:
    async with scene() as s:
        sandbox, order = await ordered(s)
        s.clock.turn(timedelta(days=1).total_seconds())
        assert await pulls_of(s).take(LOCAL_PERSON, HERE, seconds=0) is None
        assert await states(s, sandbox) == ["failed"]
        with pytest.raises(Conflict):
            await pulls_of(s).cancel(LOCAL_PERSON, order.id)


async def test_order_for_what_lay_in_a_destroyed_sandbox_is_cancelled() -> None:
    async with scene() as s:
        sandbox, order = await ordered(s)
        pushed = PullDraft(branch="fix", pushed=True)
        kept = await pulls_of(s).order(LOCAL_PERSON, sandbox.id, pushed)
        await s.sandboxes.destroy(LOCAL_PERSON, sandbox.id)
        found, _ = await pulls_of(s).of(LOCAL_PERSON, sandbox.id)
        # What was pushed lies outside.
        assert {one.id: one.state.value for one in found} == {
            order.id: "cancelled",
            kept.id: "waiting",
        }


async def test_order_taken_by_a_checkout_that_is_gone_waits_again_or_fails() -> None:
    async with scene() as s:
        sandbox, order = await ordered(s)
        taken = await pulls_of(s).take(LOCAL_PERSON, HERE, seconds=0)
        assert taken is not None
        await pulls_of(s).put_back(taken)
        assert await states(s, sandbox) == ["waiting"]
        assert await pulls_of(s).take(LOCAL_PERSON, HERE, seconds=0) is not None
        s.clock.turn(3600)
        assert await states(s, sandbox) == ["failed"]
        # A checkout that was only slow may still say how it ended.
        ended = await pulls_of(s).finish(LOCAL_PERSON, order.id, PullResult(done=True))
        assert ended.state is OrderState.DONE


async def test_waiting_checkout_takes_an_order_as_it_comes() -> None:
    async with scene() as s:
        sandbox = await s.ready(name="box", repos=(REPO,))
        pulls = pulls_of(s)
        async with asyncio.TaskGroup() as tasks:
            taking = tasks.create_task(pulls.take(LOCAL_PERSON, HERE, seconds=60))
            await asyncio.sleep(0)
            assert (await pulls.of(LOCAL_PERSON, sandbox.id))[1]
            made = await pulls.order(LOCAL_PERSON, sandbox.id, PullDraft())
        order = taking.result()
        assert order is not None and order.id == made.id
        with pytest.raises(NotFound):
            await pulls.finish(LOCAL_PERSON, "pull_none", PullResult(done=True))
