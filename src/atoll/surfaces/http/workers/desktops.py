"""Routes of desktops: a person's own machines, which dial in and follow what they are offered.

An offer is a server-sent event, repeated on each connection until its receipt was delivered.
"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.responses import Response

from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.create import CreateWorker
from atoll.domain.workers.dialled import (
    FollowOffer,
    HoldOffer,
    HostOffer,
    RemoveOffer,
    ReturnOffer,
    StartOffer,
    StopOffer,
)
from atoll.domain.workers.ledger import WorkerRequest
from atoll.services.workers.desktops import DesktopSeen
from atoll.surfaces.http.people.feeds import sse_feed
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, Reply, RequestContext
from atoll.wire.api.workers import desktops as api
from atoll.wire.api.workers.desktops import Desktops

operations = Operations()


@operations.serves(Desktops.link)
async def link_desktop(context: RequestContext, desktop: str) -> Reply[api.DesktopView]:
    linked, there = await context.atoll.workers.desktops.link(context.caller, desktop)
    return Reply(_view(linked), 200 if there else 201)


@operations.serves(Desktops.list)
async def list_desktops(context: RequestContext) -> api.DesktopList:
    found = await context.atoll.workers.desktops.list(context.caller)
    return api.DesktopList(desktops=[_view(one) for one in found])


@operations.serves(Desktops.report_presence)
async def report_presence(
    context: RequestContext, desktop: str, body: api.PresenceBody
) -> api.DesktopView:
    told = body.isolation
    wall = Isolation(told.level, told.mechanism, told.degraded)
    return _view(await context.atoll.workers.desktops.heard(context.caller, desktop, wall))


@operations.serves(Desktops.end_presence)
async def end_presence(context: RequestContext, desktop: str) -> None:
    await context.atoll.workers.desktops.left(context.caller, desktop)


@operations.serves(Desktops.unlink)
async def unlink_desktop(context: RequestContext, desktop: str) -> None:
    await context.atoll.workers.desktops.unlink(context.caller, desktop)


@operations.streams(Desktops.offers)
async def follow_offers(context: RequestContext, desktop: str) -> Response:
    desktops, caller = context.atoll.workers.desktops, context.caller
    # Judged before the stream begins, which has no status any more.
    await desktops.check(caller, desktop)
    return sse_feed(_messages(desktops.offers(caller, desktop)))


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


def _view(seen: DesktopSeen) -> api.DesktopView:
    return answer_of(api.DesktopView, seen.desktop, present=seen.there, workers=[*seen.workers])
