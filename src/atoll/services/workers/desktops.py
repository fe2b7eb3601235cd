"""Desktops: people link their own machines, and each follows what it is offered.

A desktop hosts workers of its person alone. It receives no secret and no policy of the
installation: what it is offered is a worker to start, requests to pass on, and their end.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from atoll.domain.errors import AtollError, Forbidden, LimitReached, NotFound
from atoll.domain.hosts.host import Host, HostId
from atoll.domain.ids import DesktopId, OrgId, PrincipalId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.desktop import Desktop, judge_desktop_name, judge_isolation
from atoll.domain.workers.dialled import (
    HostLease,
    HostOffer,
    LeaseState,
    delivery_stream,
    offer_binding,
    offer_stream,
    read_command,
)
from atoll.ports import Transaction, Vault
from atoll.ports.store.workers.dialled import SealedOffer
from atoll.services.ground import Ground
from atoll.wire.words.hosts import HostKind
from atoll.wire.words.workers import MAX_DESKTOPS

PAGE: Final = 100
LOOK_SECONDS: Final = 4.0
"""Between two looks for offers, in case an announcement was lost."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class DesktopSeen:
    """A desktop, whether its lane runs, and the workers that it has."""

    desktop: Desktop
    there: bool
    workers: tuple[str, ...]


