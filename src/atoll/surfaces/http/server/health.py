"""Routes for whoever watches the server: is it alive, is it ready? No credential needed."""

from typing import Literal

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.errors import Unavailable
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Shown
from atoll.surfaces.http.server.context import Atoll
from atoll.surfaces.http.server.problems import PROBLEM_TYPE

router = APIRouter(tags=["health"])


class HealthView(Shown):
    """It answers."""

    status: Literal["ok"]


@router.get("/healthz", response_model=HealthView)
async def alive() -> Response:
    """The process answers."""
    return Json({"status": "ok"})


@router.get(
    "/readyz",
    response_model=HealthView,
    responses={
        503: {
            "description": "Not yet, and why.",
            "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    },
)
async def ready(atoll: Atoll) -> Response:
    """It can do its work: the store answers and known sandboxes have been taken up again."""
    reason = await atoll.readiness()
    if reason is not None:
        raise Unavailable(f"not ready: {reason}")
    return Json({"status": "ok"})
