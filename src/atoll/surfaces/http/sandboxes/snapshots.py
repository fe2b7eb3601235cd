"""Routes of snapshots and forks."""

from atoll.domain.snapshots.beginning import continued
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.services.snapshots.forks import ForkRequest
from atoll.services.snapshots.keeper import SnapshotRequest
from atoll.surfaces.http.sandboxes.view import sandbox_views, wait_and_view
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.reading import longest_wait
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, NO_WAIT, Paging, Waiting
from atoll.wire.api.sandboxes import snapshots as api
from atoll.wire.api.sandboxes.snapshots import SandboxSnapshots, Snapshots
from atoll.wire.api.sandboxes.views import SandboxView
from atoll.wire.words.sandboxes import Conversation

operations = Operations()


@operations.serves(SandboxSnapshots.take)
async def take_snapshot(
    context: RequestContext, sandbox: str, body: api.SnapshotBody
) -> api.SnapshotView:
    ttl = None if body.ttl is None else int(body.ttl)
    request = SnapshotRequest(body.name, ttl, body.mode, body.memory)
    return _view(await context.atoll.snapshots.snapshots.take(context.caller, sandbox, request))


@operations.serves(SandboxSnapshots.restore)
async def restore_sandbox(
    context: RequestContext, sandbox: str, body: api.RestoreBody, *, waiting: Waiting = NO_WAIT
) -> SandboxView:
    seconds, atoll = longest_wait(waiting), context.atoll
    snapshot = await atoll.snapshots.snapshots.usable(context.caller, body.snapshot)
    restored = await atoll.sandboxes.restore(context.caller, sandbox, snapshot)
    return await wait_and_view(context, restored, seconds)


@operations.serves(SandboxSnapshots.fork)
async def fork_sandbox(context: RequestContext, sandbox: str, body: api.ForkBody) -> api.ForkView:
    request = ForkRequest(
        body.count,
        body.name,
        body.branch,
        body.conversation,
        body.prompt,
        None if body.ttl is None else int(body.ttl),
    )
    fork = await context.atoll.snapshots.forks.fork(context.caller, sandbox, request)
    return api.ForkView(sandboxes=await sandbox_views(context.atoll, fork.sandboxes))


@operations.serves(Snapshots.list)
async def list_snapshots(
    context: RequestContext, *, sandbox: api.OfSandbox = None, page: Paging = FIRST_PAGE
) -> api.SnapshotPage:
    asked = context.page(page)
    rows = await context.atoll.snapshots.snapshots.list(context.caller, asked.rows(), ref=sandbox)
    snapshots, following = asked.rows_and_next(rows, _view)
    return api.SnapshotPage(snapshots=snapshots, next=following)


@operations.serves(Snapshots.get)
async def get_snapshot(context: RequestContext, snapshot: str) -> api.SnapshotView:
    return _view(await context.atoll.snapshots.snapshots.get(context.caller, snapshot))


@operations.serves(Snapshots.export)
async def export_snapshot(context: RequestContext, snapshot: str) -> api.SnapshotView:
    return _view(await context.atoll.snapshots.exports.export(context.caller, snapshot))


@operations.serves(Snapshots.verify)
async def verify_snapshot(context: RequestContext, snapshot: str) -> api.SnapshotVerification:
    services = context.atoll.snapshots
    verification = await services.exports.verify(context.caller, snapshot)
    return api.SnapshotVerification(
        snapshot_id=(await services.snapshots.get(context.caller, snapshot)).id,
        whole=verification.is_whole,
        blobs=verification.blobs,
        damaged=len(verification.damaged),
    )


@operations.serves(Snapshots.bring_back)
async def import_snapshot(context: RequestContext, snapshot: str) -> api.SnapshotView:
    return _view(await context.atoll.snapshots.exports.bring_back(context.caller, snapshot))


@operations.serves(Snapshots.remove)
async def remove_snapshot(context: RequestContext, snapshot: str) -> None:
    await context.atoll.snapshots.snapshots.remove(context.caller, snapshot)


def _view(snapshot: Snapshot) -> api.SnapshotView:
    source = snapshot.source
    talking = continued(source, Conversation.CONTINUE)
    return answer_of(
        api.SnapshotView,
        snapshot,
        snapshot_id=snapshot.id,
        sandbox_id=source.id,
        sandbox_name=source.name,
        host=source.host,
        exported=snapshot.export is not None,
        agent=talking[0].agent if talking else None,
        branches=[repo.branch for repo in source.repos],
    )
