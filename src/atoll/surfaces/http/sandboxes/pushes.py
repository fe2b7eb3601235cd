"""Routes of held pushes: branches pushed inside a sandbox that its policy does not let out.

Each is an entry of `/v1/kept` as well, whose bundle brings it and whose deletion drops it.
"""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.ports.kept import HeldPush, KeptWorktree
from atoll.services.library.pushes import held_ref
from atoll.surfaces.http.body.answers import Json, instant
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/sandboxes/{sandbox}", tags=["sandboxes"], route_class=JsonRoute)


class PushView(ResponseModel):
    """A held push: `commits` new commits of repository number `repo`, up to `commit`, whose first
    line is `subject`. `GET /v1/kept/{kept_id}/bundle` brings it."""

    kept_id: str
    repo: int
    branch: str
    ref: str
    commit: str
    commits: int
    subject: str
    bytes: int
    pushed_at: str
    kept_until: str


class PushList(ResponseModel):
    """The held pushes of a sandbox, newest first."""

    pushes: list[PushView]


@router.get(
    "/pushes", response_model=PushList, responses=problems(403, 404, 502), openapi_extra=at_most(32)
)
@needs(Capability.REPOSITORY_READ)
async def list_pushes(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the branches that were pushed inside and wait for their owner."""
    return Json({"pushes": push_views(await atoll.home.pushes.of(*at))})


def push_views(held: Sequence[KeptWorktree]) -> list[dict[str, Any]]:
    """Return the views of held pushes."""
    return [_view(one, one.pushed) for one in held if one.pushed is not None]


def _view(kept: KeptWorktree, push: HeldPush) -> dict[str, Any]:
    return PushView.of(
        push,
        kept_id=kept.id,
        repo=kept.bundles[0],
        ref=held_ref(kept.sandbox_name, push.branch),
        bytes=kept.bytes,
        pushed_at=instant(kept.kept_at),
        kept_until=instant(kept.kept_until),
    )
