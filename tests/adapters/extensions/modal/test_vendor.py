"""Modal's calls when they go wrong, against a peer on Modal's own wheel."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Iterator

import pytest

from atoll.adapters.extensions.modal.settings import ModalSettings
from atoll.adapters.extensions.modal.vendor import ModalVendor
from atoll.adapters.rented.calls import USUAL, Patience
from atoll.adapters.rented.machines import Rentals
from atoll.adapters.rented.vendor import Gone, RentedShell, Vendor
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.ports.extension import VendorKey
from tests.adapters.extensions.vendor_calls import BOX, Keys, VendorCalls, carry_until_closed
from tests.peers.clouds.faults import Fault
from tests.peers.clouds.machine import missing
from tests.peers.clouds.modal import KEY, SECRET, ModalPeer, modal_peer

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))

IMAGE = "python:3.12-slim-bookworm"


@pytest.fixture
def peer() -> Iterator[ModalPeer]:
    with modal_peer() as running:
        yield running


class TestModalVendor(VendorCalls):
    key = KEY
    wrong_key = "ak-wrong:as-wrong-canary-of-a-key"
    renewal = "exec"
    step = 450
    keeps_doubles = False

    @pytest.fixture
    async def vendor(self, peer: ModalPeer, patience: Patience) -> AsyncIterator[Vendor]:
        made = ModalVendor(ModalSettings(server_url=peer.url), patience)
        yield made
        await made.close()

    @pytest.fixture
    async def shell(self, rentals: Rentals) -> RentedShell:
        rented = await rentals.rent(BOX, IMAGE)
        return await rentals.vendor.shell(rented.key, rented.machine)

    async def test_key_without_its_second_half_is_refused_without_a_call(
        self, rentals: Rentals, peer: ModalPeer, keys: Keys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MODAL_TOKEN_ID", "ak-0123456789")
        monkeypatch.setenv("MODAL_TOKEN_SECRET", SECRET)
        for value in ("", "ak-only", ":as-canary", "ak-only:"):
            keys.by_id = [VendorKey("sec_mine", value)]
            with pytest.raises(Failed, match="TOKEN_ID:TOKEN_SECRET") as caught:
                await rentals.rent(BOX, IMAGE)
            assert "canary" not in caught.value.message
        assert peer.faults.calls == []

    async def test_image_that_modal_does_not_have_is_refused_for_good(
        self, rentals: Rentals, peer: ModalPeer
    ) -> None:
        with pytest.raises(Failed, match="no such image"):
            await rentals.rent(BOX, "im-unknown")
        assert (peer.rented, rentals.records.read(BOX)) == (0, None)
        await rentals.rent(BOX, "im-known")
        assert peer.rented == 1

    async def test_list_that_fails_in_its_midst_begins_anew(
        self, rentals: Rentals, peer: ModalPeer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tests.peers.clouds.modal.PAGE", 100)
        ours = {"atoll": "atoll-test", "atoll-installation": rentals.installation}
        peer.stray(350, {**ours, "atoll-sandbox": "sb_gone"})
        # The third page: the library itself does not wait for what names no pause.
        pages = iter([None, None, Fault.BUSY])
        peer.faults.next = lambda name: next(pages, None) if name == "list" else None  # type: ignore[method-assign]
        assert len(await rentals.everything()) == 350

    async def test_every_byte_goes_there_and_back(self, shell: RentedShell) -> None:
        data = random.Random(1).randbytes(3_000_000) + bytes(range(256))
        ran = await shell.run("cat; echo wrong >&2; exit 3", given=data, seconds=30)
        assert (ran.code, ran.output, ran.complaint) == (3, data, "wrong")

    async def test_calls_that_are_cut_lose_and_repeat_nothing(
        self, shell: RentedShell, peer: ModalPeer
    ) -> None:
        peer.faults.plan("input answer", *[Fault.LOST] * 5)
        peer.faults.plan("cut", *[Fault.LOST] * 20)
        peer.faults.plan("exec", Fault.BROKEN)
        data = random.Random(2).randbytes(2_000_000)
        ran = await shell.run("cat", given=data, seconds=30)
        assert (ran.code, ran.output) == (0, data)
        assert not any(peer.faults.planned.values())

    async def test_script_that_reads_nothing_ends_well(self, shell: RentedShell) -> None:
        ran = await shell.run("exec <&-; echo done", given=bytes(2_000_000), seconds=30)
        assert (ran.code, ran.output) == (0, b"done\n")

    async def test_script_that_fails_says_so(self, shell: RentedShell) -> None:
        with pytest.raises(Failed, match="no room"):
            async with shell.pipe("cat >/dev/null; echo no room >&2; exit 1") as into:
                into.write(b"something")
        with pytest.raises(Failed, match="ended with 137"):
            async for _ in shell.fetch("kill -9 $$"):
                pass
        with pytest.raises(Unavailable, match="did not answer"):
            await shell.run("sleep 60", seconds=0.5)

    @pytest.mark.parametrize("patience", [USUAL], ids=["usual"])
    async def test_stream_carries_until_the_near_end_closes(self, shell: RentedShell) -> None:
        await carry_until_closed(shell)

    async def test_machine_that_ended_is_gone_for_every_call(
        self, shell: RentedShell, rentals: Rentals, peer: ModalPeer
    ) -> None:
        (sold,) = peer.live
        key = VendorKey("sec_mine", KEY)
        peer.end(sold)
        with pytest.raises(Gone):
            await shell.run("true", seconds=10)
        with pytest.raises(Gone):
            await rentals.vendor.renew(key, sold.id, 60)
        with pytest.raises(Gone):
            await rentals.vendor.shell(key, sold.id)
        assert not await rentals.vendor.end(key, sold.id)

    async def test_process_of_ours_ends_with_its_time_and_the_machine_after(
        self, shell: RentedShell, peer: ModalPeer
    ) -> None:
        """Whatever still runs when we are gone: at most 30 minutes are paid for."""
        near, far = socket.socketpair()
        carried = asyncio.get_running_loop().create_task(shell.stream("exec cat", near=far))
        reader, writer = await asyncio.open_connection(sock=near)
        writer.write(b"there")
        assert await reader.readexactly(5) == b"there"
        (sold,) = peer.live
        assert peer.deadline(sold) <= 1800
        peer.advance(1150)
        assert peer.live == [sold]
        peer.advance(100)
        assert peer.live == [sold]
        async with asyncio.timeout(20):
            assert await carried == ""
        writer.close()
        far.close()
        peer.advance(600)
        assert peer.live == []


def test_address_in_the_clear_is_refused() -> None:
    with pytest.raises(Invalid, match="https"):
        ModalSettings(server_url="http://api.example.com")
