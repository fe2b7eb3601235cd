"""The HTTP surface as one ASGI app. It holds no state but its arguments."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, FastAPI

from atoll.services.application import Application
from atoll.surfaces.http import multiplayer
from atoll.surfaces.http.agents import agents
from atoll.surfaces.http.network import approvals, networks, secrets
from atoll.surfaces.http.people import events, logins, shares
from atoll.surfaces.http.sandboxes import (
    consumers,
    extensions,
    kept,
    processes,
    profiles,
    sandboxes,
    unpulled,
)
from atoll.surfaces.http.server import health, openapi, page, problems
from atoll.surfaces.http.server.guard import LOOPBACK_NAMES, Guard, Names
from atoll.surfaces.http.terminals import execs, files, ports, recordings, terminals

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class AppSettings:
    """The public face of the app: its host names, its URL, and the place of the built page."""

    names: Names = LOOPBACK_NAMES
    public_url: str | None = None
    bundle: Path = page.BUNDLE


def create_app(
    services: Application,
    settings: AppSettings | None = None,
    *,
    lifespan: Lifespan | None = None,
    more: tuple[APIRouter, ...] = (),
) -> FastAPI:
    """Return the app over these services. `more` are routers of further surfaces, mounted before
    the page's catch-all."""
    settings = settings or AppSettings()
    app = FastAPI(title="Atoll", openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.services = services
    app.state.public_url = settings.public_url
    app.state.bundle = settings.bundle
    app.add_middleware(Guard, logins=services.logins, shares=services.shares, names=settings.names)
    problems.register(app)
    nouns = (
        sandboxes,
        networks,
        terminals,
        recordings,
        agents,
        shares,
        execs,
        processes,
        files,
        unpulled,
        kept,
        ports,
        secrets,
        approvals,
        consumers,
        profiles,
        extensions,
        events,
    )
    for router in (
        *(noun.router for noun in nouns),
        logins.router,
        shares.entrance,
        multiplayer.router,
        health.router,
        openapi.router,
        *more,
        page.router,
    ):
        # Not `include_router`, which would build every route a second time to add nothing to it.
        app.router.routes.extend(router.routes)
    return app
