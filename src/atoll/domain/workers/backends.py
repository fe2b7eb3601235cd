"""Backends of an organization's workers: where workers run, where some were lost, and the health
of those places.

Pure: a place is an extension at a host, or in a vendor's region. The message is `BackendHealth` of
`proto/`. Health is the installation's; who may not see it gets places and counts alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atoll.domain.event import Json
from atoll.domain.routes.health import Health
from atoll.domain.workers.lifecycle import HostContact, Worker
from atoll.domain.workers.snapshot import WorkerSandbox
from atoll.wire.words.workers import WorkerStatus


@dataclass(frozen=True, slots=True)
class BackendPlace:
    """A place of workers. `host` is empty on a vendor's machines, `region` where nobody says."""

    extension: str
    host: str = ""
    region: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The name under which routes measure the place."""
        return self.extension, self.host or self.region


@dataclass(frozen=True, slots=True)
class BackendHealth:
    """A place with its health, None where the reader may not see it or nothing was started.
    `workers` run there now; `lost` of them were lost in the window of health."""

    place: BackendPlace
    health: Health | None
    workers: int
    lost: int


def is_running(worker: Worker) -> bool:
    """Report whether a worker runs as far as anybody knows: a lost one is not counted."""
    return worker.status is WorkerStatus.RUNNING and worker.contact is HostContact.PRESENT


def place_of_worker(sandbox: WorkerSandbox) -> BackendPlace:
    """Return the place of a worker."""
    return BackendPlace(sandbox.extension, sandbox.host or "", sandbox.region or "")


def place_of_start(payload: Mapping[str, Json]) -> BackendPlace | None:
    """Return the place that a `worker.started` tells; None where it tells none."""
    extension, sandbox = payload.get("extension"), payload.get("sandbox")
    if not isinstance(extension, str) or not isinstance(sandbox, Mapping):
        return None
    host, region = sandbox.get("host"), sandbox.get("region")
    return BackendPlace(
        extension,
        host if isinstance(host, str) else "",
        region if isinstance(region, str) else "",
    )


def backends_of(
    measured: Iterable[tuple[BackendPlace, Health]],
    running: Iterable[BackendPlace],
    lost: Iterable[BackendPlace],
) -> list[BackendHealth]:
    """Return every place, by name. Places of one key are one, as a worker that runs there spells
    it; else as one that was lost there did."""
    here, gone, known = list(running), list(lost), list(measured)
    places: dict[tuple[str, str], BackendPlace] = {}
    for place in (*here, *gone, *(place for place, _ in known)):
        places.setdefault(place.key, place)
    health = {place.key: found for place, found in known}
    workers, losses = (Counter(place.key for place in all_) for all_ in (here, gone))
    return [
        BackendHealth(place, health.get(key), workers[key], losses[key])
        for key, place in sorted(places.items())
    ]
