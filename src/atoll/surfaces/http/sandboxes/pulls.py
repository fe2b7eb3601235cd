"""Routes of pull orders: a pull asked for on the page, taken by a checkout that waits."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field, StrictBool, StrictInt
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.sandbox.pull_order import (
    KEPT_ORDERS,
    Checkout,
    OrderState,
    PullDraft,
    PullOrder,
    PullResult,
)
from atoll.surfaces.http.body.answers import Json, instant, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, Caller, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1", tags=["sandboxes"], route_class=JsonRoute)

MOST_SECONDS = 25

Branch = Annotated[str, Field(min_length=1, max_length=200)]


class PullBody(Body):
    """A pull: `branch` is the one inside (the sandbox's own when left out), or with `pushed` a
    held push; `into` is the branch to write. `uncommitted` adds a commit of what is not
    committed. A held push that is no longer at the commit `expects` is not pulled."""

    repo: Annotated[StrictInt, Field(ge=0, le=15)] = 0
    branch: Branch | None = None
    into: Branch | None = None
    uncommitted: StrictBool = False
    pushed: StrictBool = False
    expects: Annotated[str, Field(pattern="^[0-9a-f]{40}$", strict=True)] | None = None


class TakeBody(Body):
    """The checkout that waits: its key as an upload, and its origin as https."""

    key: Annotated[str, Field(min_length=1, max_length=64)]
    repo_url: Annotated[str, Field(max_length=500)] = ""


class PullResultBody(Body):
    """The end of a pull: the branch that was written, its commit and how many are new, or why
    not."""

    done: StrictBool
    written: Branch | None = None
    commit: Annotated[str, Field(pattern="^[0-9a-f]{40}$", strict=True)] | None = None
    commits: Annotated[StrictInt, Field(ge=0, le=10**9)] = 0
    said: Annotated[str, Field(max_length=1000)] = ""


class PullView(ResponseModel):
    """A pull order. `written` is the branch that was written, now at `commit` with `commits` new
    ones; `said` is how it ended. `expects` is the commit that a held push was seen at."""

    order_id: str
    sandbox_id: str
    sandbox_name: str
    repo: int
    branch: str | None
    into: str | None
    uncommitted: bool
    pushed: bool
    expects: str | None
    state: OrderState
    written: str | None
    commit: str | None
    commits: int
    said: str
    at: str


class PullList(ResponseModel):
    """The caller's pull orders for a sandbox, newest first. `watched` when a checkout waits."""

    pulls: list[PullView]
    watched: bool


@router.post(
    "/sandboxes/{sandbox}/pulls",
    status_code=201,
    response_model=PullView,
    responses=problems(403, 404, 429),
)
@needs(Capability.REPOSITORY_WRITE)
async def order_pull(atoll: Atoll, at: CallerSandbox, *, body: PullBody) -> Response:
    """Order a pull into the checkout in which `atoll pull --watch` waits."""
    draft = PullDraft(
        body.repo, body.branch, body.into, body.uncommitted, body.pushed, body.expects
    )
    return Json(_view(await atoll.home.pulls.order(*at, draft)), 201)


@router.get(
    "/sandboxes/{sandbox}/pulls",
    response_model=PullList,
    responses=problems(404),
    openapi_extra=at_most(KEPT_ORDERS),
)
@needs(Capability.REPOSITORY_READ)
async def list_pulls(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the pull orders for a sandbox."""
    found, watched = await atoll.home.pulls.of(*at)
    return Json({"pulls": [_view(one) for one in found], "watched": watched})


@router.post(
    "/pulls/take",
    response_model=PullView,
    responses={204: {"description": "No order came."}, **problems()},
)
@needs(Capability.REPOSITORY_WRITE)
async def take_pull(
    atoll: Atoll,
    caller: Caller,
    *,
    wait: Annotated[int, Query(description="Seconds to wait.", ge=0, le=MOST_SECONDS)] = 0,
    body: TakeBody,
    request: Request,
) -> Response:
    """Take the oldest pull order for a checkout; each order is taken once."""
    place = Checkout(body.key, body.repo_url.removesuffix(".git"))
    order = await atoll.home.pulls.take(caller, place, seconds=wait)
    if order is not None and await request.is_disconnected():
        await atoll.home.pulls.put_back(order)
        order = None
    return no_content() if order is None else Json(_view(order))


@router.post("/pulls/{order}/result", response_model=PullView, responses=problems(404, 409))
@needs(Capability.REPOSITORY_WRITE)
async def finish_pull(
    atoll: Atoll, caller: Caller, *, order: ItemId, body: PullResultBody
) -> Response:
    """Report how a pull order ended."""
    result = PullResult(body.done, body.written, body.commit, body.commits, body.said)
    return Json(_view(await atoll.home.pulls.finish(caller, order, result)))


@router.delete("/pulls/{order}", status_code=204, responses=problems(404, 409))
@needs(Capability.REPOSITORY_WRITE)
async def cancel_pull(atoll: Atoll, caller: Caller, *, order: ItemId) -> Response:
    """Cancel a pull order that no checkout has taken."""
    await atoll.home.pulls.cancel(caller, order)
    return no_content()


def _view(order: PullOrder) -> dict[str, Any]:
    draft = order.draft
    return PullView.of(
        order,
        order_id=order.id,
        repo=draft.repo,
        branch=draft.branch,
        into=draft.into,
        uncommitted=draft.uncommitted,
        pushed=draft.pushed,
        expects=draft.expects,
        at=instant(order.at),
    )
