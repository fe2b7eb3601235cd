"""SIGKILL of the control plane at each step of a worker's request and at random, and of a runtime.

Clients repeat their ids: the agent saw each request once, and each has one receipt."""

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atoll.client import Atoll
from atoll.client.made.workers.workers import WorkerReceipt
from atoll.client.workers.shapes import WorkerEvent
from atoll.domain.errors import AtollError, Conflict, Unavailable
from atoll.testing.server import TestServer
from tests.peers.api import Api, Pauses, api_of

pytestmark = pytest.mark.timeout(3600)

HERE = Path(__file__).parent
KILLS = int(os.environ.get("ATOLL_WORKER_KILLS", "2"))
SEED = int(os.environ.get("ATOLL_WORKER_SEED", random.SystemRandom().randrange(2**32)))
CLIENTS = 3
PATIENCE = 240.0
WORKERS = "atoll.services.workers"
STEPS = {
    "before it is put down": f"{WORKERS}.workers:Workers._store_request:before",
    "put down, and not sent": f"{WORKERS}.workers:Workers._store_request:after",
    "before the runtime has it": f"{WORKERS}.runtime_host:RuntimeHost.request:before",
    "answered, and not stored": f"{WORKERS}.runtime_host:RuntimeHost.request:after",
    "stored, and not committed": f"{WORKERS}.transitions:WorkerTransitions.receive:after",
    "committed, and not told": f"{WORKERS}.workers:Workers.request:after",
    "before its entries are read": f"{WORKERS}.runtime_host:RuntimeHost.stream:before",
    "entries read, and not stored": f"{WORKERS}.driving:WorkerDriver._take:before",
    "entries stored, and not freed": f"{WORKERS}.driving:WorkerDriver._take:after",
}
STARTS = {
    "its sandbox is stored": "atoll.services.sandboxes.sandboxes:Sandboxes.create:after",
    "its sandbox is ready": f"{WORKERS}.runtime_host:RuntimeHost.provision:after",
    "its agent serves, and that is not stored": (
        f"{WORKERS}.driving:WorkerDriver._store_start:before"
    ),
}
IN_CI = {"answered, and not stored"}


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    with api_of(server) as made:
        yield made


