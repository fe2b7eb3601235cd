"""Routes of desktops: a person's own machines, which dial in and follow what they are offered.

An offer is a server-sent event, repeated on each connection until its receipt was delivered.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Path
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.worker.create import CreateWorker
from atoll.domain.worker.desktop import MAX_DESKTOPS
from atoll.domain.worker.dialled import (
    FollowOffer,
    HoldOffer,
    HostOffer,
    RemoveOffer,
    ReturnOffer,
    StartOffer,
    StopOffer,
)
from atoll.domain.worker.ledger import WorkerRequest
from atoll.services.workers.desktops import DesktopSeen
from atoll.surfaces.http.body.answers import Json, instant, no_content
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.streams import stream_of
from atoll.surfaces.http.people.feeds import sse_feed
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.workers.host_bodies import PresenceBody
from atoll.surfaces.http.workers.views import IsolationView
from atoll.wire.words.media_types import SSE

router = APIRouter(prefix="/v1/desktops", tags=["workers"], route_class=JsonRoute)

_FAILURES: Final = problems(404, 409)
Desktop = Annotated[
    str, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$", description="The desktop's name.")
]


class DesktopView(ResponseModel):
    """A linked desktop. `present`: its lane runs. `heard_at` is when that was heard last, null
    where it never was, and once it has ended. `isolation` is the wall that it reports, null before
    its lane has run. `workers` are those that it has."""

    name: str
    present: bool
    linked_at: str
    heard_at: str | None
    isolation: IsolationView | None
    workers: list[str]


class DesktopList(ResponseModel):
    """The caller's desktops, by name."""

    desktops: list[DesktopView]


@router.put(
    "/{desktop}",
    response_model=DesktopView,
    responses={201: {"model": DesktopView, "description": "Linked."}, **problems(409)},
)
@needs(Capability.AGENT_USE)
async def link_desktop(atoll: Atoll, caller: Caller, *, desktop: Desktop) -> Response:
    """Link a machine of the caller's own. A repetition changes nothing."""
    linked, there = await atoll.workers.desktops.link(caller, desktop)
    return Json(_view(linked), 200 if there else 201)


@router.get(
    "",
    response_model=DesktopList,
    responses=problems(),
    openapi_extra=at_most(MAX_DESKTOPS),
)
@needs(Capability.AGENT_USE)
async def list_desktops(atoll: Atoll, caller: Caller) -> Response:
    """List the caller's desktops; a person has few."""
    found = await atoll.workers.desktops.list(caller)
    return Json({"desktops": [_view(one) for one in found]})


@router.put("/{desktop}/presence", response_model=DesktopView, responses=_FAILURES)
@needs(Capability.AGENT_USE)
async def report_presence(
    atoll: Atoll, caller: Caller, *, desktop: Desktop, body: PresenceBody
) -> Response:
    """Report that a desktop's lane runs, and its wall. It is repeated within 20 seconds."""
    return Json(_view(await atoll.workers.desktops.heard(caller, desktop, body.to_domain())))


@router.delete("/{desktop}/presence", status_code=204, responses=_FAILURES)
@needs(Capability.AGENT_USE)
async def end_presence(atoll: Atoll, caller: Caller, *, desktop: Desktop) -> Response:
    """Report that a desktop's lane has ended."""
    await atoll.workers.desktops.left(caller, desktop)
    return no_content()


@router.delete("/{desktop}", status_code=204, responses=_FAILURES)
@needs(Capability.AGENT_USE)
async def unlink_desktop(atoll: Atoll, caller: Caller, *, desktop: Desktop) -> Response:
    """Unlink a desktop: the leases of its workers end."""
    await atoll.workers.desktops.unlink(caller, desktop)
    return no_content()


@router.get(
    "/{desktop}/offers",
    response_model=None,
    responses={**stream_of(SSE, "One server-sent event for each offer."), **_FAILURES},
)
@needs(Capability.AGENT_USE)
async def follow_offers(atoll: Atoll, caller: Caller, *, desktop: Desktop) -> Response:
    """Follow what a desktop shall do: every offer without a receipt, then each as it comes."""
    # Judged before the stream begins, which has no status any more.
    await atoll.workers.desktops.check(caller, desktop)
    return sse_feed(_messages(atoll.workers.desktops.offers(caller, desktop)))


async def _messages(offers: AsyncIterator[HostOffer]) -> AsyncIterator[bytes]:
    async for one in offers:
        if isinstance(one.command, StartOffer):
            yield b"event: lease\ndata: %s\n\n" % msgspec.json.encode(_lease(one, one.command))
        data = msgspec.json.encode(offer_view(one))
        yield b"id: %d\nevent: offer\ndata: %s\n\n" % (one.number, data)


def _lease(offer: HostOffer, start: StartOffer) -> dict[str, Any]:
    """Return the frame before a start: the token by which its worker's items are delivered."""
    return {
        "worker_id": offer.created.worker_id,
        "epoch": offer.epoch,
        "token": start.token,
        "reattachable": start.reattachable,
    }


def offer_view(offer: HostOffer) -> dict[str, Any]:
    """Return an offer as a frame, as `proto/` has it: one member says what to do."""
    created = offer.created
    head = {"worker_id": created.worker_id, "epoch": offer.epoch, "number": offer.number}
    match offer.command:
        case StartOffer():
            return {**head, "provision": _provision(created)}
        case WorkerRequest(request_id, method, params):
            told = msgspec.json.encode(params).decode()
            return {**head, "request": {"request_id": request_id, "method": method, "params": told}}
        case StopOffer():
            return {**head, "stop": {}}
        case RemoveOffer():
            return {**head, "remove": {}}
        case HoldOffer(thread_id):
            return {**head, "hold": {"thread_id": thread_id}}
        case ReturnOffer(thread_id):
            return {**head, "give_back": {"thread_id": thread_id}}
        case FollowOffer():
            return {**head, "follow": {}}


def _provision(created: CreateWorker) -> dict[str, Any]:
    told = {
        "worker_id": created.worker_id,
        "agent": created.agent,
        "permissions": created.permissions,
    }
    return told if created.thread_id is None else {**told, "thread_id": created.thread_id}


def _view(seen: DesktopSeen) -> dict[str, Any]:
    desktop = seen.desktop
    wall = desktop.isolation
    return DesktopView.of(
        desktop,
        present=seen.there,
        linked_at=instant(desktop.linked_at),
        heard_at=None if desktop.heard_at is None else instant(desktop.heard_at),
        isolation=None if wall is None else IsolationView.of(wall, degraded=[*wall.degraded]),
        workers=[*seen.workers],
    )
