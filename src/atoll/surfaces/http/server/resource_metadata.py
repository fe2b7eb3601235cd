"""Metadata of the protected resource `/mcp` (RFC 9728), by which a client learns how to log in.

No authorization server of ours is named: a token is made by `atoll token create`, or exchanged.
"""

from typing import Final
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.datastructures import URL
from starlette.responses import Response
from starlette.types import Scope

from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.server.token_paths import MCP

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"

router = APIRouter(tags=["server"])


@router.get(WELL_KNOWN, response_model=dict[str, object])
@router.get(f"{WELL_KNOWN}{MCP}", response_model=dict[str, object], include_in_schema=False)
async def protected_resource(request: Request) -> Response:
    """Return the metadata of the tools' endpoint (RFC 9728 §2)."""
    told = {
        "resource": f"{_base(request.scope)}{MCP}",
        "bearer_methods_supported": ["header"],
        "resource_name": "Atoll",
    }
    return Json(told)


def challenge(scope: Scope) -> str:
    """Return the value of `WWW-Authenticate` for a request that needs a login (RFC 9728 §5.1)."""
    if scope["path"] != MCP:
        return 'Bearer realm="atoll"'
    return f'Bearer realm="atoll", resource_metadata="{_base(scope)}{WELL_KNOWN}{MCP}"'


def _base(scope: Scope) -> str:
    """Return the server's URL as the client named it; the guard has checked that name. A proxy in
    front may speak TLS, which `public_url` says."""
    url = URL(scope=scope)
    app = scope.get("app")
    public = urlsplit("" if app is None else app.state.public_url or "")
    if public.netloc == url.netloc:
        return f"{public.scheme}://{public.netloc}"
    return f"{url.scheme}://{url.netloc}"
