"""Routes of changes: list the files that differ in a sandbox, and return their diff.

Answers of many files hold the values of the domain as they are: their members are those of the API.
"""

from collections.abc import Sequence

from starlette.responses import Response

from atoll.services.library.changes import Comparison, DiffStyle
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.library import changes as api
from atoll.wire.api.library.changes import TreeChanges
from atoll.wire.words.library import Against

operations = Operations()


@operations.serves(TreeChanges.changes)
async def list_changes(
    context: RequestContext,
    sandbox: str,
    *,
    repo: int = 0,
    against: Against = Against.BASE,
    path: Sequence[str] | None = None,
    checkpoint: int | None = None,
    since: str = "",
    wait: int = 0,
) -> api.TreeChangesView:
    wanted = Comparison(repo, against, tuple(path or ()), checkpoint)
    found = await context.atoll.review.changes.changes(
        context.caller, sandbox, wanted, since=since, wait_seconds=wait
    )
    return answer_of(api.TreeChangesView, found, files=found.files)


@operations.serves(TreeChanges.diff)
async def get_diff(
    request: RequestContext,
    sandbox: str,
    *,
    repo: int = 0,
    against: Against = Against.BASE,
    path: Sequence[str] | None = None,
    checkpoint: int | None = None,
    context: int = 3,
    whitespace: bool = True,
) -> api.DiffView:
    wanted = Comparison(repo, against, tuple(path or ()), checkpoint)
    found = await request.atoll.review.changes.diff(
        request.caller, sandbox, wanted, DiffStyle(context, whitespace)
    )
    return answer_of(api.DiffView, found, files=found.files)


@operations.streams(TreeChanges.image)
async def get_image(
    context: RequestContext, sandbox: str, *, path: str, repo: int = 0, commit: str = ""
) -> Response:
    raster, data = await context.atoll.review.changes.image(
        context.caller, sandbox, Comparison(repo, paths=(path,)), commit
    )
    return Response(data, media_type=raster.media_type)
