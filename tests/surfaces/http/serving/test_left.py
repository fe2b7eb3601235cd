"""Routes of the API that are not declared yet: the number only falls."""

from fastapi.routing import APIRoute

from atoll.surfaces.http.app import shared_routes

LEFT = 0
OUTSIDE = ("/auth/", "/.well-known/", "/healthz", "/readyz", "/openapi.json", "/{name:path}")
"""Logins by cookie, probes and the page: they are no operations of the API."""


def test_routes_that_are_not_declared_become_fewer() -> None:
    left = [
        route.path
        for route in shared_routes()
        if isinstance(route, APIRoute) and route.path != "/" and not route.path.startswith(OUTSIDE)
    ]
    assert len(left) <= LEFT, "declare a new route in wire/api"
