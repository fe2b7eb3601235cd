"""The calls of a Worker when they go wrong, against the bridge's own code over containers here."""

import asyncio
import random
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from atoll.adapters.extensions.cloudflare.settings import CloudflareSettings
from atoll.adapters.extensions.cloudflare.vendor import CloudflareVendor
from atoll.adapters.rented.calls import Patience
from atoll.adapters.rented.machines import Rentals
from atoll.adapters.rented.vendor import Gone, Order, RentedShell, Vendor
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.ports.extension import VendorKey
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import install
from tests.adapters.extensions.vendor_calls import (
    BOX,
    QUICK,
    Keys,
    VendorCalls,
    VendorSide,
    carry_until_closed,
)
from tests.peers.clouds.cloudflare import KEY, CloudflarePeer, cloudflare_peer, lacking
from tests.peers.clouds.faults import Fault
from tests.peers.clouds.machine import FAR_TIER

pytestmark = pytest.mark.skipif(bool(lacking()), reason=str(lacking()))

MINE = VendorKey("sec_mine", KEY)


@pytest.fixture(scope="module")
def standing() -> Iterator[CloudflarePeer]:
    with cloudflare_peer() as running:
        yield running


@pytest.fixture
def peer() -> Iterator[CloudflarePeer]:
    with cloudflare_peer() as running:
        yield running


class Cloudflare(VendorSide):
    key = KEY
    wrong_key = "wrong-canary-of-a-key"
    renewal = "renew"
    step = 900
    keeps_doubles = False
    template = "Sandbox"

    @pytest.fixture
    def vendor(self, peer: CloudflarePeer, tmp_path: Path, patience: Patience) -> Vendor:
        install(Home(tmp_path / "home"))
        return CloudflareVendor(peer.url, tmp_path / "home" / "run" / "bin" / "far.tar", patience)


class TestCloudflareCalls(Cloudflare, VendorCalls):
    """Each test starts a Worker, which takes seconds."""

    pytestmark: ClassVar = [*FAR_TIER]


