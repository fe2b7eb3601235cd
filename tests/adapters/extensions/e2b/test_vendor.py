"""E2B's calls when they go wrong: at most one machine for a sandbox, and never somebody else's."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from functools import partial
from operator import le
from pathlib import Path

import pytest

from atoll.adapters.extensions.e2b.settings import E2bSettings
from atoll.adapters.extensions.e2b.vendor import E2bVendor
from atoll.adapters.rented.calls import Patience
from atoll.adapters.rented.machines import Rentals, renewed
from atoll.adapters.rented.records import Record, Records
from atoll.adapters.rented.vendor import Gone
from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.domain.ids import SandboxId
from atoll.ports.extension import VendorKey
from tests.peers.api import until
from tests.peers.clouds.e2b import KEY, E2bPeer, e2b_peer
from tests.peers.clouds.faults import Fault
from tests.peers.clouds.machine import missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))

BOX = SandboxId("sb_aaaaaaaaaaaaaaaa")
QUICK = Patience(call=2.0, total=6.0, first=0.05, longest=0.2)


class Keys:
    """The keys that pay, as the store has them."""

    def __init__(self, *keys: VendorKey) -> None:
        self.known = list(keys)

    async def find(self, extension: str, sandbox: SandboxId | None) -> Sequence[VendorKey]:
        return tuple(self.known)


@pytest.fixture
def peer() -> Iterator[E2bPeer]:
    with e2b_peer() as running:
        yield running


@pytest.fixture
def keys() -> Keys:
    return Keys(VendorKey("sec_mine", KEY))


@pytest.fixture
def rentals(peer: E2bPeer, keys: Keys, tmp_path: Path) -> Rentals:
    settings = E2bSettings(api_url=peer.url, sandbox_url=peer.url)
    vendor = E2bVendor(settings, QUICK)
    return Rentals("ext.e2b", vendor, "atoll-test", Records(tmp_path / "rented"), keys.find)


def ours(peer: E2bPeer) -> list[str]:
    return [one.id for one in peer.live if one.body["metadata"].get("atoll-sandbox") == BOX]


async def test_machine_is_rented_closed_with_tags_and_a_deadline(
    rentals: Rentals, peer: E2bPeer
) -> None:
    rented = await rentals.rent(BOX, "base")
    again = await rentals.rent(BOX, "base")
    assert (again.machine, peer.rented) == (rented.machine, 1)
    (sold,) = peer.live
    assert sold.body["allow_internet_access"] is False
    assert sold.body["metadata"] == {"atoll": "atoll-test", "atoll-sandbox": BOX}
    assert 0 < sold.ends_at - time.time() <= 1800
    assert await rentals.end(BOX) == (True, "")
    assert await rentals.end(BOX) == (False, "")


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.HALF])
async def test_create_whose_answer_is_lost_is_looked_up_first(
    rentals: Rentals, peer: E2bPeer, fault: Fault
) -> None:
    peer.faults.plan("create", fault)
    rented = await rentals.rent(BOX, "base")
    assert ours(peer) == [rented.machine]
    assert (peer.rented, peer.faults.count("create")) == (1, 1)


@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.BROKEN, Fault.HANGS])
async def test_create_that_is_refused_for_a_while_gives_one_machine(
    rentals: Rentals, peer: E2bPeer, fault: Fault
) -> None:
    peer.faults.plan("create", fault, fault)
    rented = await rentals.rent(BOX, "base")
    assert (ours(peer), peer.rented) == ([rented.machine], 1)


async def test_wanted_pause_is_kept(rentals: Rentals, peer: E2bPeer) -> None:
    peer.faults.retry_after = 1
    peer.faults.plan("create", Fault.BUSY)
    began = time.monotonic()
    await rentals.rent(BOX, "base")
    assert time.monotonic() - began >= 1
    assert peer.faults.count("create") == 2


async def test_storm_without_an_end_is_told_and_rents_nothing(
    rentals: Rentals, peer: E2bPeer
) -> None:
    peer.faults.plan("create", *[Fault.BUSY] * 1000)
    with pytest.raises(Unavailable, match="E2B"):
        await rentals.rent(BOX, "base")
    assert peer.rented == 0
    peer.faults.planned.clear()
    assert (await rentals.rent(BOX, "base")).machine == ours(peer)[0]


@pytest.mark.parametrize("forgets", [False, True])
async def test_interrupted_create_is_sent_again_by_its_token(
    rentals: Rentals, peer: E2bPeer, keys: Keys, forgets: bool
) -> None:
    """The first one is still under way when the next is sent, as after a crash of ours."""
    peer.forgets_tokens = forgets

    def gate(name: str, when: str) -> None:
        if (name, when) == ("create", "before") and peer.faults.count("create") == 1:
            assert peer.faults.released.wait(20)
        elif name == "create":
            peer.faults.released.set()

    peer.faults.gate = gate
    first = asyncio.get_running_loop().create_task(rentals.rent(BOX, "base"))
    await asyncio.to_thread(until, lambda: peer.faults.count("create"), bool)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    record = rentals.records.read(BOX)
    assert record == Record("sec_mine", record.token if record else "")
    rented = await rentals.rent(BOX, "base")
    await asyncio.to_thread(until, lambda: peer.rented, lambda count: count == 1 + forgets)
    assert (await rentals.rent(BOX, "base")).machine == rented.machine
    assert ours(peer) == [rented.machine]


async def test_list_that_is_half_an_answer_rents_nothing(rentals: Rentals, peer: E2bPeer) -> None:
    peer.faults.plan("list", Fault.HALF)
    with pytest.raises(Unavailable):
        await rentals.rent(BOX, "base")
    assert peer.rented == 0


async def test_refused_key_is_told_without_the_key(
    rentals: Rentals, peer: E2bPeer, keys: Keys
) -> None:
    keys.known = [VendorKey("sec_mine", "e2b_wrong-canary-of-a-key")]
    with pytest.raises(Failed) as caught:
        await rentals.rent(BOX, "base")
    assert "e2b_wrong" not in caught.value.message
    assert "e2b_wrong" not in repr(keys.known)
    keys.known = []
    with pytest.raises(Failed, match="has no key"):
        await rentals.rent(BOX, "base")
    assert peer.rented == 0


async def test_machine_of_a_key_that_is_gone_is_told(rentals: Rentals, keys: Keys) -> None:
    await rentals.rent(BOX, "base")
    keys.known = [VendorKey("sec_other", KEY)]
    ended, left = await rentals.end(BOX)
    assert not ended
    assert "within 30 minutes" in left


async def test_listing_that_names_others_machines_ends_none_of_them(
    rentals: Rentals, peer: E2bPeer
) -> None:
    peer.stray(5, {"atoll": "another-home", "atoll-sandbox": BOX})
    peer.stray(5, {})
    peer.lists_all = True
    rented = await rentals.rent(BOX, "base")
    assert len(peer.live) == 11
    assert await rentals.end(BOX) == (True, "")
    assert len(peer.live) == 10
    assert rented.machine not in peer.sold


@pytest.mark.timeout(120)
async def test_ten_thousand_strays_are_listed(rentals: Rentals, peer: E2bPeer) -> None:
    peer.stray(10_000, {"atoll": "atoll-test", "atoll-sandbox": "sb_gone"})
    peer.stray(10, {"atoll": "another-home"})
    found = await rentals.everything()
    assert len(found) == 10_000
    rented = await rentals.rent(BOX, "base")
    assert rented.machine not in {one.id for one in found}
    for stray in found[:20]:
        assert await rentals.end_place(stray)
        assert not await rentals.end_place(stray)
    assert len(await rentals.everything()) == 10_000 - 20 + 1
    assert peer.rented == 1


async def test_deadline_moves_while_it_is_renewed_and_ends_the_machine_after(
    rentals: Rentals, peer: E2bPeer
) -> None:
    rented = await rentals.rent(BOX, "base")
    renewal = asyncio.get_running_loop().create_task(renewed(rentals.vendor, rented, every=0.02))
    for _ in range(4):
        peer.advance(900)
        before = peer.faults.count("timeout")
        enough = before + 2
        count = partial(peer.faults.count, "timeout")
        await asyncio.to_thread(until, count, partial(le, enough))
    assert ours(peer) == [rented.machine]
    renewal.cancel()
    await asyncio.gather(renewal, return_exceptions=True)
    peer.advance(1801)
    assert ours(peer) == []
    with pytest.raises(Gone):
        await rentals.vendor.renew(rented.key, rented.machine, 60)
    assert not await rentals.vendor.end(rented.key, rented.machine)


async def test_environment_of_the_process_pays_for_nothing(
    rentals: Rentals, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("E2B_API_KEY", KEY)
    keys.known = [VendorKey("sec_mine", "")]
    with pytest.raises(Failed, match="empty"):
        await rentals.rent(BOX, "base")


def test_address_in_the_clear_is_refused() -> None:
    with pytest.raises(Invalid, match="https"):
        E2bSettings(api_url="http://api.example.com")
