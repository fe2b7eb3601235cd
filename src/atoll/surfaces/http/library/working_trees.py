"""Routes of working trees: checkpoints and the way back to them, discard a file or hunk, and
commit."""

from msgspec.structs import asdict

from atoll.services.library.changes import Comparison
from atoll.services.library.tree_edits import HunkRange
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.library import working_trees as api
from atoll.wire.api.library.working_trees import WorkingTrees

operations = Operations()


@operations.serves(WorkingTrees.checkpoints)
async def list_checkpoints(
    context: RequestContext, sandbox: str, *, repo: int = 0
) -> api.CheckpointList:
    found = await context.atoll.review.checkpoints.list(context.caller, sandbox, repo=repo)
    return api.CheckpointList(checkpoints=[answer_of(api.CheckpointView, one) for one in found])


@operations.serves(WorkingTrees.restore)
async def restore_checkpoint(
    context: RequestContext, sandbox: str, number: int, *, repo: int = 0
) -> api.RestoredView:
    checkpoints = context.atoll.review.checkpoints
    return api.RestoredView(
        saved=await checkpoints.restore(context.caller, sandbox, number, repo=repo)
    )


@operations.serves(WorkingTrees.discard)
async def discard_changes(
    context: RequestContext, sandbox: str, body: api.DiscardBody
) -> api.RestoredView:
    compared = Comparison(body.repo, body.against, (body.path,), body.checkpoint)
    hunk = None if body.hunk is None else HunkRange(**asdict(body.hunk))
    saved = await context.atoll.review.edits.discard(
        context.caller, sandbox, compared, digest=body.digest, hunk=hunk
    )
    return api.RestoredView(saved=saved)


@operations.serves(WorkingTrees.commit)
async def commit_changes(
    context: RequestContext, sandbox: str, body: api.CommitBody
) -> api.CommittedView:
    commit = await context.atoll.review.edits.commit(
        context.caller, sandbox, body.message, repo=body.repo, paths=tuple(body.paths or ())
    )
    return api.CommittedView(commit=commit)
