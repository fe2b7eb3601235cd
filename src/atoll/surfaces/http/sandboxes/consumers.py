"""Routes of consumers: harnesses on whose behalf sandboxes exist."""

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.sandbox.consumer import ConsumerEnd
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, ResponseModel, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.sandboxes.view import SandboxView, sandbox_views
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/consumers", tags=["consumers"], route_class=JsonRoute)


class ConsumerEndBody(Body):
    """The session, run or job that ended: a harness and exactly one of its ids."""

    harness: Word
    session_id: Word | None = None
    run_id: Word | None = None
    job_id: Word | None = None


class EndedView(ResponseModel):
    """The sandboxes that ended with it now."""

    sandboxes: list[SandboxView]


@router.post("/end", response_model=EndedView, responses=problems(413))
@needs(Capability.SANDBOX_MANAGE)
async def end_consumer(atoll: Atoll, caller: Caller, *, body: ConsumerEndBody) -> Response:
    """End a session, run or job.

    The caller's sandboxes of scope `session` that belong to it expire and are kept for their
    retention. Repeating it ends nothing more.
    """
    ended = await atoll.consumers.end(caller, ConsumerEnd(**body.model_dump()))
    return Json({"sandboxes": await sandbox_views(atoll, ended)})
