"""Routes that go: marked in the OpenAPI document, and announced on each of their answers.

`Deprecation` is that of RFC 9745, `Sunset` and its link relation those of RFC 8594. The policy is
in docs/program/api.md, Deprecation.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from email.utils import format_datetime
from typing import Final, TypeVar

from starlette.datastructures import MutableHeaders
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SHORTEST_NOTICE: Final = timedelta(days=180)
"""A deprecated route is there for so long at least."""

_DECLARED: Final = "deprecation"
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class RouteDeprecation:
    """Deprecation of a route: since when, until when it is there, and what takes its place."""

    since: date
    sunset: date
    link: str

    def headers(self) -> dict[str, str]:
        """Return the headers that announce it."""
        return {
            "Deprecation": f"@{int(_begin(self.since).timestamp())}",
            "Sunset": format_datetime(_begin(self.sunset), usegmt=True),
            "Link": f'<{self.link}>; rel="deprecation"',
        }


def deprecated(since: date, *, sunset: date, link: str) -> Callable[[_Endpoint], _Endpoint]:
    """Declare that a route goes. It stands beside `@needs`. Raises `ValueError` where the notice is
    shorter than the policy promises."""
    if sunset - since < SHORTEST_NOTICE:
        raise ValueError(f"a deprecated route stays for {SHORTEST_NOTICE.days} days at least")

    def declare(endpoint: _Endpoint) -> _Endpoint:
        setattr(endpoint, _DECLARED, RouteDeprecation(since, sunset, link))
        return endpoint

    return declare


def announce_deprecation(route: BaseRoute) -> BaseRoute:
    """Return the route as an app serves it: if deprecated, each of its answers says so."""
    found = getattr(getattr(route, "endpoint", None), _DECLARED, None)
    if not isinstance(found, RouteDeprecation) or not isinstance(route, Route):
        return route
    own = copy(route)
    own.app = _Announcing(own.app, found.headers())
    return own


class _Announcing:
    """An ASGI app that adds headers to each answer."""

    __slots__ = ("_app", "_headers")

    def __init__(self, app: ASGIApp, headers: dict[str, str]) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def announce(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    found.append(name, value)
            await send(message)

        await self._app(scope, receive, announce)


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
