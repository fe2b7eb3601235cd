"""Routes of hosts and trusted services: artifacts of executions, and events.

Who may call them is decided by the guard: they need the header `X-Internal-Token`.
"""

from atoll.domain.service_event import ServiceEvent
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.surfaces.http.journals.events import event_view
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, Reply, RequestContext
from atoll.wire.api.events import EventView
from atoll.wire.api.workers import reports as api
from atoll.wire.api.workers.reports import Reports
from atoll.wire.api.workers.workers import WorkerArtifactView

operations = Operations()


@operations.serves(Reports.add_artifact)
async def add_artifact(
    context: RequestContext, worker_id: str, body: api.ArtifactBody
) -> Reply[WorkerArtifactView]:
    artifact = WorkerArtifact(body.name, body.type, body.size, body.sha256)
    reports = context.atoll.workers.reports
    there = await reports.add_artifact(context.caller, worker_id, artifact)
    return Reply(answer_of(WorkerArtifactView, artifact), 200 if there else 201)


@operations.serves(Reports.append)
async def report_event(context: RequestContext, body: api.ServiceEventBody) -> EventView:
    event = ServiceEvent(body.name, body.data, body.worker_id)
    return event_view(await context.atoll.workers.reports.append(context.caller, event))
