"""Programs by their streams on each kind of foreign machine: the runtime's own suite, over a
link."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.ports.extension import Reachability
from atoll.ports.runtime import RuntimeClient
from tests.adapters.extensions.link.suites import suite_of
from tests.runtime import stage
from tests.runtime.execs import test_exec_pipe

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("over_the_link"),
    pytest.mark.timeout(300),
]
OF_THE_ROUTE = ("frame", "secret", "client_that_says", "request_without")
"""Words of tests for which it is the same what stands behind the route."""

globals().update(
    {
        name: each
        for name, each in suite_of(test_exec_pipe).items()
        if not any(word in name for word in OF_THE_ROUTE)
    }
)


@pytest_asyncio.fixture(loop_scope="module")
async def rt(over_the_link: None, request: pytest.FixtureRequest) -> AsyncIterator[stage.Runtime]:
    if request.node.callspec.params["side"].name != "ssh":
        pytest.skip("the suite's programs (tee, python3) are not in that machine's image")
    async with stage.runtime() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def client(rt: stage.Runtime) -> AsyncIterator[RuntimeClient]:
    clients = HttpRuntimeClients()
    yield clients.client(Reachability(f"unix:{rt.socket_path}", test_exec_pipe.WALL))
    await clients.close()
