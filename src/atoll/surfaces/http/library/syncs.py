"""Routes of syncs: newer commits of a person's branch, brought into a sandbox."""

from atoll.services.library.syncs import SyncOrder
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.library import syncs as api
from atoll.wire.api.library.syncs import Syncs

operations = Operations()


@operations.serves(Syncs.sync)
async def sync_sandbox(context: RequestContext, sandbox: str, body: api.SyncBody) -> api.SyncView:
    order = SyncOrder(body.repo, body.onto, body.act, body.agent, body.now)
    return answer_of(api.SyncView, await context.atoll.syncs.sync(context.caller, sandbox, order))
