"""Tests of the calls of any vendor when they go wrong: at most one machine for a sandbox, and
never somebody else's. A test of a vendor subclasses this, with the peer that plays it."""

import asyncio
import socket
import time
from collections.abc import Sequence
from functools import partial
from operator import le
from pathlib import Path
from typing import ClassVar, Protocol

import pytest

from atoll.adapters.rented.calls import USUAL, Patience
from atoll.adapters.rented.machines import Rentals, keep_renewed
from atoll.adapters.rented.records import Record, Records
from atoll.adapters.rented.vendor import Gone, RentedShell, Vendor
from atoll.domain.errors import Failed, Unavailable
from atoll.domain.ids import SandboxId
from atoll.ports.extension import VendorKey
from tests.peers.api import until
from tests.peers.clouds.faults import Fault, Faults

BOX = SandboxId("sb_aaaaaaaaaaaaaaaa")
OTHER = SandboxId("sb_bbbbbbbbbbbbbbbb")
STRAYS = 2_500
"""More than a page of any vendor's list."""

QUICK = Patience(call=3.0, total=9.0, first=0.05, longest=0.2)


class CloudMachine(Protocol):
    """A machine that a peer rented out."""

    id: str

    @property
    def tags(self) -> dict[str, str]: ...
    @property
    def is_closed(self) -> bool: ...


class CloudPeer(Protocol):
    """A vendor's peer."""

    faults: Faults
    rented: int
    forgets_tokens: bool
    lists_all: bool

    @property
    def live(self) -> Sequence[CloudMachine]: ...
    def advance(self, seconds: float) -> None: ...
    def deadline(self, sold: CloudMachine, /) -> float: ...
    def stray(self, count: int, metadata: dict[str, str]) -> None: ...


class Keys:
    """The keys that pay, as the store has them."""

    def __init__(self, *keys: VendorKey) -> None:
        self.by_id = list(keys)

    async def find(self, extension: str, sandbox: SandboxId | None) -> Sequence[VendorKey]:
        return tuple(self.by_id)


def ours(peer: CloudPeer) -> list[str]:
    return [one.id for one in peer.live if one.tags.get("atoll-sandbox") == BOX]


async def carry_until_closed(shell: RentedShell) -> None:
    """Send bytes through a stream and back, and end it at the near end. A stream that fails ends
    the wait for what it does not bring."""
    near, far = socket.socketpair()
    with far:
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            carried = tasks.create_task(shell.stream("exec cat", near=far))
            reader, writer = await asyncio.open_connection(sock=near)
            writer.write(b"there")
            assert await reader.readexactly(5) == b"there"
            writer.close()
            await writer.wait_closed()
            async with asyncio.timeout(20):
                assert await carried == ""


class VendorSide:
    """What the tests need of a vendor. `renewal` is the name of the call that moves a deadline,
    `step` how many seconds one holds at least; `keeps_doubles`: two creates at once may give two
    machines."""

    key: ClassVar[str]
    wrong_key: ClassVar[str]
    renewal: ClassVar[str]
    step: ClassVar[float]
    keeps_doubles: ClassVar[bool]
    template: ClassVar[str] = "base"

    @pytest.fixture
    def patience(self) -> Patience:
        return QUICK

    @pytest.fixture
    def vendor(self) -> Vendor:
        raise NotImplementedError

    @pytest.fixture
    def keys(self) -> Keys:
        return Keys(VendorKey("sec_mine", self.key))

    @pytest.fixture
    def rentals(self, vendor: Vendor, keys: Keys, tmp_path: Path) -> Rentals:
        records = Records(tmp_path / "rented")
        return Rentals("ext.cloud", vendor, "atoll-test", records, keys.find, "one")


