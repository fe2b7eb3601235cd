"""Every worker of an organization, for its administrators.

They see that a worker is there, whose it is, where and why, and how it ended. They do not see what
its agent says: its stream, conversations, questions and artifacts stay its owner's. The
health of backends is the installation's, and shown to who runs that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from atoll.domain.hosts.host import LOCAL, Host
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.routes.health import WINDOW, Health
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.workers.backends import (
    BackendHealth,
    BackendPlace,
    backends_of,
    is_running,
    place_of_start,
    place_of_worker,
)
from atoll.domain.workers.placement import sandbox_of
from atoll.domain.workers.record import WorkerRecord
from atoll.domain.workers.snapshot import WorkerObservation, WorkerSnapshot, snapshot
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.host_room import all_hosts
from atoll.services.overview.oversight import find_administered_org
from atoll.services.routes.routes import PlaceHealth, Routes
from atoll.services.workers.transitions import place_of
from atoll.wire.words.hosts import HostKind

MOST_COUNTED: Final = 5_000
"""The newest workers, and the newest losses, of an organization that are counted."""


@dataclass(frozen=True, slots=True)
class OverseenWorker:
    """A worker as administrators see it. Of what is observed only its place is known."""

    record: WorkerRecord
    shown: WorkerSnapshot


class WorkerOversight:
    """Use cases of administrators on every worker of their organization. Raises `Forbidden` for
    others, and `NotFound` for an organization of others."""

    def __init__(self, ground: Ground, routes: Routes) -> None:
        self._ground = ground
        self._routes = routes

    async def page(self, caller: Principal, ref: str, page: PageQuery) -> RowPage[OverseenWorker]:
        """Return one page of an organization's workers, newest first."""
        async with self._ground.store.read() as rows:
            organization = await find_administered_org(rows, caller, ref)
            workers = await rows.workers.page(organization.id, None, page)
            shown = [await self._overseen(rows, record) for record in workers.rows]
        return RowPage(shown, workers.following)

    async def backends(self, caller: Principal, ref: str) -> list[BackendHealth]:
        """Return the places of an organization's workers, by name: how many run there, and were
        lost in the last day. To who runs the installation also every other place where something
        was started, and the health of each."""
        async with self._ground.store.read() as rows:
            organization = await find_administered_org(rows, caller, ref)
            standing = await rows.workers.standing(organization.id, MOST_COUNTED)
            here = [await _place(rows, *row) for row in standing if is_running(row[0].worker)]
            since = self._ground.clock.now() - WINDOW
            starts = await rows.worker_events.lost(organization.id, since, MOST_COUNTED)
            hosts = await all_hosts(rows)
        gone = [place_of_start(start.payload) for start in starts]
        known = await self._routes.health() if caller.may(Capability.SYSTEM_MANAGE) else []
        measured = _pair_places_with_health(known, {host.name: host for host in hosts})
        return backends_of(measured, filter(None, here), filter(None, gone))

    async def _overseen(self, rows: Transaction, record: WorkerRecord) -> OverseenWorker:
        sandbox, route = await place_of(rows, record)
        observed = WorkerObservation(sandbox=sandbox, route=route)
        return OverseenWorker(record, snapshot(record, observed, now=self._ground.clock.now()))


async def _place(
    rows: Transaction, record: WorkerRecord, sandbox: Sandbox | None
) -> BackendPlace | None:
    """Return the place of a worker. One on a desktop has no row of a sandbox."""
    shown = (await place_of(rows, record))[0] if sandbox is None else sandbox_of(sandbox)
    return None if shown is None else place_of_worker(shown)


def _pair_places_with_health(
    known: Sequence[PlaceHealth], hosts: Mapping[str, Host]
) -> list[tuple[BackendPlace, Health]]:
    """Return each place with its health; a place that is no host is a vendor's region."""
    return [
        (_backend_place(reading, hosts.get(reading.place)), reading.health) for reading in known
    ]


def _backend_place(reading: PlaceHealth, host: Host | None) -> BackendPlace:
    if host is None:
        return BackendPlace(reading.extension, region=reading.place)
    region = host.region or (LOCAL if host.kind is HostKind.LOCAL else "")
    return BackendPlace(reading.extension, host.name, region)
