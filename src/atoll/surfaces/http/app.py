"""The HTTP surface as one ASGI app. It holds no state but its arguments.

The routes of a noun are a module in the folder of its area, or the area's only one: `routers` finds
them there.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from atoll.domain.people.rate_limit import RateLimit
from atoll.services.application import Application
from atoll.services.telemetry import OFF, Telemetry
from atoll.surfaces.http import multiplayer
from atoll.surfaces.http.previews.gate import PreviewGate
from atoll.surfaces.http.previews.origins import LOOPBACK_ORIGINS, PreviewOrigins
from atoll.surfaces.http.server import problems, token_paths
from atoll.surfaces.http.server.correlation import Correlation
from atoll.surfaces.http.server.deprecation import announce_deprecation
from atoll.surfaces.http.server.front_end import FrontEnd
from atoll.surfaces.http.server.guard import Guard
from atoll.surfaces.http.server.host_names import LOOPBACK_NAMES, Names
from atoll.surfaces.http.server.internal_access import InternalAccess
from atoll.surfaces.http.server.permissions import PUBLIC_PATHS, require_permission
from atoll.surfaces.http.server.rate_limits import OpenCalls, RateLimits
from atoll.surfaces.http.serving import openapi
from atoll.surfaces.http.serving.routes import Sockets
from atoll.surfaces.http.serving.serve import Operations
from atoll.surfaces.http.site import about, metrics, page
from atoll.surfaces.http.site.metrics import MetricsAccess
from atoll.surfaces.http.ssh import gateway as ssh_gateway
from atoll.surfaces.http.ssh.gateway import SshAccess
from atoll.surfaces.http.strict_queries import strict

AREAS = (
    "sandboxes",
    "library",
    "forges",
    "terminals",
    "agents",
    "inbox",
    "logins",
    "tools",
    "workers",
    "dashboards",
    "previews",
    "secrets",
    "approvals",
    "webhooks",
    "hooks",
    "ssh",
    "journals",
    "drive",
    "hosts",
    "routes",
    "people",
    "overview",
    "work",
)
"""The folders and modules with the routes of nouns. What is asked for most comes first."""

Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class AppSettings:
    """The public face of the app: its host names, its URL, and the place of the built page.

    `outside_url` is the base of links for other machines, None where none reaches the server.
    `rate_limit` holds for each caller, None where there is none.
    `front_end` may name the principal of a request, None where nobody may.
    `internal` is the access of trusted services, None where there are none.
    `previews` are the names at which previews are served instead of the API. `mcp` answers at
    `/mcp`, None where nothing does.
    `ssh` is the access of the SSH gateway, None where there is none.
    `metrics` says who may read the metrics of `telemetry`, None where nobody may.
    """

    names: Names = LOOPBACK_NAMES
    public_url: str | None = None
    outside_url: str | None = None
    bundle: Path = page.BUNDLE
    rate_limit: RateLimit | None = None
    front_end: FrontEnd | None = None
    internal: InternalAccess | None = None
    metrics: MetricsAccess | None = None
    telemetry: Telemetry = OFF
    previews: PreviewOrigins = LOOPBACK_ORIGINS
    ssh: SshAccess | None = None
    mcp: ASGIApp | None = None

    @property
    def secrets(self) -> tuple[bytes, ...]:
        """Return the secrets by which programs come in, which no request carries into a sandbox."""
        metrics = None if self.metrics is None else self.metrics.token
        found = (
            None if self.internal is None else self.internal.token,
            None if self.front_end is None else self.front_end.secret,
            None if metrics is None else metrics.encode(),
            None if self.ssh is None else self.ssh.token.encode(),
        )
        return tuple(one for one in found if one)


def routers() -> list[Operations | Sockets]:
    """Return the routers of all areas: each `Operations` and `Sockets` that a module of theirs
    names.

    No route hides one of another module, which a test asks for: their order does not matter.
    """
    found: list[Operations | Sockets] = []
    for module in (module for area in AREAS for module in _modules_of(area)):
        found += [one for one in vars(module).values() if isinstance(one, Operations | Sockets)]
    return found


def _modules_of(area: str) -> list[ModuleType]:
    own = import_module(f"{__package__}.{area}")
    entries = iter_modules(getattr(own, "__path__", ()), f"{own.__name__}.")
    return [own, *(import_module(entry.name) for entry in entries)]


@cache
def shared_routes() -> tuple[BaseRoute, ...]:
    """Return the routes of every app. They hold nothing of one: apps of a process share them."""
    last = (
        *multiplayer.operations.routes,
        *multiplayer.sockets.routes,
        *about.ROUTES,
        *openapi.ROUTES,
        *page.ROUTES,
    )
    found = (route for router in routers() for route in router.routes)
    return tuple(
        announce_deprecation(require_permission(strict(route))) for route in (*found, *last)
    )


def create_app(
    services: Application,
    settings: AppSettings | None = None,
    *,
    lifespan: Lifespan | None = None,
) -> Starlette:
    """Return the app over these services. The page's catch-all comes last."""
    settings = settings or AppSettings()
    app = Starlette(lifespan=lifespan)
    _fill(app, services, settings)
    app.add_middleware(OpenCalls)
    if settings.rate_limit is not None:
        app.add_middleware(RateLimits, limit=settings.rate_limit)
    app.add_middleware(
        Guard,
        bearers=services.tenancy.credentials.bearers,
        logins=services.logins,
        shares=services.shares,
        memberships=services.tenancy.memberships,
        names=settings.names,
        front_end=settings.front_end,
        internal=settings.internal,
        public=_public_paths(settings),
    )
    # Outside the guard: a preview's name never leads to the API, nor a login to a preview.
    own = (services.previews.own, settings.secrets)
    visits, origins = services.previews.visits, settings.previews
    app.add_middleware(PreviewGate, visits=visits, origins=origins, own=own)
    # Added last, so that it is the outermost.
    app.add_middleware(Correlation, telemetry=settings.telemetry)
    problems.register(app)
    if settings.metrics is not None:
        # It needs no permission: it asks for a credential of its own.
        app.router.routes.extend(metrics.ROUTES)
    if settings.ssh is not None:
        app.router.routes.extend(ssh_gateway.ROUTES)
    if settings.mcp is not None:
        # It asks for the permission of each tool by itself.
        app.router.routes.append(Route(token_paths.MCP, settings.mcp, include_in_schema=False))
    app.router.routes.extend(shared_routes())
    return app


def _fill(app: Starlette, services: Application, settings: AppSettings) -> None:
    """Put what routes read into the state of the app."""
    app.state.services = services
    app.state.public_url = settings.public_url
    app.state.outside_url = settings.outside_url or settings.public_url
    app.state.bundle = settings.bundle
    app.state.origins = settings.previews
    app.state.metrics, app.state.telemetry = settings.metrics, settings.telemetry
    app.state.ssh = settings.ssh


def _public_paths(settings: AppSettings) -> frozenset[str]:
    """Return the paths that the guard lets everybody ask: some have a credential of their own."""
    metered = frozenset() if settings.metrics is None else {metrics.PATH}
    return (
        frozenset(PUBLIC_PATHS)
        | metered
        | (frozenset() if settings.ssh is None else ssh_gateway.PATHS)
    )
