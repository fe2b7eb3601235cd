"""Health routes for monitoring: liveness and readiness. No credential needed."""

from typing import Literal

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.errors import Unavailable
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Partial
from atoll.surfaces.http.server.context import Atoll
from atoll.surfaces.http.server.problems import PROBLEM_TYPE

router = APIRouter(tags=["health"])


class HealthView(Partial):
    """The health of the server. `degraded` says what does not work meanwhile, and is left out when
    everything does."""

    status: Literal["ok"]
    degraded: tuple[str, ...] = ()


@router.get("/healthz", response_model=HealthView)
async def alive() -> Response:
    """Report that the process answers."""
    return Json({"status": "ok"})


@router.get(
    "/readyz",
    response_model=HealthView,
    responses={
        503: {
            "description": "Not ready, with the reason.",
            "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    },
)
async def ready(atoll: Atoll) -> Response:
    """Report whether the server is ready: the store answers and known sandboxes are attached
    again. A bus that is away makes it degraded, not unready."""
    reason = await atoll.readiness()
    if reason is not None:
        raise Unavailable(f"not ready: {reason}")
    troubles = atoll.replication.troubles
    return Json({"status": "ok", "degraded": troubles} if troubles else {"status": "ok"})
