"""The page: serves the built bundle, and explains when there is none.

Only files of the bundle, by exact name; nothing is listed, nothing outside it is opened.
"""

import mimetypes
import re
from pathlib import Path
from typing import Final

import anyio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from atoll.surfaces.http.body.plain_page import plain_page
from atoll.surfaces.http.serving.routes import NamedRoute

BUNDLE: Final = Path(__file__).parents[1] / "static"

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        # The terminal writes its own style elements.
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
FRAME: Final = "pdf.html"
"""The frame that draws a PDF of an agent, and what it may do: nothing beyond its own scripts."""

FRAME_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
        "sandbox allow-scripts",
    )
)


def page_policy(request: Request) -> str:
    """Return the policy of the page: it frames its own frame of PDFs, and previews."""
    origins = request.app.state.origins.for_request(request.scope)
    return f"{POLICY}; frame-src 'self' {origins.frame_source}"


_NAME = re.compile(
    r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}/){0,4}[A-Za-z0-9_-][A-Za-z0-9._-]{0,200}\Z"
)
_HASHED = re.compile(r"[.-][A-Za-z0-9_-]{8,}\.[a-z0-9]+\Z")
_TYPES: Final = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".map": "application/json",
    ".webmanifest": "application/manifest+json",
}


async def index(request: Request) -> Response:
    """Return the page itself, requested anew each time."""
    return await _file(request, "index.html") or plain_page(
        "Atoll is running",
        (
            "The page has not been built in this copy. Build it with `npm ci` and `npm run build` "
            "in ui/, then load this again.",
            "The command line (`atoll --help`) and the API work without it.",
        ),
        (("The API's description", "/openapi.json"),),
    )


async def asset(request: Request) -> Response:
    """Return a file of the bundle; hashed names never change, so they are cached for a year."""
    name = request.path_params["name"]
    answer = await _file(request, name) if _NAME.match(name) else None
    if answer is None:
        raise HTTPException(404)
    return answer


ROUTES: Final = (NamedRoute("GET /", index), NamedRoute("GET /{name:path}", asset))


async def _file(request: Request, name: str) -> Response | None:
    root: Path = request.app.state.bundle
    path = anyio.Path(root / name)
    if not await path.is_file():
        return None
    status = await path.stat()
    tag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
    fixed = _HASHED.search(name) is not None
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable" if fixed else "no-cache",
        "ETag": tag,
    }
    policy = _policy_of(request, name)
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={**policy, **headers})
    body, encoding = await _best(request, path)
    return Response(body, 200, {**policy, **headers, **encoding}, _type_of(name))


def _policy_of(request: Request, name: str) -> dict[str, str]:
    """Return what a file of the bundle may do, and who may use it."""
    if name == FRAME:
        return {"Content-Security-Policy": FRAME_POLICY, "X-Frame-Options": "SAMEORIGIN"}
    # The scripts of a frame without an origin are foreign to it. They are public.
    shared = {"Access-Control-Allow-Origin": "*"} if name.startswith("assets/") else {}
    return {"Content-Security-Policy": page_policy(request), **shared}


async def _best(request: Request, path: anyio.Path) -> tuple[bytes, dict[str, str]]:
    """Return the bytes to send: a compressed file beside the original when the client accepts
    it."""
    accepted = request.headers.get("accept-encoding", "")
    for suffix, encoding in ((".br", "br"), (".gz", "gzip")):
        twin = path.with_name(path.name + suffix)
        if encoding in accepted and await twin.is_file():
            return await twin.read_bytes(), {
                "Content-Encoding": encoding,
                "Vary": "Accept-Encoding",
            }
    return await path.read_bytes(), {}


def _type_of(name: str) -> str:
    suffix = Path(name).suffix
    kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