class VendorCalls(VendorSide):
    """The tests."""

    async def test_machine_is_rented_closed_with_tags_and_a_deadline(
        self, rentals: Rentals, peer: CloudPeer
    ) -> None:
        rented = await rentals.rent(BOX, self.template)
        again = await rentals.rent(BOX, self.template)
        assert (again.machine, peer.rented) == (rented.machine, 1)
        (sold,) = peer.live
        assert sold.is_closed
        tags = {"atoll": "atoll-test", "atoll-sandbox": BOX, "atoll-installation": "one"}
        assert sold.tags == tags
        assert 0 < peer.deadline(sold) <= 1800
        assert await rentals.end(BOX) == (True, "")
        assert await rentals.end(BOX) == (False, "")

    async def test_machine_of_another_installation_is_none_of_ours(
        self, rentals: Rentals, peer: CloudPeer
    ) -> None:
        """A home of the same path, on another machine, may use the same key."""
        rented = await rentals.rent(BOX, self.template)
        usual = {"atoll": "atoll-test", "atoll-sandbox": OTHER}
        peer.stray(1, {**usual, "atoll-installation": "another"})
        peer.stray(1, usual)
        assert [place.id for place in await rentals.everything()] == [rented.machine]
        assert await rentals.end(BOX) == (True, "")

    @pytest.mark.parametrize("fault", [Fault.LOST, Fault.HALF])
    async def test_create_whose_answer_is_lost_is_looked_up_first(
        self, rentals: Rentals, peer: CloudPeer, fault: Fault
    ) -> None:
        peer.faults.plan("create", fault)
        rented = await rentals.rent(BOX, self.template)
        assert ours(peer) == [rented.machine]
        assert peer.rented == 1

    @pytest.mark.parametrize("fault", [Fault.BUSY, Fault.BROKEN, Fault.HANGS])
    async def test_create_that_is_refused_for_a_while_gives_one_machine(
        self, rentals: Rentals, peer: CloudPeer, fault: Fault
    ) -> None:
        peer.faults.plan("create", fault, fault)
        rented = await rentals.rent(BOX, self.template)
        assert (ours(peer), peer.rented) == ([rented.machine], 1)

    async def test_wanted_pause_is_kept(self, rentals: Rentals, peer: CloudPeer) -> None:
        peer.faults.retry_after = 1
        peer.faults.plan("create", Fault.BUSY)
        began = time.monotonic()
        await rentals.rent(BOX, self.template)
        assert time.monotonic() - began >= 1
        assert peer.faults.count("create") == 2

    async def test_storm_without_an_end_is_told_and_rents_nothing(
        self, rentals: Rentals, peer: CloudPeer
    ) -> None:
        peer.faults.plan("create", *[Fault.BUSY] * 1000)
        with pytest.raises(Unavailable, match=rentals.vendor.title):
            await rentals.rent(BOX, self.template)
        assert peer.rented == 0
        peer.faults.planned.clear()
        assert (await rentals.rent(BOX, self.template)).machine == ours(peer)[0]

    @pytest.mark.parametrize("forgets", [False, True])
    async def test_interrupted_create_is_sent_again_by_its_token(
        self, rentals: Rentals, peer: CloudPeer, keys: Keys, forgets: bool
    ) -> None:
        """The first one is still under way when the next is sent, as after a crash of ours."""
        peer.forgets_tokens = forgets
        wanted = 1 + (forgets and self.keeps_doubles)

        def gate(name: str, when: str) -> None:
            if (name, when) == ("create", "before") and peer.faults.count("create") == 1:
                assert peer.faults.released.wait(20)
            elif name == "create":
                peer.faults.released.set()

        peer.faults.gate = gate
        first = asyncio.get_running_loop().create_task(rentals.rent(BOX, self.template))
        await asyncio.to_thread(until, lambda: peer.faults.count("create"), bool)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        record = rentals.records.read(BOX)
        assert record == Record("sec_mine", record.token if record else "")
        rented = await rentals.rent(BOX, self.template)
        await asyncio.to_thread(until, lambda: peer.rented, lambda count: count == wanted)
        assert (await rentals.rent(BOX, self.template)).machine == rented.machine
        assert ours(peer) == [rented.machine]

    async def test_list_that_breaks_once_is_asked_again(
        self, rentals: Rentals, peer: CloudPeer
    ) -> None:
        await rentals.rent(BOX, self.template)
        rented = peer.faults.count("list")
        whole = await rentals.everything()
        listed = peer.faults.count("list")
        peer.faults.plan("list", Fault.LOST, Fault.HALF)
        assert await rentals.everything() == whole
        assert peer.faults.count("list") - listed == listed - rented + 2

    async def test_list_that_is_half_an_answer_rents_nothing(
        self, rentals: Rentals, peer: CloudPeer
    ) -> None:
        peer.faults.plan("list", *[Fault.HALF] * 10)
        with pytest.raises(Unavailable):
            await rentals.rent(BOX, self.template)
        assert peer.rented == 0

    async def test_refused_key_is_told_without_the_key(
        self, rentals: Rentals, peer: CloudPeer, keys: Keys
    ) -> None:
        keys.by_id = [VendorKey("sec_mine", self.wrong_key)]
        with pytest.raises(Failed) as caught:
            await rentals.rent(BOX, self.template)
        assert "canary" not in caught.value.message
        assert "canary" not in repr(keys.by_id)
        keys.by_id = []
        with pytest.raises(Failed, match="has no key"):
            await rentals.rent(BOX, self.template)
        assert peer.rented == 0

    async def test_machine_of_a_key_that_is_gone_is_told(
        self, rentals: Rentals, keys: Keys
    ) -> None:
        await rentals.rent(BOX, self.template)
        keys.by_id = [VendorKey("sec_other", self.key)]
        ended, left = await rentals.end(BOX)
        assert not ended
        assert "within 30 minutes" in left

    async def test_listing_that_names_others_machines_ends_none_of_them(
        self, rentals: Rentals, peer: CloudPeer
    ) -> None:
        peer.stray(5, {"atoll": "another-home", "atoll-sandbox": BOX})
        peer.stray(5, {})
        peer.lists_all = True
        rented = await rentals.rent(BOX, self.template)
        assert len(peer.live) == 11
        assert await rentals.end(BOX) == (True, "")
        assert len(peer.live) == 10
        assert rented.machine not in {one.id for one in peer.live}

    # Nothing fails here, and a page of a list takes seconds on a machine that is busy.
    @pytest.mark.parametrize("patience", [USUAL], ids=["usual"])
    @pytest.mark.timeout(240)
    async def test_thousands_of_strays_are_listed(self, rentals: Rentals, peer: CloudPeer) -> None:
        tags = {"atoll": "atoll-test", "atoll-sandbox": "sb_gone", "atoll-installation": "one"}
        peer.stray(STRAYS, tags)
        peer.stray(10, {"atoll": "another-home"})
        found = await rentals.everything()
        assert len(found) == STRAYS
        rented = await rentals.rent(BOX, self.template)
        assert rented.machine not in {one.id for one in found}
        for stray in found[:20]:
            assert await rentals.end_place(stray)
            assert not await rentals.end_place(stray)
        assert len(peer.live) == STRAYS - 20 + 1 + 10
        assert peer.rented == 1

    async def test_deadline_moves_while_it_is_renewed_and_ends_the_machine_after(
        self, rentals: Rentals, peer: CloudPeer
    ) -> None:
        rented = await rentals.rent(BOX, self.template)
        renewal = asyncio.get_running_loop().create_task(
            keep_renewed(rentals.vendor, rented, every=0.02)
        )
        for _ in range(4):
            peer.advance(self.step)
            before = peer.faults.count(self.renewal)
            enough = before + 2
            count = partial(peer.faults.count, self.renewal)
            await asyncio.to_thread(until, count, partial(le, enough))
        assert ours(peer) == [rented.machine]
        renewal.cancel()
        await asyncio.gather(renewal, return_exceptions=True)
        peer.advance(1801)
        assert ours(peer) == []
        with pytest.raises(Gone):
            await rentals.vendor.renew(rented.key, rented.machine, 60)
        assert not await rentals.vendor.end(rented.key, rented.machine)
