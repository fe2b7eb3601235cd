"""Reports of hosts and trusted services: artifacts of executions, and events.

An execution is a worker, by its `worker_id`. What a report is about is the caller's own; nothing in
a body names somebody else.
"""

from atoll.domain.errors import LimitReached
from atoll.domain.event import Event
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.service_event import KIND, ServiceEvent, service_stream
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.record import worker_stream
from atoll.services.ground import Ground
from atoll.services.journals.events import Events, Note
from atoll.services.workers.workers import check_right, known_worker
from atoll.wire.words.workers import MOST_ARTIFACTS


class WorkerReports:
    """Use cases of trusted services."""

    def __init__(self, ground: Ground, events: Events) -> None:
        self._ground = ground
        self._events = events

    async def add_artifact(
        self, caller: Principal, worker_id: str, artifact: WorkerArtifact
    ) -> bool:
        """Add an artifact to a worker's, or replace the one of its name; returns whether it was
        there. Raises `NotFound`, `Forbidden`, and `LimitReached` for too many."""
        check_right(caller, Capability.AGENT_USE)
        async with self._ground.store.begin() as rows:
            key = (await known_worker(rows, caller, worker_id)).key
            names = {artifact.name for artifact in await rows.worker_artifacts.list(key)}
            there = artifact.name in names
            if not there and len(names) >= MOST_ARTIFACTS:
                raise LimitReached(f"worker {worker_id} has {MOST_ARTIFACTS} artifacts already")
            await rows.worker_artifacts.put(key, artifact, self._ground.clock.now())
        self._ground.bus.announce((worker_stream(key),))
        return there

    async def append(self, caller: Principal, reported: ServiceEvent) -> Event:
        """Append an event to the caller's log. Raises `NotFound` for a worker that is not the
        caller's, `Forbidden`."""
        check_right(caller, Capability.AGENT_USE)
        if reported.worker_id is not None:
            async with self._ground.store.read() as rows:
                await known_worker(rows, caller, reported.worker_id)
        stream = service_stream(caller.org_id, reported.name)
        return await self._events.record(caller, Note(stream, KIND, reported.payload))
