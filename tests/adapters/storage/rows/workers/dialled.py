"""Checks of the rows of dialled hosts: leases, offers, and entries."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, DesktopId, PrincipalId, WorkerKey
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.dialled import HostAct, HostLease, LeaseState
from atoll.domain.workers.ledger import RequestRefusal, Response
from atoll.ports import Store
from atoll.ports.outside.worker_host import HostEntry
from atoll.ports.store.workers.dialled import SealedOffer
from atoll.ports.vault import Sealed
from atoll.testing.samples import NOW
from atoll.wire.words.workers import ErrorCode

ADA = PrincipalId("ada")
HERE, THERE = DesktopId("dk_a"), DesktopId("dk_b")
KEY = WorkerKey("wk_a")


def lease(epoch: int = 1, desktop_id: DesktopId = HERE, key: WorkerKey = KEY) -> HostLease:
    """Return a lease with something in every field."""
    return HostLease(
        *(key, epoch, desktop_id, PERSONAL_ORG, ADA, WorkerId("w"), f"{key}-{epoch}", NOW),
        state=LeaseState.GONE,
        heard_at=NOW + timedelta(seconds=1),
        received=7,
        agent_id="a1",
        reason="it ended",
    )


def offer(request_id: str, epoch: int = 1, desktop_id: DesktopId = HERE) -> SealedOffer:
    """Return an offer with bytes that are no text."""
    sealed = Sealed("k1", b"\x00\xff", request_id.encode() + b"\x00")
    return SealedOffer(desktop_id, KEY, WorkerId("w"), epoch, request_id, sealed)


async def check_leases_are_found_by_epoch_and_by_token(store: Store) -> None:
    """A worker has one in each epoch."""
    other = lease(1, THERE, WorkerKey("wk_b"))
    async with store.begin() as rows:
        await rows.host_leases.put(replace(lease(), received=0))
        for one in (lease(), lease(2), other):
            await rows.host_leases.put(one)
    async with store.begin() as rows:
        assert await rows.host_leases.get(KEY, 1) == lease()
        assert await rows.host_leases.newest(KEY) == lease(2)
        assert await rows.host_leases.by_mark(other.mark) == other
        assert await rows.host_leases.of_desktop(HERE) == [lease(), lease(2)]
        await rows.host_leases.remove(KEY)
        assert await rows.host_leases.get(KEY, 1) is None
        assert await rows.host_leases.newest(KEY) is None
        assert await rows.host_leases.by_mark(lease().mark) is None


async def check_offers_have_one_number_each_and_never_again(store: Store) -> None:
    """Also after the newest one was removed."""
    async with store.begin() as rows:
        for one in ("a", "b", "a"):
            await rows.host_offers.add(offer(one))
        await rows.host_offers.add(offer("a", 2, THERE))
        first, second = await rows.host_offers.page(HERE, 0, 10)
        assert (first.request_id, second.request_id) == ("a", "b")
        assert replace(first, number=0) == offer("a")
        await rows.host_offers.put(replace(first, sealed=Sealed("k2", b"w", b"b")))
        for _ in range(2):
            await rows.host_offers.remove(KEY, 1, "b")
    async with store.begin() as rows:
        await rows.host_offers.add(offer("c"))
        assert [one.request_id for one in await rows.host_offers.page(HERE, 0, 1)] == ["a"]
        (third,) = await rows.host_offers.page(HERE, second.number, 10)
        assert (third.request_id, third.number > second.number) == ("c", True)
        found = await rows.host_offers.everything()
        assert [one.request_id for one in found] == ["a", "c", "a"]
        assert found[0].sealed == Sealed("k2", b"w", b"b")
        await rows.host_offers.clear(KEY)
        assert await rows.host_offers.everything() == []


async def check_entries_are_kept_until_they_are_freed(store: Store) -> None:
    """Freeing removes entries of earlier epochs, too."""
    refusal = RequestRefusal(ErrorCode.INVALID_REQUEST, "why", '{"code":1}')
    entries = [
        HostEntry(1, NOW, request_id=HostAct.START, receipt=Response("{}")),
        HostEntry(2, NOW, line='{"method":"a\\u0000"}'),
        HostEntry(3, NOW, request_id="r", receipt=refusal),
    ]
    async with store.begin() as rows:
        await rows.host_entries.add(KEY, 1, entries[:1])
        await rows.host_entries.add(KEY, 2, entries)
        await rows.host_entries.add(KEY, 2, ())
    async with store.begin() as rows:
        assert await rows.host_entries.page(KEY, 2, 0, 10) == entries
        assert await rows.host_entries.page(KEY, 2, 1, 1) == entries[1:2]
        assert await rows.host_entries.size(KEY, 2) > sum(len(one.line) for one in entries)
        assert await rows.host_entries.size(KEY, 3) == 0
        assert await rows.host_entries.answer(KEY, 2, "r") == entries[2]
        assert await rows.host_entries.answer(KEY, 1, "r") is None
        await rows.host_entries.free(KEY, 2, 2)
        assert await rows.host_entries.page(KEY, 2, 0, 10) == entries[2:]
        assert await rows.host_entries.page(KEY, 1, 0, 10) == []
        await rows.host_entries.clear(KEY)
        assert await rows.host_entries.page(KEY, 2, 0, 10) == []


async def check_pages_of_large_entries_are_short(store: Store) -> None:
    """A host that floods does not fill the memory of who reads."""
    large = [HostEntry(n, NOW, line="x" * 4 * 2**20) for n in range(1, 8)]
    async with store.begin() as rows:
        await rows.host_entries.add(KEY, 1, large)
    async with store.begin() as rows:
        page = await rows.host_entries.page(KEY, 1, 0, 200)
        assert 0 < len(page) < len(large)
        assert [one.n for one in page] == [*range(1, len(page) + 1)]
        huge = HostEntry(8, NOW, line="x" * 20 * 2**20)
        await rows.host_entries.add(KEY, 1, [huge])
        assert [one.n for one in await rows.host_entries.page(KEY, 1, 7, 200)] == [8]
