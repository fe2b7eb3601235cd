"""Routes of acts on the work in a sandbox."""

import msgspec

from atoll.services.work.merges import MergeOrder
from atoll.surfaces.http.sandboxes.view import sandbox_view
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.sandboxes import works as api
from atoll.wire.api.sandboxes.views import SandboxView
from atoll.wire.api.sandboxes.works import Works

operations = Operations()


@operations.serves(Works.review)
async def review_work(context: RequestContext, sandbox: str, body: api.ReviewBody) -> SandboxView:
    reviews, caller = context.atoll.work.reviews, context.caller
    reviewed = await reviews.review(caller, sandbox, mark=body.mark, reviewed=body.reviewed)
    return await sandbox_view(context.atoll, reviewed)


@operations.serves(Works.merge)
async def merge_work(
    context: RequestContext, sandbox: str, body: api.MergeBody
) -> api.MergeResultView:
    given = msgspec.structs.asdict(body)
    order = MergeOrder(hand_over=given.pop("agent"), **given)
    result = await context.atoll.work.merges.merge(context.caller, sandbox, order)
    return answer_of(api.MergeResultView, result)
