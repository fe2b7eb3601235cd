"""The HTTP surface as one ASGI app. It holds no state but its arguments.

The routes of a noun are a module in the folder of its area: `routers` finds them there.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from fastapi import APIRouter, FastAPI

from atoll.domain.people.rate_limit import RateLimit
from atoll.services.application import Application
from atoll.surfaces.http import multiplayer
from atoll.surfaces.http.server import health, openapi, page, problems
from atoll.surfaces.http.server.guard import LOOPBACK_NAMES, Guard, Names
from atoll.surfaces.http.server.permissions import permitted
from atoll.surfaces.http.server.rate_limits import RateLimits

AREAS = ("sandboxes", "terminals", "agents", "network", "people")
"""The folders with the routes of nouns. What is asked for most comes first."""

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class AppSettings:
    """The public face of the app: its host names, its URL, and the place of the built page.

    `outside_url` is the base of links for other machines, None where none reaches the server.
    `rate_limit` holds for each caller, None where there is none.
    """

    names: Names = LOOPBACK_NAMES
    public_url: str | None = None
    outside_url: str | None = None
    bundle: Path = page.BUNDLE
    rate_limit: RateLimit | None = None


def routers() -> list[APIRouter]:
    """Return the routers of all areas: each `APIRouter` that a module of theirs names.

    No route hides one of another module, which a test asks for: their order does not matter.
    """
    found = []
    for area in AREAS:
        package = import_module(f"{__package__}.{area}")
        for entry in iter_modules(package.__path__, f"{package.__name__}."):
            names = vars(import_module(entry.name)).values()
            found += [one for one in names if isinstance(one, APIRouter)]
    return found


def create_app(
    services: Application,
    settings: AppSettings | None = None,
    *,
    lifespan: Lifespan | None = None,
) -> FastAPI:
    """Return the app over these services. The page's catch-all comes last."""
    settings = settings or AppSettings()
    app = FastAPI(title="Atoll", openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.services = services
    app.state.public_url = settings.public_url
    app.state.outside_url = settings.outside_url or settings.public_url
    app.state.bundle = settings.bundle
    if settings.rate_limit is not None:
        app.add_middleware(RateLimits, limit=settings.rate_limit)
    app.add_middleware(
        Guard,
        logins=services.logins,
        shares=services.shares,
        memberships=services.tenancy.memberships,
        names=settings.names,
    )
    problems.register(app)
    for router in (
        *routers(),
        multiplayer.router,
        health.router,
        openapi.router,
        page.router,
    ):
        # Not `include_router`, which would build every route a second time to add nothing to it.
        app.router.routes.extend(map(permitted, router.routes))
    return app
