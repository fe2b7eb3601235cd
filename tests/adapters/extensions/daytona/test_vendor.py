"""Daytona's calls when they go wrong, against a peer on the models of its generated clients."""

import asyncio
import random
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from daytona_api_client import SandboxState

from atoll.adapters.extensions.daytona.settings import DaytonaSettings
from atoll.adapters.extensions.daytona.vendor import DaytonaVendor
from atoll.adapters.rented.calls import Patience
from atoll.adapters.rented.machines import Rentals
from atoll.adapters.rented.vendor import Gone, Order, RentedShell, Vendor
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.ports.extension import VendorKey
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import install
from tests.adapters.extensions.vendor_calls import BOX, Keys, VendorCalls
from tests.peers.api import until
from tests.peers.clouds.daytona import KEY, DaytonaPeer, daytona_peer
from tests.peers.clouds.faults import Fault
from tests.peers.clouds.machine import missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


@pytest.fixture
def peer() -> Iterator[DaytonaPeer]:
    with daytona_peer() as running:
        yield running


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        home = Home(Path(folder))
        install(home)
        yield home.programs / "far.tar"


class TestDaytonaVendor(VendorCalls):
    key = KEY
    wrong_key = "dtn_wrong-canary-of-a-key"
    renewal = "activity"
    step = 900
    keeps_doubles = True

    @pytest.fixture
    async def vendor(
        self, peer: DaytonaPeer, programs: Path, patience: Patience
    ) -> AsyncIterator[Vendor]:
        made = DaytonaVendor(DaytonaSettings(api_url=peer.url), programs, patience=patience)
        yield made
        await made.close()

    async def test_machine_is_deleted_when_it_is_idle_and_when_its_time_is_over(
        self, rentals: Rentals, peer: DaytonaPeer
    ) -> None:
        await rentals.rent(BOX, "snapshot-x")
        (sold,) = peer.live
        body = sold.body
        assert (body.ttl_minutes, body.auto_stop_interval, body.auto_delete_interval) == (30, 30, 0)
        assert (body.snapshot, body.public) == ("snapshot-x", False)

    async def test_older_daytona_without_a_time_to_live_is_renewed_by_activity(
        self, rentals: Rentals, peer: DaytonaPeer
    ) -> None:
        rented = await rentals.rent(BOX, "")
        peer.faults.plan("ttl", Fault.REFUSED)
        await rentals.vendor.renew(rented.key, rented.machine, 1800)
        assert peer.faults.count("activity") == 1

    async def test_snapshot_that_is_not_there_is_refused_for_good(
        self, rentals: Rentals, peer: DaytonaPeer
    ) -> None:
        peer.faults.plan("create", Fault.REFUSED)
        with pytest.raises(Failed, match="no such template"):
            await rentals.rent(BOX, "nowhere")
        assert (peer.rented, peer.faults.count("create")) == (0, 1)

    @pytest.mark.parametrize("state", [SandboxState.ERROR, SandboxState.STOPPED])
    async def test_machine_that_never_runs_is_ended(
        self, rentals: Rentals, peer: DaytonaPeer, state: SandboxState
    ) -> None:
        peer.starts_as = state
        rented = await rentals.rent(BOX, "")
        with pytest.raises(Gone, match="out of luck"):
            await rentals.vendor.shell(rented.key, rented.machine)
        assert peer.live == []

    async def test_environment_of_the_process_pays_for_nothing(
        self, rentals: Rentals, keys: Keys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DAYTONA_API_KEY", KEY)
        keys.by_id = [VendorKey("sec_mine", "")]
        with pytest.raises(Failed, match="empty"):
            await rentals.rent(BOX, "")


@pytest.fixture
async def shell(peer: DaytonaPeer, programs: Path, tmp_path: Path) -> AsyncIterator[RentedShell]:
    vendor = DaytonaVendor(DaytonaSettings(api_url=peer.url), programs)
    key = VendorKey("sec_mine", KEY)
    made = await vendor.create(key, Order("", (("atoll", "test"),), 1800, "token"))
    yield await vendor.shell(key, made.id)
    await vendor.end(key, made.id)
    await vendor.close()


async def test_every_byte_goes_there_and_comes_back(shell: RentedShell, peer: DaytonaPeer) -> None:
    data = random.Random(1).randbytes(3_000_000)
    ran = await shell.run('cat; echo bad >&2; exit "$1"', "7", given=data, seconds=60)
    assert (ran.code, ran.complaint) == (7, "bad")
    assert ran.output == data
    assert peer.processes.terminals == {}


async def test_output_is_fetched_and_input_piped(shell: RentedShell) -> None:
    async with shell.pipe('cat >"$HOME/it"') as into:
        for _ in range(20):
            into.write(b"\0\xff~\n" * 20_000)
            await into.drain()
    got = b"".join([data async for data in shell.fetch('cat "$HOME/it"')])
    assert got == b"\0\xff~\n" * 400_000
    with pytest.raises(Failed, match="no more"):
        async with shell.pipe("echo no more >&2; exit 3"):
            pass


async def test_stream_ends_with_its_near_end_and_leaves_no_terminal(
    shell: RentedShell, peer: DaytonaPeer
) -> None:
    near, far = socket.socketpair()
    near.setblocking(False)
    far.setblocking(False)
    loop = asyncio.get_running_loop()
    carried = loop.create_task(shell.stream("cat", near=far))
    await loop.sock_sendall(near, b"\x03\x04\x11\x13\0\r\n")
    got = b""
    while len(got) < 7:
        got += await loop.sock_recv(near, 100)
    assert got == b"\x03\x04\x11\x13\0\r\n"
    near.close()
    assert await carried == ""
    far.close()
    assert peer.processes.terminals == {}


async def test_cut_is_told(shell: RentedShell, peer: DaytonaPeer) -> None:
    script = 'touch "$HOME/runs"; sleep 100'
    running = asyncio.get_running_loop().create_task(shell.run(script, seconds=60))
    (machine,) = (sold.machine for sold in peer.live)
    assert machine is not None
    await asyncio.to_thread(until, (machine.home / "runs").exists, bool)
    peer.processes.cut()
    with pytest.raises(Unavailable, match="Daytona"):
        await running


def test_address_in_the_clear_is_refused() -> None:
    with pytest.raises(Invalid, match="https"):
        DaytonaSettings(api_url="http://api.example.com")
