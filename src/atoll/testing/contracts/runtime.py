"""The contract of RuntimeClients.

Subclass `RuntimeClientsContract` in a test module. Fixtures: `clients`; `living`, the address of a
runtime that answers `GET /health` with 200; `dead`, that of one that does not answer.
"""

import json

import pytest

from atoll.domain.errors import Unavailable
from atoll.ports.extension import Reachability
from atoll.ports.runtime import RuntimeCall, RuntimeClients

HEALTH = RuntimeCall("GET", "/health")
NOWHERE = RuntimeCall("GET", "/nothing-is-here")


class RuntimeClientsContract:
    """Answers are whole whatever their status; only an unreachable runtime is an error."""

    async def test_call_gives_the_whole_answer(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        reply = await clients.client(living).call(HEALTH)
        assert reply.status == 200
        assert isinstance(json.loads(reply.body), dict)

    async def test_refusal_of_the_runtime_is_an_answer(
        self, clients: RuntimeClients, living: Reachability
    ) -> None:
        assert (await clients.client(living).call(NOWHERE)).status >= 400

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
