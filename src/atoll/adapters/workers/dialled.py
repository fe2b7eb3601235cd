"""The host of workers on a person's own desktop, which dials out: nothing is sent to it.

What it shall do are offers, sealed at rest and gone with their receipt. What it delivers is kept as
entries until a stream has taken them. Both are rows, so any replica can serve the desktop.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar

from atoll.domain.errors import Failed, Invalid, Unavailable
from atoll.domain.ids import RouteId, SandboxId, WorkerKey
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.workers.desktop import Desktop
from atoll.domain.workers.dialled import (
    LEASE_TOKEN,
    FollowOffer,
    HoldOffer,
    HostAct,
    HostCommand,
    HostLease,
    LeaseState,
    RemoveOffer,
    ReturnOffer,
    StartOffer,
    StopOffer,
    begin_hand_over,
    delivery_stream,
    offer_binding,
    offer_stream,
    spell_command,
)
from atoll.domain.workers.heartbeat import LEASE, STALE_AFTER
from atoll.domain.workers.ledger import Receipt, WorkerRequest
from atoll.domain.workers.lifecycle import DurabilityMarkers, WorkerTornDown
from atoll.domain.workers.placement import desktop_place, desktop_reference
from atoll.domain.workers.record import WorkerRecord
from atoll.ports import Bus, Clock, Store, Transaction, Vault
from atoll.ports.outside.worker_host import HostEntry, HostPlace
from atoll.ports.store.workers.dialled import SealedOffer

T = TypeVar("T")

PAGE: Final = 200
LOOK_SECONDS: Final = 2.0
"""Between two looks, in case an announcement was lost."""
_UNSTARTED: Final = "Its desktop did not start it."


@dataclass(frozen=True, slots=True)
class Settings:
    """Bounds of the time that a desktop takes, in seconds."""

    start_seconds: float = 120.0
    end_seconds: float = 60.0
    hand_seconds: float = 25.0


class DialledHost:
    """The `ports.outside.worker_host.WorkerHost` on desktops. `grant` gives one a worker first."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        vault: Vault,
        *,
        clock: Clock,
        settings: Settings | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._vault = vault
        self._clock = clock
        self._settings = settings or Settings()
        self._seen: dict[WorkerKey, tuple[int, datetime | None]] = {}

    async def grant(
        self, worker: WorkerRecord, desktop: Desktop, *, route: RouteId | None = None
    ) -> None:
        """Give a desktop the lease on a worker in its epoch, and offer it the start. A repetition
        does nothing; leases of earlier epochs end. `route` is the decision that chose it."""
        token = LEASE_TOKEN + spell_secret(secrets.token_bytes(SECRET_BYTES))
        lease = HostLease(
            worker.key,
            worker.worker.epoch,
            desktop.id,
            worker.org_id,
            worker.owner,
            worker.created.worker_id,
            fingerprint(token),
            self._clock.now(),
            route=route,
        )
        reattachable = not worker.created.on_desktop
        async with self._store.begin() as rows:
            if await rows.host_leases.get(lease.key, lease.epoch) is not None:
                return
            await self._end_before(rows, worker)
            await rows.host_leases.put(lease)
            await self._add(rows, lease, HostAct.START, StartOffer(token, reattachable))
        self._bus.announce((offer_stream(desktop.id),))

    async def withdraw(self, worker: WorkerRecord) -> None:
        """End the leases on a worker that goes elsewhere: nothing of theirs is taken any more."""
        async with self._store.read() as rows:
            if await rows.host_leases.newest(worker.key) is None:
                return  # most workers never were on a desktop, and wait for no writer
        async with self._store.begin() as rows:
            await self._end_before(rows, worker)
            await self._end(rows, await rows.host_leases.get(worker.key, worker.worker.epoch))

    async def forget(self, worker: WorkerRecord) -> None:
        """Remove what is left of the leases on a worker."""
        async with self._store.begin() as rows:
            await self._forget(rows, worker)

    async def provision(self, worker: WorkerRecord) -> HostPlace:
        """See the port. The desktop makes the place when it starts the agent."""
        async with self._store.read() as rows:
            lease = await rows.host_leases.get(worker.key, worker.worker.epoch)
            before = await rows.host_leases.get(worker.key, worker.worker.epoch - 1)
        if lease is None:
            raise Failed(f"No desktop has the worker {worker.created.worker_id}.")
        reattached = before is not None and before.desktop_id == lease.desktop_id
        return HostPlace(place_of(lease), reattached)

    async def start_agent(self, worker: WorkerRecord) -> str:
        """See the port."""

        async def find_start_outcome() -> HostLease | None:
            """Return the lease once its desktop answered; None before."""
            lease = await self._lease(worker)
            return None if lease.state is LeaseState.GRANTED else lease

        lease = await self._wait(worker.key, find_start_outcome, self._settings.start_seconds)
        if lease is None:
            await self.withdraw(worker)
            raise Failed(
                f"Its desktop did not start it in {self._settings.start_seconds:g} s: is "
                "`atoll desktop run` there?"
            )
        if lease.state is LeaseState.INVALID:
            raise Invalid(lease.reason or _UNSTARTED)
        if lease.state is not LeaseState.SERVED:
            raise Failed(lease.reason or _UNSTARTED)
        return lease.agent_id

    async def request(
        self, worker: WorkerRecord, request: WorkerRequest, *, wait_ms: int
    ) -> Receipt | None:
        """See the port."""

        async def receipt() -> Receipt | None:
            async with self._store.read() as rows:
                return await _receipt(rows, worker, request.request_id)

        async with self._store.begin() as rows:
            found = await _receipt(rows, worker, request.request_id)
            lease = await rows.host_leases.get(worker.key, worker.worker.epoch)
            if found is None:
                if lease is None or lease.state is not LeaseState.SERVED:
                    raise _not_served_error(lease)
                await self._add(rows, lease, request.request_id, request)
        if found is not None or lease is None:
            return found
        self._bus.announce((offer_stream(lease.desktop_id),))
        return await self._wait(worker.key, receipt, wait_ms / 1000) if wait_ms else None

    async def stream(
        self, worker: WorkerRecord, after: int, *, wait_seconds: int
    ) -> Sequence[HostEntry]:
        """See the port. Returns nothing only when the desktop was heard meanwhile: each answer is
        a heartbeat. Raises `Unavailable` where it was not heard for a lease."""
        await self._free_entries(worker, after)
        if not wait_seconds:
            found = await self._page(worker, after)
            if not found and self._is_silent(await self._lease(worker)):
                raise Unavailable("Its desktop is not heard.")
            return found
        key, epoch = worker.key, worker.worker.epoch

        async def news() -> Sequence[HostEntry] | None:
            lease = await self._lease(worker)
            found = await self._page(worker, after)
            heard = self._seen.get(key) != (epoch, lease.heard_at) and not self._is_silent(lease)
            self._seen[key] = (epoch, lease.heard_at)
            if not found and not lease.serves:
                raise _not_served_error(lease)
            return found if found or heard else None

        found_news = await self._wait(key, news, LEASE.total_seconds())
        if found_news is None:
            raise Unavailable("Its desktop is not heard.")
        return found_news

    async def lost_reason(self, worker: WorkerRecord) -> str | None:
        """See the port. A desktop that is not heard may be back."""
        async with self._store.read() as rows:
            lease = await rows.host_leases.get(worker.key, worker.worker.epoch)
        if lease is not None and lease.serves:
            return None
        return _not_served_error(lease).message

    async def quiet(self, worker: WorkerRecord) -> None:
        """See the port. A desktop that is not there stops it when it is back."""
        async with self._store.begin() as rows:
            lease = await rows.host_leases.get(worker.key, worker.worker.epoch)
            if lease is None or not (lease.serves or lease.state is LeaseState.GONE):
                return
            if not await self._is_there(rows, lease):
                await self._end(rows, lease)
                return
            await self._add(rows, lease, HostAct.STOP, StopOffer())
        self._bus.announce((offer_stream(lease.desktop_id),))
        await self._wait_for_state(worker, LeaseState.STOPPED)

    async def stop(self, worker: WorkerRecord) -> DurabilityMarkers:
        """See the port. What the agent worked on stays on its desktop, and nothing is copied."""
        await self.quiet(worker)
        async with self._store.read() as rows:
            lease = await rows.host_leases.get(worker.key, worker.worker.epoch)
            if lease is None or not lease.agent_id:
                return DurabilityMarkers(0)
            place, name = await _place_names(rows, lease)
        unsaved = None
        if lease.state is not LeaseState.STOPPED:
            unsaved = (
                f"The desktop {name} was not heard: what its agent said last is lost. Its files "
                "stay there."
            )
        return DurabilityMarkers(
            0,
            workspace_ref=f"{place}/workspace",
            codex_home_ref=f"{place}/agent-home",
            unsaved=unsaved,
        )

    async def teardown(self, worker: WorkerRecord) -> WorkerTornDown:
        """See the port. The files on a desktop that is not there are left over; where the agent
        never started there are none."""
        async with self._store.begin() as rows:
            lease = await rows.host_leases.newest(worker.key)
            if lease is None:
                return WorkerTornDown(())
            place, _ = await _place_names(rows, lease)
            there = lease.state is LeaseState.STOPPED and await self._is_there(rows, lease)
            if there:
                await self._add(rows, lease, HostAct.REMOVE, RemoveOffer())
            elif lease.state is not LeaseState.REMOVED:
                leases = await rows.host_leases.of_desktop(lease.desktop_id)
                await self._forget(rows, worker)
                if not any(one.agent_id for one in leases if one.key == worker.key):
                    return WorkerTornDown(())
                return WorkerTornDown((), (f"{place}: that machine was not there",))
        if there:
            self._bus.announce((offer_stream(lease.desktop_id),))
            await self._wait_for_state(worker, LeaseState.REMOVED)
        async with self._store.begin() as rows:
            removed = await rows.host_leases.newest(worker.key)
            await self._forget(rows, worker)
        if removed is not None and removed.reason is not None:
            return WorkerTornDown((), (f"{place}: {removed.reason}",))
        return WorkerTornDown((place,))

    async def hold(self, worker: WorkerRecord, thread_id: str) -> str:
        """Have the desktop give a thread to a terminal of its person, and return its id; the same
        one when it is repeated while that runs. Raises `Failed` and `Unavailable`."""
        lease = await self._hand_over(worker, HostAct.HOLD, HoldOffer(thread_id))
        if lease.reason is not None:
            raise Failed(f"Its desktop opened no terminal: {lease.reason}")
        return lease.agent_id

    async def give_back(self, worker: WorkerRecord, thread_id: str) -> str:
        """Have the desktop end that terminal, and start the agent with the thread. Returns the id
        of the agent. Raises `Failed` where it cannot, and `Unavailable`."""
        lease = await self._hand_over(worker, HostAct.RETURN, ReturnOffer(thread_id))
        if lease.reason is not None:
            raise Failed(f"Its desktop did not start the agent again: {lease.reason}")
        return lease.agent_id

    async def follow(self, worker: WorkerRecord) -> None:
        """Have the desktop deliver pieces of text for a while. Raises `Unavailable`."""
        async with self._store.begin() as rows:
            lease = await rows.host_leases.get(worker.key, worker.worker.epoch)
            if lease is None or not lease.serves:
                raise _not_served_error(lease)
            await self._add(rows, lease, HostAct.FOLLOW, FollowOffer())
        self._bus.announce((offer_stream(lease.desktop_id),))

    async def _hand_over(
        self, worker: WorkerRecord, act: HostAct, command: HostCommand
    ) -> HostLease:
        """Offer a hand-over, and return the lease after its receipt. A repetition waits for the
        offer that is there. Raises `Unavailable`."""
        wanted = LeaseState.HELD if act is HostAct.HOLD else LeaseState.SERVED
        async with self._store.begin() as rows:
            lease = await rows.host_leases.get(worker.key, worker.worker.epoch)
            if lease is None or lease.state not in (LeaseState.SERVED, LeaseState.HELD):
                raise _not_served_error(lease)
            if act is HostAct.RETURN and lease.state is wanted and lease.reason is None:
                return lease
            await rows.host_leases.put(begin_hand_over(lease, act))
            await self._add(rows, lease, act, command)
        self._bus.announce((offer_stream(lease.desktop_id),))

        async def find_hand_over_outcome() -> HostLease | None:
            """Return the lease once its hand-over succeeded or was refused; None before."""
            found = await self._lease(worker)
            if not found.serves:
                raise _not_served_error(found)
            return found if found.state is wanted or found.reason is not None else None

        found = await self._wait(worker.key, find_hand_over_outcome, self._settings.hand_seconds)
        if found is None:
            raise Unavailable("Its desktop has not done that yet.")
        return found

    async def _wait_for_state(self, worker: WorkerRecord, wanted: LeaseState) -> None:
        """Wait until a lease is in this state, or has ended. Raises `Unavailable`."""

        async def has_reached_state() -> bool | None:
            lease = await self._lease(worker, ended=True)
            return lease.state in (wanted, LeaseState.ENDED) or None

        if await self._wait(worker.key, has_reached_state, self._settings.end_seconds) is None:
            raise Unavailable("Its desktop has not done that yet.")

    async def _wait(
        self, key: WorkerKey, look: Callable[[], Awaitable[T | None]], seconds: float
    ) -> T | None:
        """Return what `look` finds, None where that is nothing after some seconds."""
        until = asyncio.get_running_loop().time() + seconds
        with self._bus.listen(delivery_stream(key)) as listener:
            while (found := await look()) is None:
                left = until - asyncio.get_running_loop().time()
                if left <= 0:
                    return None
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, LOOK_SECONDS)):
                        await listener.wait()
        return found

    async def _lease(self, worker: WorkerRecord, *, ended: bool = False) -> HostLease:
        async with self._store.read() as rows:
            lease = await rows.host_leases.get(worker.key, worker.worker.epoch)
        if lease is None or (lease.state is LeaseState.ENDED and not ended):
            raise _not_served_error(lease)
        return lease

    async def _page(self, worker: WorkerRecord, after: int) -> Sequence[HostEntry]:
        async with self._store.read() as rows:
            return await rows.host_entries.page(worker.key, worker.worker.epoch, after, PAGE)

    async def _free_entries(self, worker: WorkerRecord, upto: int) -> None:
        """Remove the worker's entries up to this number."""
        async with self._store.read() as rows:
            kept = await rows.host_entries.page(worker.key, worker.worker.epoch, 0, 1)
        if kept and kept[0].n <= upto:
            async with self._store.begin() as rows:
                await rows.host_entries.free(worker.key, worker.worker.epoch, upto)

    async def _add(
        self, rows: Transaction, lease: HostLease, request_id: str, command: HostCommand
    ) -> None:
        sealed = self._vault.seal(
            spell_command(command), offer_binding(lease.key, lease.epoch, request_id)
        )
        offer = SealedOffer(
            lease.desktop_id, lease.key, lease.worker_id, lease.epoch, request_id, sealed
        )
        await rows.host_offers.add(offer)

    async def _end_before(self, rows: Transaction, worker: WorkerRecord) -> None:
        """End the lease of an earlier epoch; its offers go."""
        newest = await rows.host_leases.newest(worker.key)
        if newest is not None and newest.epoch < worker.worker.epoch:
            await self._end(rows, newest)

    async def _end(self, rows: Transaction, lease: HostLease | None) -> None:
        if lease is not None and lease.state is not LeaseState.ENDED:
            await rows.host_leases.put(replace(lease, state=LeaseState.ENDED))
            await rows.host_offers.clear(lease.key)

    async def _is_there(self, rows: Transaction, lease: HostLease) -> bool:
        desktop = await rows.desktops.get(lease.desktop_id)
        return desktop is not None and desktop.is_there(self._clock.now())

    async def _forget(self, rows: Transaction, worker: WorkerRecord) -> None:
        await rows.host_leases.remove(worker.key)
        await rows.host_offers.clear(worker.key)
        await rows.host_entries.clear(worker.key)
        self._seen.pop(worker.key, None)

    def _is_silent(self, lease: HostLease) -> bool:
        return lease.heard_at is None or self._clock.now() - lease.heard_at >= STALE_AFTER


