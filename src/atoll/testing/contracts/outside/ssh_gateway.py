"""The contract of SshGateway: the gateway beside a control plane.

Subclass `SshGatewayContract` in a test module and give it the fixture `gateway`, one that sends
back what it is sent, and `absent`, one that cannot be started.
"""

import pytest

from atoll.domain.errors import Unavailable
from atoll.ports.outside.ssh_gateway import SshGateway


class SshGatewayContract:
    """Contract of a gateway: bytes pass both ways, and one that is not there says so."""

    async def test_bytes_pass_both_ways(self, gateway: SshGateway) -> None:
        sent, came = bytes(range(256)) * 1000, bytearray()
        async with gateway.dial("sb_1", "127.0.0.1") as dialled:
            await dialled.send(sent)
            async for data in dialled:
                came += data
                if len(came) >= len(sent):
                    break
        assert bytes(came) == sent

    async def test_two_clients_are_apart(self, gateway: SshGateway) -> None:
        async with gateway.dial("sb_1", "::1") as first, gateway.dial("sb_2", "::1") as other:
            await first.send(b"one")
            await other.send(b"two")
            assert await anext(aiter(other)) == b"two"
            assert await anext(aiter(first)) == b"one"

    async def test_one_that_is_not_there_is_unavailable(self, absent: SshGateway) -> None:
        with pytest.raises(Unavailable):
            async with absent.dial("sb_1", "127.0.0.1"):
                pass
        assert absent.address == ""
