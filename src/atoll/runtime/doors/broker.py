"""The broker door: model calls leave the sandbox here, and get their key on the way out.

Served on the listeners that init bound inside and sent out (127.0.0.1 and ::1, port 8082),
so who is calling is known by where the call came in. Nothing here decides: `domain.provider`
judges, this passes bytes on, both ways, as they come.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from time import monotonic

import aiohttp
from aiohttp import web
from yarl import URL

from atoll.domain.audit_budget import AuditBudget
from atoll.domain.key_mask import MASK, KeyMask
from atoll.domain.provider import Passage, Refusal, Upstream, judge, passes_back, redirect_stays

Audit = Callable[[str, Mapping[str, object]], None]
"""Called with a kind and what happened: never a body, a key or a header value."""

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_ERROR_BYTES = 256 * 1024
CHUNK_BYTES = 64 * 1024
CONNECT_SECONDS = 15
IDLE_SECONDS = 300


@dataclass(slots=True)
class _Call:
    """One request's record for the audit."""

    provider: str
    method: str
    rule: str = ""
    outcome: str = "error"
    status: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


class _TooLarge(Exception):
    """The request's body went past `MAX_BODY_BYTES`."""


class Broker:
    """Handles `/broker/{provider}/{path}`. Connections upstream are opened on first use."""

    def __init__(self, upstreams: Mapping[str, Upstream], audit: Audit) -> None:
        self._upstreams = upstreams
        self._audit = audit
        self._session: aiohttp.ClientSession | None = None
        self._budget = AuditBudget(monotonic())

    def app(self) -> web.Application:
        """The application to serve on the door's listeners."""
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        app.on_cleanup.append(self._close)
        return app

    async def _close(self, _app: web.Application) -> None:
        if self._session is not None:
            await self._session.close()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        started = monotonic()
        name, raw_path = _split(request.rel_url.raw_path)
        call = _Call(name, request.method)
        try:
            if not request.raw_path.startswith("/"):
                # Absolute forms are for proxies: who names another server means another server.
                return _refuse(call, Refusal(400, "bad_path", "a path must begin with /broker/"))
            upstream = self._upstreams.get(name)
            if upstream is None:
                return _refuse(call, Refusal(404, "unknown_provider", _unknown(self._upstreams)))
            verdict = judge(
                upstream,
                request.method,
                raw_path,
                query=request.rel_url.raw_query_string,
                headers=tuple(request.headers.items()),
            )
            if isinstance(verdict, Refusal):
                return _refuse(call, verdict)
            call.rule = verdict.rule
            return await self._forward(request, upstream, verdict, call=call)
        finally:
            self._record(call, monotonic() - started)

    def _record(self, call: _Call, seconds: float) -> None:
        unrecorded = self._budget.take(monotonic())
        if unrecorded is None:
            return
        self._audit(
            "door.request",
            {
                **({"unrecorded": unrecorded} if unrecorded else {}),
                "provider": call.provider[:64],
                "method": call.method[:16],
                "path_class": call.rule,
                "outcome": call.outcome,
                "status": call.status,
                "bytes_in": call.bytes_in,
                "bytes_out": call.bytes_out,
                "milliseconds": round(seconds * 1000),
            },
        )

    async def _forward(
        self, request: web.Request, upstream: Upstream, passage: Passage, *, call: _Call
    ) -> web.StreamResponse:
        body = _counted(request, call) if request.body_exists else None
        try:
            async with self._client().request(
                request.method,
                URL(passage.url, encoded=True),
                headers=dict(passage.headers),
                data=body,
                allow_redirects=False,
            ) as answer:
                return await _pass_back(request, answer, upstream, call=call)
        except (aiohttp.ClientError, TimeoutError, OSError, _TooLarge) as err:
            if call.bytes_in > MAX_BODY_BYTES:  # the client gives its own name to what we raised
                message = f"a request's body may have {MAX_BODY_BYTES} bytes here"
                return _refuse(call, Refusal(413, "too_large", message))
            call.outcome = "upstream_unreachable"
            message = f"{upstream.provider.name} could not be reached: {type(err).__name__}"
            return _refuse(call, Refusal(502, "upstream_unreachable", message))

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS, sock_read=IDLE_SECONDS
            )
            self._session = aiohttp.ClientSession(
                timeout=timeout,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                read_bufsize=CHUNK_BYTES,
            )
        return self._session


