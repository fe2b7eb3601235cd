"""Routes of hosts and trusted services: artifacts of executions, and events.

Who may call them is decided by the guard: they need the header `X-Internal-Token`.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field, StrictInt
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.service_event import LONGEST_NAME as LONGEST_EVENT
from atoll.domain.service_event import ServiceEvent
from atoll.domain.worker.artifact import LARGEST, LONGEST_NAME, WorkerArtifact
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.contract import shown
from atoll.surfaces.http.body.fields import Body
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.events.events import event_view
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.workers.bodies import WorkerName
from atoll.surfaces.http.workers.views import WorkerArtifactView
from atoll.wire.api.events import EventView

router = APIRouter(prefix="/internal", tags=["internal"], route_class=JsonRoute)

Execution = Annotated[str, Path(min_length=1, max_length=64, description="The `worker_id`.")]


class ArtifactBody(Body):
    """A file that an execution made: its media type, its bytes, and its SHA-256 in hexadecimal."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, strict=True)]
    type: Annotated[str, Field(min_length=3, max_length=129, strict=True)]
    size: Annotated[StrictInt, Field(ge=0, le=LARGEST)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", strict=True)]

    def to_domain(self) -> WorkerArtifact:
        """Return the domain's value. Raises `Invalid`."""
        return WorkerArtifact(self.name, self.type, self.size, self.sha256)


class ServiceEventBody(Body):
    """A service: its name, what it says, and the worker that it is about."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_EVENT, strict=True)]
    data: Annotated[dict[str, Any], Field(default_factory=dict)]
    worker_id: WorkerName | None = None

    def to_domain(self) -> ServiceEvent:
        """Return the domain's value. Raises `Invalid`."""
        return ServiceEvent(self.name, self.data, self.worker_id)


@router.post(
    "/executions/{worker_id}/artifacts",
    status_code=201,
    response_model=WorkerArtifactView,
    responses={200: {"model": WorkerArtifactView, "description": "Replaced."}, **problems(404)},
)
@needs(Capability.AGENT_USE)
async def add_artifact(
    atoll: Atoll, caller: Caller, *, worker_id: Execution, body: ArtifactBody
) -> Response:
    """Add an artifact to those of a worker, or replace the one of its name."""
    artifact = body.to_domain()
    there = await atoll.workers.reports.add_artifact(caller, worker_id, artifact)
    return Json(WorkerArtifactView.of(artifact), 200 if there else 201)


@router.post("/events", status_code=201, response_model=shown(EventView), responses=problems(404))
@needs(Capability.AGENT_USE)
async def report_event(atoll: Atoll, caller: Caller, *, body: ServiceEventBody) -> Response:
    """Append an event to the log; webhooks can start from it."""
    return Json(event_view(await atoll.workers.reports.append(caller, body.to_domain())), 201)
