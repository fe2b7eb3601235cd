"""Health routes for monitoring: liveness and readiness. No credential needed."""

from typing import Literal

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.errors import Unavailable
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.server.context import Atoll
from atoll.surfaces.http.server.problems import PROBLEM_TYPE

router = APIRouter(tags=["health"])


class HealthView(ResponseModel):
    """The health of the server."""

    status: Literal["ok"]


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
    again."""
    reason = await atoll.readiness()
    if reason is not None:
        raise Unavailable(f"not ready: {reason}")
    return Json({"status": "ok"})
