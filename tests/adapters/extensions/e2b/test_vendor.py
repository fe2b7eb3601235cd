"""E2B's calls when they go wrong, against a peer on E2B's own wheel."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from atoll.adapters.extensions.e2b.settings import E2bSettings
from atoll.adapters.extensions.e2b.vendor import E2bVendor
from atoll.adapters.rented.calls import Patience
from atoll.adapters.rented.machines import Rentals
from atoll.adapters.rented.shell import END_SECONDS
from atoll.adapters.rented.vendor import Vendor
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.ports.extension import VendorKey
from tests.adapters.extensions.vendor_calls import BOX, Keys, VendorCalls
from tests.peers.clouds.e2b import KEY, E2bPeer, e2b_peer
from tests.peers.clouds.faults import Fault
from tests.peers.clouds.machine import missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


@pytest.fixture
def peer() -> Iterator[E2bPeer]:
    with e2b_peer() as running:
        yield running


class TestE2bVendor(VendorCalls):
    key = KEY
    wrong_key = "e2b_wrong-canary-of-a-key"
    renewal = "timeout"
    step = 900
    keeps_doubles = True

    @pytest.fixture
    def vendor(self, peer: E2bPeer, patience: Patience) -> Vendor:
        return E2bVendor(E2bSettings(api_url=peer.url, sandbox_url=peer.url), patience)

    @pytest.mark.parametrize("fault", [Fault.LOST, Fault.HALF])
    async def test_lost_answer_is_not_asked_for_again(
        self, rentals: Rentals, peer: E2bPeer, fault: Fault
    ) -> None:
        peer.faults.plan("create", fault)
        await rentals.rent(BOX, "base")
        assert peer.faults.count("create") == 1

    async def test_environment_of_the_process_pays_for_nothing(
        self, rentals: Rentals, keys: Keys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("E2B_API_KEY", KEY)
        keys.by_id = [VendorKey("sec_mine", "")]
        with pytest.raises(Failed, match="empty"):
            await rentals.rent(BOX, "base")

    async def test_quiet_stream_that_is_reset_ends_at_once(
        self, rentals: Rentals, vendor: Vendor, peer: E2bPeer
    ) -> None:
        async with quiet_stream(rentals, vendor, peer) as (stream, _):
            peer.cut()
            async with asyncio.timeout(END_SECONDS):
                with pytest.raises(Unavailable):
                    await stream

    async def test_stream_that_fell_silent_ends_with_its_near_end(
        self, rentals: Rentals, vendor: Vendor, peer: E2bPeer
    ) -> None:
        async with quiet_stream(rentals, vendor, peer) as (stream, near):
            peer.silence()
            near.close()
            async with asyncio.timeout(END_SECONDS + 2):
                with pytest.raises(Unavailable, match="does not end a stream"):
                    await stream


@asynccontextmanager
async def quiet_stream(
    rentals: Rentals, vendor: Vendor, peer: E2bPeer
) -> AsyncIterator[tuple[asyncio.Task[str], socket.socket]]:
    """Yield a stream on which nothing more is said, and its near end."""
    rented = await rentals.rent(BOX, "base")
    shell = await vendor.shell(rented.key, rented.machine)
    near, far = socket.socketpair()
    near.setblocking(False)
    with near, far:
        loop = asyncio.get_running_loop()
        stream = loop.create_task(shell.stream("echo up; exec sleep 600", near=far))
        assert await loop.sock_recv(near, 10) == b"up\n"
        yield stream, near
        stream.cancel()
        await asyncio.gather(stream, return_exceptions=True)


def test_address_in_the_clear_is_refused() -> None:
    with pytest.raises(Invalid, match="https"):
        E2bSettings(api_url="http://api.example.com")
