"""One permission for each operation: routes and WebSockets, found by themselves."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

from atoll.domain.people.capability import EVERY_CAPABILITY, Capability
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.surfaces.http.server.permissions import (
    EXTENSION,
    PUBLIC_PATHS,
    WITHOUT_PERMISSION,
    permission_of,
    require_permission,
)
from atoll.surfaces.http.serving.openapi import document
from atoll.surfaces.mcp.toolbox import toolbox
from atoll.wiring.control.openapi import routes_only

API_PAGE = Path(__file__).parents[2] / "docs/program/api.md"


@cache
def _routes() -> list[Route | WebSocketRoute]:
    return [r for r in routes_only().router.routes if isinstance(r, Route | WebSocketRoute)]


def test_every_route_and_websocket_declares_one_permission_or_a_reason() -> None:
    routes = _routes()
    assert len(routes) > 130
    assert sum(isinstance(one, WebSocketRoute) for one in routes) >= 4
    for route in routes:
        listed = route.path in PUBLIC_PATHS or route.path in WITHOUT_PERMISSION
        assert (permission_of(route) is None) == listed, route.path
    paths = {one.path for one in routes}
    # Files of the page are served by its catch-all, under their own names.
    assert set(WITHOUT_PERMISSION) <= paths
    assert set(PUBLIC_PATHS) - {"/index.html", "/sw.js", "/pdf.html"} <= paths
    assert all(reason for reason in (*PUBLIC_PATHS.values(), *WITHOUT_PERMISSION.values()))


def test_an_app_with_a_route_that_declares_nothing_does_not_start() -> None:
    async def lamps(request: Request) -> Response:
        return Response()

    with pytest.raises(LookupError, match="/v1/lamps"):
        require_permission(Route("/v1/lamps", lamps))


def test_the_document_shows_each_permission() -> None:
    made: dict[str, Any] = document(routes_only())
    shown = {
        (method.upper(), path): operation.get(EXTENSION)
        for path, item in made["paths"].items()
        for method, operation in item.items()
    }
    declared = {
        (method, route.path_format): permission_of(route)
        for route in _routes()
        if isinstance(route, Route) and route.include_in_schema
        for method in route.methods or ()
    }
    assert shown == declared
    sockets = {one.path_format: one for one in _routes() if isinstance(one, WebSocketRoute)}
    assert set(made["x-websockets"]) == set(sockets)
    for path, shape in made["x-websockets"].items():
        assert shape[EXTENSION] == permission_of(sockets[path]), path


def test_every_permission_guards_something_and_is_on_the_page() -> None:
    page = API_PAGE.read_text(encoding="utf-8")
    used = {permission_of(route) for route in _routes()}
    used |= {one.tool.inside for one in toolbox().all()}
    later = {Capability.WEBHOOK_MANAGE, Capability.TOKEN_MANAGE}
    later |= {Capability.ORG_READ, Capability.ORG_MANAGE}
    assert EVERY_CAPABILITY - later <= used
    assert [one.value for one in Capability if f"`{one.value}`" not in page] == []


class _Inner:
    """The app behind the gate: it remembers that it was called."""

    called = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.called = True


@pytest.mark.parametrize("route", _routes(), ids=lambda one: f"{one.name}")
async def test_a_caller_without_the_permission_is_refused_before_the_route_runs(
    route: Route | WebSocketRoute,
) -> None:
    capability = permission_of(route)
    if capability is None:
        return
    inner, bare = _Inner(), next(r for r in _all_bare() if r.endpoint is route.endpoint)
    own = require_permission(_with_app(bare, inner))
    assert isinstance(own, Route | WebSocketRoute)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def call(capabilities: frozenset[Capability]) -> None:
        caller = replace(LOCAL_PERSON, capabilities=capabilities)
        kind = "http" if isinstance(route, Route) else "websocket"
        extensions: dict[str, Any] = {"websocket.http.response": {}}
        scope = {"type": kind, "state": {"caller": caller}, "extensions": extensions, "headers": []}
        await own.app(scope, _nothing, send)

    await call(EVERY_CAPABILITY - {capability})
    assert not inner.called
    assert sent[0]["status"] == 403
    problem = json.loads(sent[1]["body"])
    assert problem["code"] == "forbidden"
    assert capability.value in problem["detail"]
    await call(frozenset({capability}))
    assert inner.called


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request"}


@cache
def _all_bare() -> list[Route | WebSocketRoute]:
    from atoll.surfaces.http import multiplayer
    from atoll.surfaces.http.app import routers

    sessions = (multiplayer.operations, multiplayer.sockets)
    found = [route for router in (*routers(), *sessions) for route in router.routes]
    return [one for one in found if isinstance(one, Route | WebSocketRoute)]


def _with_app(route: Route | WebSocketRoute, app: _Inner) -> Route | WebSocketRoute:
    from copy import copy

    own = copy(route)
    own.app = app
    return own
