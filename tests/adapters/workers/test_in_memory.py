from collections.abc import Awaitable, Callable

import pytest

from atoll.adapters.clocks import SystemClock
from atoll.adapters.workers.in_memory import InMemoryHost
from atoll.domain.errors import Failed
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, WorkerKey
from atoll.domain.workers.create import CreateWorker, WorkerId
from atoll.domain.workers.heartbeat import Lease
from atoll.domain.workers.ledger import WorkerRequest
from atoll.domain.workers.lifecycle import Worker
from atoll.domain.workers.record import WorkerRecord
from atoll.ports.outside.worker_host import LiveHost, WorkerHost
from atoll.testing import WorkerHostContract
from atoll.testing.contracts.outside.worker_host import PIECE, wait_running
from atoll.testing.samples import NOW

PING = WorkerRequest("r1", "ping", {})


@pytest.fixture
def worker() -> WorkerRecord:
    created = CreateWorker(WorkerId("w"))
    return WorkerRecord(
        *(WorkerKey("wk_a"), PERSONAL_ORG, PrincipalId("ada"), created, Worker(created.worker_id)),
        *(Lease(1, NOW), NOW),
    )


@pytest.fixture
def host() -> InMemoryHost:
    return InMemoryHost(SystemClock())


@pytest.fixture
def ping() -> WorkerRequest:
    return PING


class TestInMemoryHost(WorkerHostContract):
    """The host in memory runs the suite of its port."""

    async def seen(self, host: WorkerHost, worker: WorkerRecord, request: WorkerRequest) -> int:
        assert isinstance(host, InMemoryHost)
        return host.sent(worker.key).count(request.request_id)

    def held(self, host: WorkerHost) -> WorkerRequest:
        assert isinstance(host, InMemoryHost)
        host.held.add("hang")
        return WorkerRequest("held", "hang", {})

    async def say(self, host: WorkerHost, worker: WorkerRecord, *lines: str) -> None:
        assert isinstance(host, InMemoryHost)
        for line in lines:
            speak = host.utter if line == PIECE else host.say
            speak(worker.key, line)

    async def end(self, host: WorkerHost, worker: WorkerRecord) -> None:
        assert isinstance(host, InMemoryHost)
        host.end(worker.key, "as told")


CALLS: dict[str, Callable[[InMemoryHost, WorkerRecord], Awaitable[object]]] = {
    "provision": lambda host, worker: host.provision(worker),
    "start_agent": lambda host, worker: host.start_agent(worker),
    "request": lambda host, worker: host.request(worker, PING, wait_ms=0),
    "stream": lambda host, worker: host.stream(worker, 0, wait_seconds=0),
    "live": lambda host, worker: host.live(worker).__aenter__(),
    "lost_reason": lambda host, worker: host.lost_reason(worker),
    "quiet": lambda host, worker: host.quiet(worker),
    "stop": lambda host, worker: host.stop(worker),
    "teardown": lambda host, worker: host.teardown(worker),
}


def test_host_can_fail_at_every_call_of_its_ports() -> None:
    calls = {name for port in (WorkerHost, LiveHost) for name in vars(port) if name[0] != "_"}
    assert set(CALLS) == calls


@pytest.mark.parametrize("call", CALLS)
async def test_host_fails_where_it_is_told_to_and_no_more_once_it_is_not(
    host: InMemoryHost, worker: WorkerRecord, call: str
) -> None:
    await wait_running(host, worker)
    host.failing[call] = Failed("as told")
    with pytest.raises(Failed, match="as told"):
        await CALLS[call](host, worker)
    del host.failing[call]
    await CALLS[call](host, worker)