async def _pass_back(
    request: web.Request, answer: aiohttp.ClientResponse, upstream: Upstream, *, call: _Call
) -> web.StreamResponse:
    location = answer.headers.get("Location", "")
    if answer.status in {301, 302, 303, 307, 308} and not redirect_stays(
        upstream.base_url, location
    ):
        return _refuse(call, Refusal(502, "redirect_blocked", "the provider redirects elsewhere"))
    if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
        # It was asked for plain bytes; in packed ones nobody could see the key.
        return _refuse(
            call, Refusal(502, "packed_answer", "the provider answered with packed bytes")
        )
    call.outcome, call.status = "passed", answer.status
    response = _head(answer, upstream.key)
    if answer.status >= 400:
        return await _pass_error(request, response, answer, upstream=upstream, call=call)
    await response.prepare(request)
    mask = KeyMask(upstream.key.encode())
    try:
        async for chunk in answer.content.iter_any():
            call.bytes_out += len(chunk)
            if shown := mask.feed(chunk):
                await response.write(shown)
    except (aiohttp.ClientError, TimeoutError, ConnectionError):
        # The head is out: only a cut connection can still say that the answer is not whole.
        call.outcome = "cut_short"
        if request.transport is not None:
            request.transport.abort()
        return response
    await response.write_eof(mask.end())
    return response


def _head(answer: aiohttp.ClientResponse, key: str) -> web.StreamResponse:
    """The answer's head as it goes inside: nothing of the broker's, and never the key."""
    mask = MASK.decode()
    reason = "".join(each for each in answer.reason or "" if each.isprintable())
    response = web.StreamResponse(status=answer.status, reason=reason.replace(key, mask))
    connection = answer.headers.get("Connection", "")
    for name, value in answer.headers.items():
        if passes_back(name, connection) and value.isprintable() and key not in name:
            response.headers.add(name, value.replace(key, mask))
    return response


async def _pass_error(
    request: web.Request,
    response: web.StreamResponse,
    answer: aiohttp.ClientResponse,
    *,
    upstream: Upstream,
    call: _Call,
) -> web.StreamResponse:
    """Providers quote the key they were sent in their errors: read it whole, mask it."""
    text = bytearray()
    whole = True
    async for chunk in answer.content.iter_any():
        text += chunk[: MAX_ERROR_BYTES - len(text)]
        whole = len(text) < MAX_ERROR_BYTES
        if not whole:
            break
    mask = KeyMask(upstream.key.encode())
    # What is cut off in the middle may end with a part of the key.
    masked = mask.feed(bytes(text)) + (mask.end() if whole else b"")
    call.bytes_out += len(masked)
    await response.prepare(request)
    await response.write(masked)
    await response.write_eof()
    return response


async def _counted(request: web.Request, call: _Call) -> AsyncIterator[bytes]:
    async for chunk in request.content.iter_any():
        call.bytes_in += len(chunk)
        if call.bytes_in > MAX_BODY_BYTES:
            raise _TooLarge
        yield chunk


def _split(raw_path: str) -> tuple[str, str]:
    """`/broker/openai/v1/x` → (`openai`, `/v1/x`); a provider's name is matched as sent."""
    parts = raw_path.split("/", 3)
    if len(parts) < 3 or parts[0] != "" or parts[1] != "broker":
        return "", raw_path
    return parts[2], "/" + (parts[3] if len(parts) == 4 else "")


def _unknown(upstreams: Mapping[str, Upstream]) -> str:
    known = ", ".join(sorted(upstreams)) or "none yet: add one to keys.toml"
    return f"no such provider here, or it has no key; with a key: {known}"


def _refuse(call: _Call, refusal: Refusal) -> web.Response:
    call.status = refusal.status
    if call.outcome == "error":
        call.outcome = refusal.error
    body = json.dumps({"error": refusal.error, "message": refusal.message})
    return web.Response(status=refusal.status, text=body, content_type="application/json")
