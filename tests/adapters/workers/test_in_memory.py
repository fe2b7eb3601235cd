import pytest

from atoll.adapters.clocks.system import SystemClock
from atoll.adapters.workers.in_memory import InMemoryHost
from atoll.domain.errors import Failed
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, WorkerKey
from atoll.domain.worker.create import CreateWorker, WorkerId
from atoll.domain.worker.heartbeat import Lease
from atoll.domain.worker.ledger import WorkerRequest
from atoll.domain.worker.lifecycle import Worker
from atoll.domain.worker.record import WorkerRecord
from atoll.testing import WorkerHostContract
from atoll.testing.contracts.event_log import NOW


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
    return WorkerRequest("r1", "ping", {})


class TestInMemoryHost(WorkerHostContract):
    """The host in memory runs the suite of its port."""


@pytest.mark.parametrize("call", ["provision", "start_codex"])
async def test_host_fails_where_it_is_told_to(
    host: InMemoryHost, worker: WorkerRecord, call: str
) -> None:
    host.failing[call] = Failed("as told")
    with pytest.raises(Failed, match="as told"):
        await host.provision(worker)
        await host.start_codex(worker)
