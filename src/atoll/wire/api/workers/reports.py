"""Reports of trusted services: artifacts of executions, and events."""

from typing import Annotated, Any

from msgspec import Meta

from atoll.wire.api.annotations import Unshown
from atoll.wire.api.events import EventView
from atoll.wire.api.operation import Area, Request, operation
from atoll.wire.api.workers.workers import WorkerArtifactView, WorkerName, WorkerRef
from atoll.wire.words.workers import LARGEST_ARTIFACT, LONGEST_ARTIFACT_NAME, LONGEST_EVENT_NAME


class ArtifactBody(Request):
    """A file that an execution made: its media type, its bytes, and its SHA-256 in hexadecimal."""

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_ARTIFACT_NAME)]
    type: Annotated[str, Meta(min_length=3, max_length=129)]
    size: Annotated[int, Meta(ge=0, le=LARGEST_ARTIFACT)]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class ServiceEventBody(Request):
    """A service: its name, what it says, and the worker that it is about."""

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_EVENT_NAME)]
    data: Annotated[dict[str, Any], Unshown()] = {}
    worker_id: WorkerName | None = None


class Reports(Area):
    """The reports of trusted services."""

    tag = "internal"
    needs = "agent.use"

    @operation(
        "POST /internal/executions/{worker_id}/artifacts",
        name="add_artifact",
        status=201,
        problems=(404,),
        also={200: "Replaced."},
    )
    def add_artifact(self, worker_id: WorkerRef, body: ArtifactBody) -> WorkerArtifactView:
        """Add an artifact to those of a worker, or replace the one of its name."""

    @operation("POST /internal/events", name="report_event", status=201, problems=(404,))
    def append(self, body: ServiceEventBody) -> EventView:
        """Append an event to the log; webhooks can start from it."""
