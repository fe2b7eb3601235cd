import asyncio

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.approvals.request_watch import LOOK, RequestWatch
from atoll.wire.words.approvals import ApprovalState
from tests.services.approvals.test_approvals import asked, begun, runs, wants
from tests.services.scene import scene


async def test_request_that_runs_out_is_closed_before_anybody_looks() -> None:
    async with scene() as s:
        box, secret = await begun(s)
        watch = RequestWatch(s.ground)
        assert await watch.look() is None
        wants(s, secret)
        runs(s, "make", "deploy")
        first, last = sorted(one.until for one in await asked(s) if one.until is not None)
        assert await watch.look() == first
        s.clock.turn((first - s.clock.now()).total_seconds())
        assert await watch.look() == last
        kinds = await s.kinds(box)
        assert kinds.count("approval.expired") == 1
        assert await watch.look() == last
        assert await s.kinds(box) == kinds
        async with s.store.read() as rows:
            (left,) = await rows.approvals.waiting()
        assert left.verdict is ApprovalState.PENDING


async def test_watch_ends_requests_while_it_runs() -> None:
    async with scene() as s:
        box, _ = await begun(s)
        await s.sandboxes.extend_ttl(LOCAL_PERSON, box.id, 9999)
        runs(s, "make", "deploy")
        await asked(s)
        async with asyncio.TaskGroup() as tasks, asyncio.timeout(20):
            running = tasks.create_task(RequestWatch(s.ground).run())
            while "approval.expired" not in await s.kinds(box):
                s.clock.turn(LOOK.total_seconds())
                await asyncio.sleep(0.001)
            running.cancel()