class TestCloudflareVendor(Cloudflare):
    @pytest.fixture
    def patience(self) -> Patience:
        # Nothing hangs here, and a terminal takes seconds to begin on a machine that is busy.
        return replace(QUICK, call=30.0, total=60.0)

    @pytest.fixture
    def peer(self, standing: CloudflarePeer) -> Iterator[CloudflarePeer]:
        yield standing
        standing.empty()

    @pytest.fixture
    async def shell(self, rentals: Rentals) -> RentedShell:
        rented = await rentals.rent(BOX, "Sandbox")
        return await rentals.vendor.shell(rented.key, rented.machine)

    async def test_empty_key_is_refused_without_a_call(
        self, rentals: Rentals, peer: CloudflarePeer, keys: Keys
    ) -> None:
        keys.by_id = [VendorKey("sec_mine", "")]
        with pytest.raises(Failed, match="empty"):
            await rentals.rent(BOX, "Sandbox")
        assert peer.faults.calls == []

    async def test_class_of_containers_is_the_template(
        self, vendor: Vendor, peer: CloudflarePeer
    ) -> None:
        for template in ("SandboxOther", "SandboxNone"):
            order = Order(template, (), 60, f"{template:0<32}".encode().hex()[:32])
            if template == "SandboxNone":
                with pytest.raises(Failed, match="template"):
                    await vendor.create(MINE, order)
                continue
            made = await vendor.create(MINE, order)
            shell = await vendor.shell(MINE, made.id)
            assert (await shell.run("echo there", seconds=20)).output == b"there\n"
        assert peer.rented == 1

    async def test_scripts_run_as_an_ordinary_user_without_a_network(
        self, shell: RentedShell
    ) -> None:
        ran = await shell.run(
            "id -u; id -G; grep -c : /proc/net/dev; ls /workspace/.atoll/*/", seconds=20
        )
        assert ran.output.split()[:3] == [b"60001", b"60001", b"1"]
        again = await shell.run("echo x >>/workspace/.atoll/x", seconds=20)
        assert again.code != 0

    async def test_every_byte_goes_there_and_back(self, shell: RentedShell) -> None:
        data = random.Random(1).randbytes(3_000_000) + bytes(range(256))
        ran = await shell.run("cat; echo wrong >&2; exit 3", given=data, seconds=30)
        assert (ran.code, ran.output, ran.complaint) == (3, data, "wrong")

    async def test_script_that_fails_says_so(self, shell: RentedShell) -> None:
        with pytest.raises(Failed, match="no room"):
            async with shell.pipe("cat >/dev/null; echo no room >&2; exit 1") as into:
                into.write(b"something")
        with pytest.raises(Failed, match="ended with -9"):
            async for _ in shell.fetch("kill -9 $$"):
                pass
        with pytest.raises(Unavailable, match="did not answer"):
            await shell.run("sleep 60", seconds=0.5)

    async def test_script_that_reads_nothing_ends_well(self, shell: RentedShell) -> None:
        ran = await shell.run("exec <&-; echo done", given=bytes(2_000_000), seconds=30)
        assert (ran.code, ran.output) == (0, b"done\n")

    async def test_stream_carries_until_the_near_end_closes(self, shell: RentedShell) -> None:
        await carry_until_closed(shell)

    async def test_terminal_that_is_cut_ends_the_stream_and_its_program(
        self, shell: RentedShell, peer: CloudflarePeer
    ) -> None:
        near, far = socket.socketpair()
        carried = asyncio.get_running_loop().create_task(
            shell.stream("echo $$; exec sleep 1000", near=far)
        )
        reader, writer = await asyncio.open_connection(sock=near)
        async with asyncio.timeout(60):
            assert await reader.readline()
        peer.cut()
        with pytest.raises(Unavailable):
            await carried
        writer.close()
        await writer.wait_closed()
        far.close()
        # The machine's own one stays. What has ended may wait for somebody to look.
        alive = "alive() { ps -C sleep -o stat= | grep -vc Z; }"
        wait = "n=0; while [ $(alive) != 1 ] && [ $n -lt 150 ]; do sleep 0.1; n=$((n+1)); done"
        assert (await shell.run(f"{alive}; {wait}; alive", seconds=20)).output == b"1\n"

    @pytest.mark.parametrize("noise", [b"noise\n", b"~AAAA\n", b"\xff" * 40_000])
    async def test_terminal_that_says_what_is_no_armour_ends_a_command(
        self, shell: RentedShell, peer: CloudflarePeer, noise: bytes
    ) -> None:
        peer.noise = noise
        with pytest.raises(Unavailable):
            await shell.run("echo begun; sleep 1000", seconds=20)
        peer.noise = b""
        assert (await shell.run("echo on", seconds=20)).output == b"on\n"

    async def test_machine_that_ended_is_gone_for_every_call(
        self, shell: RentedShell, rentals: Rentals, peer: CloudflarePeer
    ) -> None:
        (sold,) = peer.live
        peer.end(sold)
        with pytest.raises(Gone):
            await shell.run("true", seconds=10)
        with pytest.raises(Gone):
            await rentals.vendor.renew(MINE, sold.id, 60)
        with pytest.raises(Gone):
            await rentals.vendor.shell(MINE, sold.id)
        assert peer.live == []
        assert (await rentals.rent(BOX, "Sandbox")).machine != sold.id
        assert len(peer.live) == 1

    async def test_end_that_is_refused_is_tried_again(
        self, rentals: Rentals, peer: CloudflarePeer
    ) -> None:
        await rentals.rent(BOX, "Sandbox")
        peer.faults.plan("end", Fault.BUSY, Fault.BROKEN)
        assert await rentals.end(BOX) == (True, "")
        assert peer.live == []


def test_address_in_the_clear_is_refused() -> None:
    with pytest.raises(Invalid, match="https"):
        CloudflareSettings(url="http://worker.example.com")
