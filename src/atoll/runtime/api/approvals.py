"""Routes of a runtime's asks: pending requests from inside, and decisions from outside."""

import msgspec
from aiohttp import web

from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import answer, read_json
from atoll.runtime.doors.approvals.command_requests import CommandRequest
from atoll.wire.contract.journal import DecideBody


class AskView(msgspec.Struct):
    """Pending approval request; `subject` is what a person decides on."""

    ask_id: str
    kind: str
    at: str
    expires_at: str
    subject: dict[str, object]


class AskList(msgspec.Struct):
    """The response of `GET /asks`."""

    asks: list[AskView]


def routes() -> list[web.RouteDef]:
    """Return the routes `GET /asks` and `POST /asks/{id}`."""
    return [web.get("/asks", _read), web.post("/asks/{ask}", _decide)]


async def _read(request: web.Request) -> web.Response:
    return answer(AskList([_view(ask) for ask in parts_of(request).asks.list_pending()]))


async def _decide(request: web.Request) -> web.Response:
    body = await read_json(request, DecideBody)
    allow = body.decision == "allow"
    parts_of(request).asks.decide(request.match_info["ask"], allow=allow)
    return web.Response(status=204)


def _view(ask: CommandRequest) -> AskView:
    return AskView(ask.id, "command", ask.at.isoformat(), ask.expires_at.isoformat(), ask.subject)