def place_of(lease: HostLease) -> SandboxId:
    """Return the id that a worker's place on a desktop is stored by: another one in each epoch, in
    which entries are numbered anew."""
    return SandboxId(f"{desktop_place(lease.key, lease.desktop_id)}.{lease.epoch}")


async def _place_names(rows: Transaction, lease: HostLease) -> tuple[str, str]:
    """Return how a worker's place on a desktop is called, and the desktop's name."""
    desktop = await rows.desktops.get(lease.desktop_id)
    name = str(lease.desktop_id) if desktop is None else desktop.name
    return desktop_reference(name, lease.worker_id), name


async def _receipt(rows: Transaction, worker: WorkerRecord, request_id: str) -> Receipt | None:
    """Return the receipt of a request: in the ledger, or delivered and not there yet."""
    known = await rows.worker_requests.get(worker.key, request_id)
    if known is not None and known.entry.receipt is not None:
        return known.entry.receipt
    entry = await rows.host_entries.answer(worker.key, worker.worker.epoch, request_id)
    return None if entry is None else entry.receipt


def _not_served_error(lease: HostLease | None) -> Unavailable:
    """Return the error for a worker that its desktop does not serve."""
    reason = "The lease of its desktop has ended."
    if lease is not None and lease.state is not LeaseState.ENDED:
        reason = lease.reason or f"Its agent is {lease.state} on its desktop."
    return Unavailable(reason, code="worker_unavailable")
