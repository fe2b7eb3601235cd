"""The server about itself: its health, and the metadata of the tools' endpoint. No credential is
needed.

By that metadata of `/mcp` (RFC 9728) a client learns how to log in. No authorization server of ours
is named: a token is made by `atoll token create`, or exchanged.
"""

from typing import Any

from atoll.domain.errors import Unavailable
from atoll.surfaces.http.server.problems import WELL_KNOWN, base_url
from atoll.surfaces.http.server.token_paths import MCP
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.server import Health, HealthView, Resource

health = Operations()
resource = Operations()


@health.serves(Health.alive)
async def alive(context: RequestContext) -> HealthView:
    del context
    return HealthView(status="ok")


@health.serves(Health.ready)
async def ready(context: RequestContext) -> HealthView:
    reason = await context.atoll.readiness()
    if reason is not None:
        raise Unavailable(f"not ready: {reason}")
    return HealthView(status="ok", degraded=[*context.atoll.replication.troubles])


@resource.serves(Resource.describe)
async def protected_resource(context: RequestContext) -> dict[str, Any]:
    return {
        "resource": f"{base_url(context.request.scope)}{MCP}",
        "bearer_methods_supported": ["header"],
        "resource_name": "Atoll",
    }


ROUTES = (
    *health.routes,
    *resource.routes,
    *resource.below(WELL_KNOWN, f"{WELL_KNOWN}{MCP}").routes,
)
