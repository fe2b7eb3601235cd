"""Routes of a runtime's asks: pending requests from inside, and decisions from outside."""

import msgspec
from aiohttp import web

from atoll.runtime.api.parts import Parts
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
    """The answer of `GET /asks`."""

    asks: list[AskView]


def routes(parts: Parts) -> list[web.RouteDef]:
    """Return the routes `GET /asks` and `POST /asks/{id}`."""

    async def read(_request: web.Request) -> web.Response:
        return answer(AskList([_view(ask) for ask in parts.asks.list_pending()]))

    async def decide(request: web.Request) -> web.Response:
        body = await read_json(request, DecideBody)
        parts.asks.decide(request.match_info["ask"], allow=body.decision == "allow")
        return web.Response(status=204)

    return [web.get("/asks", read), web.post("/asks/{ask}", decide)]


def _view(ask: CommandRequest) -> AskView:
    return AskView(ask.id, "command", ask.at.isoformat(), ask.expires_at.isoformat(), ask.subject)
