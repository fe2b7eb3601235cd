"""Routes of kept worktrees: list them, read their files and commits, delete them."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.ports.kept import KeptWorktree
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.body.streams import ForwardedStream, stream_of
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/kept", tags=["kept"], route_class=JsonRoute)

TAR = "application/x-tar"
BUNDLE = "application/x-git-bundle"

_SAVED = {"Content-Disposition": "attachment"}


class KeptView(ResponseModel):
    """A worktree that outlived its sandbox. `path` is its directory on the server; `bundles` are
    the numbers of the repositories whose new commits are there. `generation` is set for work that a
    recreate saved; without `tree` there is no archive. `pushed` is the branch of a held push, whose
    sandbox may still be there."""

    kept_id: str
    sandbox_id: str
    sandbox_name: str
    path: str
    bytes: int
    bundles: list[int]
    kept_at: str
    kept_until: str
    generation: int | None
    tree: bool
    pushed: str | None


class KeptList(PageModel):
    """The caller's kept worktrees, newest first."""

    kept: list[KeptView]


@router.get("", response_model=KeptList, responses=problems())
@needs(Capability.SANDBOX_READ)
async def list_kept(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return the worktrees and work kept from sandboxes that were destroyed or recreated."""
    found = await atoll.home.kept.list(caller)
    return Json(page.of(found, name="kept", key=lambda one: one.id, view=_view))


@router.get("/{kept}", response_model=KeptView, responses=problems(404))
@needs(Capability.SANDBOX_READ)
async def get_kept(atoll: Atoll, caller: Caller, *, kept: ItemId) -> Response:
    """Return one kept worktree."""
    return Json(_view(await atoll.home.kept.get(caller, kept)))


@router.get(
    "/{kept}/archive",
    response_model=None,
    responses={**stream_of(TAR, "The files as tar."), **problems(404)},
)
@needs(Capability.FILE_READ)
async def kept_archive(atoll: Atoll, caller: Caller, *, kept: ItemId) -> Response:
    """Return the kept files as a tar archive."""
    return ForwardedStream(atoll.home.kept.archive(caller, kept), media_type=TAR, headers=_SAVED)


@router.get(
    "/{kept}/bundle",
    response_model=None,
    responses={**stream_of(BUNDLE, "The new commits as a git bundle."), **problems(404)},
)
@needs(Capability.REPOSITORY_READ)
async def kept_bundle(
    atoll: Atoll,
    caller: Caller,
    *,
    kept: ItemId,
    repo: Annotated[int, Query(description="Which of its repositories.", ge=0, le=15)] = 0,
) -> Response:
    """Return the new commits of one of its repositories."""
    opened = atoll.home.kept.bundle(caller, kept, repo=repo)
    return ForwardedStream(opened, media_type=BUNDLE, headers=_SAVED)


@router.delete("/{kept}", status_code=204, responses=problems(404))
@needs(Capability.SANDBOX_MANAGE)
async def delete_kept(atoll: Atoll, caller: Caller, *, kept: ItemId) -> Response:
    """Delete the kept worktree permanently."""
    await atoll.home.kept.remove(caller, kept)
    return no_content()


def _view(kept: KeptWorktree) -> dict[str, Any]:
    return KeptView.of(kept, kept_id=kept.id, pushed=kept.pushed and kept.pushed.branch)
