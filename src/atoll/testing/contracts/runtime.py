"""The contract of RuntimeClients.

Subclass `RuntimeClientsContract` in a test module. Fixtures: `clients`; `living`, the address of a
runtime that answers `GET /health` with 200; `dead`, that of one that does not answer.
"""

import json

import pytest

from atoll.domain.errors import NotFound, Unavailable
from atoll.ports.extension import Reachability
from atoll.ports.runtime import RuntimeClients
from atoll.wire.contract.call import bytes_call

HEALTH = bytes_call("/health")
NOWHERE = bytes_call("/nothing-is-here")


class RuntimeClientsContract:
    """Contract of runtime clients: answers are read as the call says; a refusal is the error it
    stands for."""

    async def test_call_gives_the_whole_answer(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        body = await clients.client(living).call(HEALTH)
        assert isinstance(json.loads(body), dict)

    async def test_refusal_of_the_runtime_is_an_error(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        with pytest.raises(NotFound):
            await clients.client(living).call(NOWHERE)
        with pytest.raises(NotFound):
            async with clients.client(living).stream(NOWHERE):
                pass

    async def test_stream_gives_the_same_bytes(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        async with clients.client(living).stream(HEALTH) as answer:
            assert answer.status == 200
            body = b"".join([piece async for piece in answer.body])
        assert isinstance(json.loads(body), dict)

    async def test_runtime_that_does_not_answer_is_unavailable(
        self, clients: RuntimeClients, dead: Reachability
    ) -> None:
        client = clients.client(dead)
        with pytest.raises(Unavailable):
            await client.call(HEALTH)
        with pytest.raises(Unavailable):
            async with client.stream(HEALTH):
                pass
        with pytest.raises(Unavailable):
            async with client.attach("/sessions/t_1/attach"):
                pass