class Followed:
    """A follower of a worker's stream over all the kills."""

    def __init__(self) -> None:
        self.events: list[WorkerEvent] = []
        self._news = asyncio.Event()

    async def run(self, atoll: Atoll, name: str) -> None:
        async for event in atoll.workers.follow(name):
            self.events.append(event)
            self._news.set()

    async def until(self, wanted: Callable[[list[WorkerEvent]], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not wanted(self.events):
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def working(server: TestServer, name: str) -> AsyncIterator[tuple[Atoll, Followed]]:
    """A worker that runs, and its follower."""
    async with Atoll(server.url, server.token) as atoll:
        await atoll.workers.create({"worker_id": name, "teardown": {"policy": "immediate"}})
        await atoll.workers.ready(name)
        followed = Followed()
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(followed.run(atoll, name))
            yield atoll, followed
            following.cancel()
        await insisted(lambda: atoll.workers.stop(name))


@asynccontextmanager
async def killed_at(
    server: TestServer, step: str, name: str
) -> AsyncIterator[tuple[Path, Callable[[int], Awaitable[None]]]]:
    """A control plane that ends at a step once a file is there, and the wait for that, after which
    it is there as usual."""
    at = server.home.parent / f"kill-{name}"
    armed = {"ATOLL_TEST_KILL": step, "ATOLL_TEST_KILL_AT": str(at)}
    usual = (server.env, server.before)

    async def restarted(port: int) -> None:
        assert server.process is not None
        ended = await asyncio.to_thread(server.process.wait, PATIENCE)
        assert ended == -signal.SIGKILL
        server.env, server.before = usual
        await asyncio.to_thread(server.start, port)

    port = int(server.url.rpartition(":")[2])
    await asyncio.to_thread(server.kill)
    server.env, server.before = {**server.env, **armed}, (sys.executable, str(HERE / "armed.py"))
    await asyncio.to_thread(server.start, port)
    try:
        yield at, restarted
    finally:
        server.env, server.before = usual


async def insisted(act: Any) -> Any:
    """Repeat a call until a control plane is there for it."""
    async with asyncio.timeout(PATIENCE):
        pauses = Pauses()
        while True:
            try:
                return await act()
            except Unavailable:
                await pauses.wait()
            except Conflict as error:
                # A control plane that has just begun looks for the host first.
                if error.code != "worker_unavailable":
                    raise
                await pauses.wait()


async def asked(atoll: Atoll, worker: str, number: str, *, wait_ms: int = 20_000) -> WorkerReceipt:
    """The receipt of a request, which is repeated under its id until it has one."""

    async def once() -> WorkerReceipt:
        params = {"threadId": "th", "name": number}
        body: Any = {"request_id": number, "method": "thread/name/set", "params": params}
        receipt = await atoll.workers.request(worker, body, wait_ms=wait_ms)
        if receipt.response is None and receipt.error is None and wait_ms:
            raise Unavailable("not yet")
        return receipt

    found: WorkerReceipt = await insisted(once)
    return found


async def checked(
    server: TestServer, atoll: Atoll, worker: str, followed: Followed, numbers: list[str]
) -> None:
    """Each request was seen once, has one receipt, and the follower missed and repeated nothing."""
    shown = await insisted(lambda: atoll.workers.get(worker))
    for number in numbers:
        receipt = await asked(atoll, worker, number)
        assert receipt.response is not None, receipt.value
        assert json.loads(receipt.response.result) == {"name": number}
    with api_of(server) as api:
        seen = await asyncio.to_thread(api.run, shown.sandbox.id, "cat seen")
    assert Counter(seen.split()) == Counter(numbers)
    # What it said of the last request may still be on its way to the stream.
    await followed.until(lambda events: len(items_of(events)) >= len(numbers))
    latest = (await insisted(lambda: atoll.workers.get(worker))).latest_seq
    await followed.until(lambda events: len(events) >= latest)
    assert [one.seq for one in followed.events] == list(range(1, latest + 1))
    for kind in ("worker.request.received", "worker.response"):
        ids = [one.said["request_id"] for one in followed.events if one.event_type == kind]
        assert Counter(ids) == Counter(numbers), kind
    assert Counter(items_of(followed.events)) == Counter(numbers)
    stored = await atoll.workers.events(worker)
    assert [one.value for one in stored] == [one.value for one in followed.events]


def items_of(events: list[WorkerEvent]) -> list[str]:
    """The requests that the agent said something of."""
    said = (json.loads(str(one.said["params"])) for one in events if one.method == "item/completed")
    return [one["item"]["id"] for one in said]


@pytest.mark.parametrize(
    "step",
    [pytest.param(step, marks=() if step in IN_CI else pytest.mark.slow) for step in STEPS],
)
async def test_control_plane_killed_at_a_step_of_a_request(server: TestServer, step: str) -> None:
    worker = f"step-{list(STEPS).index(step)}"
    port = int(server.url.rpartition(":")[2])
    async with (
        killed_at(server, STEPS[step], worker) as (at, restarted),
        working(server, worker) as (atoll, followed),
    ):
        await asked(atoll, worker, "first")
        at.touch()
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(asked(atoll, worker, "second"))
            await restarted(port)
            await asking
        await checked(server, atoll, worker, followed, ["first", "second"])


@pytest.mark.slow
@pytest.mark.parametrize("step", STARTS)
async def test_worker_that_is_stopped_after_a_kill_amid_its_start_leaves_nothing(
    server: TestServer, api: Api, step: str
) -> None:
    worker = f"start-{list(STARTS).index(step)}"
    port = int(server.url.rpartition(":")[2])
    async with (
        killed_at(server, STARTS[step], worker) as (at, restarted),
        Atoll(server.url, server.token) as atoll,
    ):
        at.touch()
        with contextlib.suppress(Unavailable):  # it may be killed before it answers
            await atoll.workers.create({"worker_id": worker, "teardown": {"policy": "immediate"}})
        await restarted(port)
        await insisted(lambda: atoll.workers.stop(worker))
        told = [event async for event in atoll.workers.follow(worker)]
        assert told[-1].event_type == "worker.torn_down"
        assert told[-1].said["leftovers"] == []
    assert api.call("GET", "/v1/sandboxes")["sandboxes"] == []


async def test_control_plane_killed_at_random(
    server: TestServer, summary: Callable[[str], None]
) -> None:
    summary(f"workers: ATOLL_WORKER_SEED={SEED} ATOLL_WORKER_KILLS={KILLS}")
    port, dice = int(server.url.rpartition(":")[2]), random.Random(SEED)
    made: list[str] = []
    over = asyncio.Event()

    async def client(atoll: Atoll, name: str) -> None:
        while not over.is_set():
            number = f"{name}-{len(made)}"
            made.append(number)
            await asked(atoll, "random", number, wait_ms=dice.choice((0, 5, 5000)))
            await asyncio.sleep(dice.random() * 0.05)  # the kill comes at any moment

    async with working(server, "random") as (atoll, followed):
        async with asyncio.TaskGroup() as tasks:
            for one in range(CLIENTS):
                tasks.create_task(client(atoll, f"c{one}"))
            for _ in range(KILLS):
                await asyncio.sleep(dice.random() * 0.8)  # the kill comes at any moment
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start, port)
            over.set()
        await checked(server, atoll, "random", followed, made)


async def test_runtime_killed_ends_open_requests_as_unknown(server: TestServer, api: Api) -> None:
    async with working(server, "lost") as (atoll, followed):
        await asked(atoll, "lost", "first")
        for number in ("hold-1", "hold-2"):
            receipt = await asked(atoll, "lost", number, wait_ms=0)
            assert receipt.response is None and receipt.error is None
        sandbox = (await atoll.workers.get("lost")).sandbox.id
        async with asyncio.timeout(PATIENCE):
            pauses = Pauses()
            while "hold-2" not in api.run(sandbox, "cat seen"):
                await pauses.wait()
        os.kill(api.box(sandbox).runtime_pid, signal.SIGKILL)
        for number in ("hold-1", "hold-2"):
            receipt = await asked(atoll, "lost", number)
            assert receipt.error is not None and receipt.error.code == "outcome_unknown"
            assert not receipt.error.retryable
        latest = (await atoll.workers.get("lost")).latest_seq
        await followed.until(lambda events: len(events) >= latest)
        kinds = [one.event_type for one in followed.events]
        assert kinds.count("worker.lost") == 1 and kinds.count("worker.error") == 2
        assert [one.seq for one in followed.events] == list(range(1, len(kinds) + 1))
        with contextlib.suppress(AtollError):
            await asked(atoll, "lost", "first")
        receipt = await asked(atoll, "lost", "first")
        assert receipt.response is not None
        with pytest.raises(Conflict):
            body: Any = {"request_id": "late", "method": "thread/list", "params": {}}
            await atoll.workers.request("lost", body)
        again = await atoll.workers.create({"worker_id": "lost"})
        assert again.reattached
        await atoll.workers.ready("lost")
        for number in ("hold-1", "hold-2"):
            receipt = await asked(atoll, "lost", number)
            assert receipt.error is not None and receipt.error.code == "outcome_unknown"
        await asked(atoll, "lost", "after")
        sandbox = (await atoll.workers.get("lost")).sandbox.id
        seen = Counter(api.run(sandbox, "cat seen").split())
        assert seen["after"] == 1 and max(seen.values()) == 1
