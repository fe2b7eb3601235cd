"""Routes of pull orders: a pull asked for on the page, taken by a checkout that waits."""

from atoll.domain.sandboxes.pull_order import Checkout, PullDraft, PullOrder, PullResult
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.library import pulls as api
from atoll.wire.api.library.pulls import Pulls

operations = Operations()


@operations.serves(Pulls.order)
async def order_pull(context: RequestContext, sandbox: str, body: api.PullBody) -> api.PullView:
    draft = PullDraft(
        body.repo, body.branch, body.into, body.uncommitted, body.pushed, body.expects
    )
    return _view(await context.atoll.home.pulls.order(context.caller, sandbox, draft))


@operations.serves(Pulls.list)
async def list_pulls(context: RequestContext, sandbox: str) -> api.PullList:
    found, watched = await context.atoll.home.pulls.of(context.caller, sandbox)
    return api.PullList(pulls=[_view(one) for one in found], watched=watched)


@operations.serves(Pulls.take)
async def take_pull(
    context: RequestContext, body: api.TakeBody, *, wait: int = 0
) -> api.PullView | None:
    place = Checkout(body.key, body.repo_url.removesuffix(".git"))
    pulls = context.atoll.home.pulls
    order = await pulls.take(context.caller, place, seconds=wait)
    if order is not None and await context.request.is_disconnected():
        await pulls.put_back(order)
        order = None
    return None if order is None else _view(order)


@operations.serves(Pulls.finish)
async def finish_pull(
    context: RequestContext, order: str, body: api.PullResultBody
) -> api.PullView:
    result = PullResult(body.done, body.written, body.commit, body.commits, body.said)
    return _view(await context.atoll.home.pulls.finish(context.caller, order, result))


@operations.serves(Pulls.cancel)
async def cancel_pull(context: RequestContext, order: str) -> None:
    await context.atoll.home.pulls.cancel(context.caller, order)


def _view(order: PullOrder) -> api.PullView:
    draft = order.draft
    return answer_of(
        api.PullView,
        order,
        order_id=order.id,
        repo=draft.repo,
        branch=draft.branch,
        into=draft.into,
        uncommitted=draft.uncommitted,
        pushed=draft.pushed,
        expects=draft.expects,
    )
