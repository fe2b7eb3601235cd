"""Routes of the app: found in the areas' folders, and none in the way of another."""

import re

from starlette.routing import Match, Route, WebSocketRoute

from atoll.surfaces.http.app import routers
from atoll.wiring.control.openapi import routes_only


def test_no_route_hides_one_of_another_module() -> None:
    routes = [r for r in routes_only().router.routes if isinstance(r, Route | WebSocketRoute)]
    assert len(routes) > 100
    for route in routes:
        kind = "http" if isinstance(route, Route) else "websocket"
        for method in getattr(route, "methods", None) or {"GET"}:
            path = re.sub(r"\{[^}]*\}", "x", route.path)
            scope = {"type": kind, "method": method, "path": path, "headers": []}
            first = next(one for one in routes if one.matches(dict(scope))[0] is Match.FULL)
            assert first.endpoint.__module__ == route.endpoint.__module__, (method, route.path)


def test_each_router_is_found_once() -> None:
    found = routers()
    assert len({id(one) for one in found}) == len(found) > 15