class Desktops:
    """The desktops of people. Raises `NotFound` for one that is not the caller's."""

    def __init__(self, ground: Ground, vault: Vault) -> None:
        self._ground = ground
        self._vault = vault

    async def link(self, caller: Principal, name: str) -> tuple[DesktopSeen, bool]:
        """Link a desktop of the caller's, and return whether it was linked before. Raises
        `Invalid`, `Forbidden`, `LimitReached`."""
        _check(caller)
        judge_desktop_name(name)
        async with self._ground.store.begin() as rows:
            mine = await rows.desktops.of(caller.org_id, caller.id)
            desktop = next((desktop for desktop in mine if desktop.name == name), None)
            if desktop is not None:
                return await self._describe_desktop(rows, desktop), True
            if len(mine) >= MAX_DESKTOPS:
                raise LimitReached(f"You have linked {MAX_DESKTOPS} desktops: unlink one first.")
            made = Desktop(
                DesktopId(self._ground.ids.new("dk")),
                caller.org_id,
                caller.id,
                name,
                self._ground.clock.now(),
            )
            await rows.desktops.put(made)
        return DesktopSeen(made, there=False, workers=()), False

    async def list(self, caller: Principal) -> list[DesktopSeen]:
        """List the caller's desktops, by name."""
        _check(caller)
        async with self._ground.store.read() as rows:
            mine = await rows.desktops.of(caller.org_id, caller.id)
            return [await self._describe_desktop(rows, desktop) for desktop in mine]

    async def heard(self, caller: Principal, name: str, isolation: Isolation) -> DesktopSeen:
        """Note that the lane of a desktop runs, with this wall. Raises `Invalid`."""
        judge_isolation(isolation)
        async with self._ground.store.begin() as rows:
            desktop = await self._desktop_named(rows, caller, name)
            now = self._ground.clock.now()
            after = replace(desktop, heard_at=now, isolation=isolation)
            await rows.desktops.put(after)
            return await self._describe_desktop(rows, after)

    async def left(self, caller: Principal, name: str) -> None:
        """Note that the lane of a desktop has ended."""
        async with self._ground.store.begin() as rows:
            desktop = await self._desktop_named(rows, caller, name)
            await rows.desktops.put(replace(desktop, heard_at=None))

    async def unlink(self, caller: Principal, name: str) -> None:
        """Unlink a desktop. Its leases end: what it still delivers is refused."""
        async with self._ground.store.begin() as rows:
            desktop = await self._desktop_named(rows, caller, name)
            leases = await rows.host_leases.of_desktop(desktop.id)
            for lease in leases:
                await rows.host_leases.put(replace(lease, state=LeaseState.ENDED))
                await rows.host_offers.clear(lease.key)
            await rows.desktops.remove(desktop.id)
        self._ground.bus.announce(
            (offer_stream(desktop.id), *(delivery_stream(lease.key) for lease in leases))
        )

    async def offers(self, caller: Principal, name: str) -> AsyncIterator[HostOffer]:
        """Yield the offers of a desktop that have no receipt yet, then each as it comes. Ends once
        the desktop is unlinked. Raises `NotFound`."""
        async with self._ground.store.read() as rows:
            desktop = await self._desktop_named(rows, caller, name)
        after = 0
        with self._ground.bus.listen(offer_stream(desktop.id)) as listener:
            while True:
                page = await self._page(desktop.id, after)
                if page is None:
                    return
                for row in page:
                    after = row.number
                    offer = await self._pending_offer(row)
                    if offer is not None:
                        yield offer
                if not page:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(LOOK_SECONDS):
                            await listener.wait()

    async def check(self, caller: Principal, name: str) -> None:
        """Check that the caller may follow a desktop. Raises `NotFound`."""
        async with self._ground.store.read() as rows:
            await self._desktop_named(rows, caller, name)

    async def linked(self, org_id: OrgId, owner: PrincipalId) -> Sequence[Host]:
        """Return the person's desktops whose lane runs: `ports.outside.desktops.LinkedDesktops`."""
        now = self._ground.clock.now()
        async with self._ground.store.read() as rows:
            mine = await rows.desktops.of(org_id, owner)
        return [
            Host(
                HostId(desktop.id),
                desktop.name,
                HostKind.DESKTOP,
                desktop.linked_at,
                isolation=desktop.isolation,
            )
            for desktop in mine
            if desktop.is_there(now)
        ]

    async def _page(self, desktop_id: DesktopId, after: int) -> Sequence[SealedOffer] | None:
        async with self._ground.store.read() as rows:
            if await rows.desktops.get(desktop_id) is None:
                return None
            return await rows.host_offers.page(desktop_id, after, PAGE)

    async def _pending_offer(self, offer: SealedOffer) -> HostOffer | None:
        """Return an offer that somebody still waits for."""
        async with self._ground.store.read() as rows:
            record = await rows.workers.get(offer.key)
        if record is None:
            return None
        binding = offer_binding(offer.key, offer.epoch, offer.request_id)
        try:
            text = self._vault.open(offer.sealed, binding)
        except AtollError as err:
            _log.warning("offer_does_not_open", worker=offer.key, reason=err.message)
            return None
        return HostOffer(
            offer.number,
            record.created,
            offer.epoch,
            offer.request_id,
            read_command(offer.request_id, text),
        )

    async def _desktop_named(self, rows: Transaction, caller: Principal, name: str) -> Desktop:
        _check(caller)
        for desktop in await rows.desktops.of(caller.org_id, caller.id):
            if desktop.name == name:
                return desktop
        raise NotFound(f"There is no desktop {name[:80]!r} of yours: link it first.")

    async def _describe_desktop(self, rows: Transaction, desktop: Desktop) -> DesktopSeen:
        """Return a desktop with its workers, and whether it is connected."""
        leases = await rows.host_leases.of_desktop(desktop.id)
        there = desktop.is_there(self._ground.clock.now())
        return DesktopSeen(
            desktop, there, tuple(sorted(lease.worker_id for lease in _select_open_leases(leases)))
        )


def _select_open_leases(leases: Sequence[HostLease]) -> Sequence[HostLease]:
    """Return the leases that have not ended."""
    over = {LeaseState.ENDED, LeaseState.REMOVED, LeaseState.REFUSED, LeaseState.INVALID}
    return [lease for lease in leases if lease.state not in over]


def _check(caller: Principal) -> None:
    if not caller.may(Capability.AGENT_USE) or caller.guest_access is not None:
        raise Forbidden(f"You may not do that: it takes {Capability.AGENT_USE.value}.")
