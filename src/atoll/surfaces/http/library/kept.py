"""Routes of kept worktrees: list them, read their files and commits, delete them."""

from starlette.responses import Response

from atoll.ports.kept import KeptWorktree
from atoll.surfaces.http.body.streams import ForwardedStream
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.library import kept as api
from atoll.wire.api.library.kept import KeptFiles

operations = Operations()

_SAVED = {"Content-Disposition": "attachment"}


@operations.serves(KeptFiles.list)
async def list_kept(context: RequestContext, *, page: Paging = FIRST_PAGE) -> api.KeptList:
    found = await context.atoll.home.kept.list(context.caller)
    kept, following = context.page(page).items_and_next(found, key=lambda one: one.id, view=_view)
    return api.KeptList(kept=kept, next=following)


@operations.serves(KeptFiles.get)
async def get_kept(context: RequestContext, kept: str) -> api.KeptView:
    return _view(await context.atoll.home.kept.get(context.caller, kept))


@operations.streams(KeptFiles.archive)
async def kept_archive(context: RequestContext, kept: str) -> Response:
    opened = context.atoll.home.kept.archive(context.caller, kept)
    return ForwardedStream(opened, media_type=api.TAR, headers=_SAVED)


@operations.streams(KeptFiles.bundle)
async def kept_bundle(context: RequestContext, kept: str, *, repo: int = 0) -> Response:
    opened = context.atoll.home.kept.bundle(context.caller, kept, repo=repo)
    return ForwardedStream(opened, media_type=api.BUNDLE, headers=_SAVED)


@operations.serves(KeptFiles.delete)
async def delete_kept(context: RequestContext, kept: str) -> None:
    await context.atoll.home.kept.remove(context.caller, kept)


def _view(kept: KeptWorktree) -> api.KeptView:
    pushed = kept.pushed and kept.pushed.branch
    return answer_of(api.KeptView, kept, kept_id=kept.id, pushed=pushed)
