"""Who may speak at all: credentials, names, origins, on every route."""

import http.client
import json
from typing import Any

import aiohttp
import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Message
from starlette.websockets import WebSocket

from atoll.surfaces.http.app import create_app
from atoll.surfaces.http.server.credentials import PAGE_KEY
from atoll.surfaces.http.server.host_names import Names, names_for
from tests.surfaces.http.world import World, client_of, document_text

OPEN = (
    {"/healthz", "/readyz", "/openapi.json", "/.well-known/jwks.json"}
    | {"/.well-known/oauth-protected-resource", "/v1/ingest/{source}/{hook}"}
    | {
        *("/auth/cli", "/auth/cli/poll", "/auth/drive/callback", "/auth/realms"),
        *("/auth/login", "/auth/guests", "/auth/invitations"),
    }
)
INTERNAL = {"/internal/events", "/internal/executions/{worker_id}/artifacts"}
"""Routes closed by a token of their own, which `test_internal_token` attacks; without that setting
they are not there."""


async def thing(request: Request) -> JSONResponse:
    return JSONResponse({"told": "canary-8080"})


async def live(socket: WebSocket) -> None:
    await socket.accept()


ADDED: list[BaseRoute] = [
    Route("/extra/thing", thing, methods=["GET", "POST"]),
    *(Route(path, thing) for path in ("/authentic", "/assetsx", "/healthz/deep")),
    *(WebSocketRoute(path, live) for path in ("/extra/live", "/healthz")),
]
"""Routes of an extension that nobody told the guard about."""


async def _call(app: ASGIApp, kind: str, path: str, method: str = "GET") -> list[Message]:
    """What an app sends to a client without a credential."""
    scope: dict[str, Any] = {
        "type": kind,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "extensions": {"websocket.http.response": {}},
    }
    if kind == "http":
        scope["method"] = method
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request" if kind == "http" else "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def _app_with_added(atoll: World) -> Starlette:
    app = create_app(atoll.services)
    app.router.routes[:0] = ADDED
    return app


@pytest.mark.parametrize(
    ("kind", "path", "method"),
    [
        ("http", "/extra/thing", "GET"),
        ("http", "/extra/thing", "POST"),
        ("http", "/authentic", "GET"),
        ("http", "/assetsx", "GET"),
        ("http", "/healthz/deep", "GET"),
        ("http", "/nothing", "GET"),
        ("websocket", "/extra/live", "GET"),
        ("websocket", "/healthz", "GET"),
    ],
)
async def test_route_added_anywhere_is_closed_without_a_credential(
    atoll: World, kind: str, path: str, method: str
) -> None:
    app = _app_with_added(atoll)
    sent = await _call(app, kind, path, method)
    assert sent[0]["status"] == 401, sent
    assert b"canary" not in b"".join(message.get("body", b"") for message in sent)


async def test_route_added_anywhere_is_open_with_a_credential(atoll: World) -> None:
    transport = httpx.ASGITransport(app=_app_with_added(atoll))
    headers = {"Authorization": f"Bearer {atoll.token}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers=headers
    ) as client:
        assert (await client.get("/extra/thing")).json() == {"told": "canary-8080"}


def _operations() -> list[tuple[str, str]]:
    return [
        (method.upper(), path.replace("{", "").replace("}", ""))
        for path, item in json.loads(document_text())["paths"].items()
        for method in item
        if path not in OPEN | INTERNAL and not path.startswith("/auth/oidc/")
    ]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer " + "x" * 43},
        {"Authorization": "Basic eDp5"},
        {"Authorization": "Bearer"},
        {"Cookie": "atoll_session=" + "x" * 43},
        {"Cookie": "atoll_session="},
    ],
    ids=["none", "wrong", "basic", "empty", "cookie", "empty-cookie"],
)
@pytest.mark.parametrize("part", range(4))
async def test_every_route_without_a_valid_credential_answers_401(
    atoll: World, headers: dict[str, str], part: int
) -> None:
    """In parts: a client with too many wrong credentials is told to wait."""
    async with client_of(atoll.url) as client:
        operations = _operations()
        assert len(operations) > 100
        for method, path in operations[part::4]:
            answer = await client.request(method, path, headers=headers, content=b"not json")
            assert answer.status_code == 401, (method, path)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["code"] == "unauthenticated"


async def test_internal_route_is_not_there_without_its_setting(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        for path in INTERNAL:
            assert (await client.post(path, content=b"not json")).status_code == 404, path


async def test_unknown_api_path_without_a_credential_answers_401(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        assert (await client.get("/v1/nothing")).status_code == 401


async def test_attach_without_a_credential_is_refused_before_the_handshake(atoll: World) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(atoll.url + "/v1/sandboxes/a/terminals/t_1/attach")
    assert refused.value.status == 401
    assert atoll.runtime.attached == []


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "0.0.0.0", ""],
)
async def test_foreign_host_header_is_refused_even_with_the_token(atoll: World, host: str) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for path in ("/v1/sandboxes", "/", "/healthz", "/auth/me"):
            answer = await client.get(path, headers={"Host": host})
            assert answer.status_code == 421
            assert answer.json()["code"] == "misdirected"


def _raw(atoll: World, lines: list[str]) -> int:
    connection = http.client.HTTPConnection(atoll.host, timeout=5)
    try:
        connection.connect()
        connection.sock.sendall("\r\n".join([*lines, "", ""]).encode())
        response = http.client.HTTPResponse(connection.sock)
        response.begin()
        return response.status
    finally:
        connection.close()


async def test_two_host_headers_are_refused(atoll: World) -> None:
    lines = ["GET /healthz HTTP/1.1", "Host: localhost", "Host: evil.example", "Connection: close"]
    import asyncio

    assert await asyncio.to_thread(_raw, atoll, lines) in {400, 421}


@pytest.mark.parametrize("host", ["localhost:1", "LOCALHOST", "127.0.0.1", "[::1]:9"])
async def test_loopback_names_are_ours_whatever_the_port(atoll: World, host: str) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get("/auth/me", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost:1",
        "file://",
        "http://127.0.0.1.evil.example",
        "chrome-extension://abc",
        "",
    ],
)
async def test_cookie_from_a_foreign_page_changes_nothing(atoll: World, origin: str) -> None:
    headers = {**await atoll.browser(), "Origin": origin}
    async with client_of(atoll.url) as client:
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            answer = await client.request(method, "/v1/sandboxes", headers=headers)
            assert answer.status_code == 403, (method, origin)


async def test_cookie_without_an_origin_may_look_but_not_act(atoll: World) -> None:
    headers = await atoll.browser()
    async with client_of(atoll.url) as client:
        assert (await client.get("/v1/sandboxes", headers=headers)).status_code == 200
        assert (await client.post("/auth/logout", headers=headers)).status_code == 403


async def test_cookie_sent_by_another_port_of_this_machine_is_refused(atoll: World) -> None:
    headers = {**await atoll.browser(), "Sec-Fetch-Site": "same-site"}
    async with client_of(atoll.url) as client:
        assert (await client.get("/v1/sandboxes", headers=headers)).status_code == 403


async def test_cookie_from_our_own_page_acts(atoll: World) -> None:
    cookie = await atoll.cookie()
    headers = {
        **await atoll.browser(cookie),
        "Cookie": f"other=1; atoll_session={cookie}",
        "Origin": atoll.url,
        "Sec-Fetch-Site": "same-origin",
    }
    async with client_of(atoll.url) as client:
        answer = await client.post("/v1/sandboxes", headers=headers, json={"profile": "shell"})
        assert answer.status_code == 202


@pytest.mark.parametrize("key", ["", "x" * 43, "x, y", "of another session"])
async def test_cookie_without_its_page_key_neither_looks_nor_acts(atoll: World, key: str) -> None:
    cookie = await atoll.cookie()
    if key == "of another session":
        key = atoll.logins.page_key(await atoll.cookie())
    headers = {**await atoll.browser(cookie), "Origin": atoll.url, "Sec-Fetch-Site": "same-origin"}
    replayed = {**headers, PAGE_KEY: key}
    async with client_of(atoll.url) as client:
        for method, path in (
            ("GET", "/auth/me"),
            ("GET", "/v1/approvals"),
            ("GET", "/v1/secrets"),
            ("POST", "/v1/approvals/ap_1/approve"),
            ("POST", "/auth/logout"),
        ):
            refused = await client.request(method, path, headers=replayed)
            assert (refused.status_code, refused.json()["code"]) == (401, "page_key_missing"), path
        # The same browser's own page is let in.
        assert (await client.get("/v1/approvals", headers=headers)).status_code == 200


async def test_attach_by_cookie_needs_the_page_key_as_a_subprotocol(atoll: World) -> None:
    cookie = await atoll.cookie()
    headers = {"Cookie": f"atoll_session={cookie}", "Origin": atoll.url}
    offered = ("atoll.page", f"atoll.key.{atoll.logins.page_key(cookie)}")
    url = atoll.url + "/v1/sandboxes/a/terminals/t_1/attach"
    async with aiohttp.ClientSession(headers=headers) as session:
        for protocols in ((), ("atoll.page",), ("atoll.page", f"atoll.key.{'x' * 43}")):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await session.ws_connect(url, protocols=protocols)
            assert refused.value.status == 401
        async with session.ws_connect(url, protocols=offered) as ws:
            assert ws.protocol == "atoll.page"
            await ws.receive()
            assert ws.close_code == 4404


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://localhost:1"])
async def test_attach_by_cookie_from_a_foreign_page_is_refused(
    atoll: World, origin: str | None
) -> None:
    headers = await atoll.browser()
    if origin is not None:
        headers["Origin"] = origin
    async with aiohttp.ClientSession(headers=headers) as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(atoll.url + "/v1/sandboxes/a/terminals/t_1/attach")
    assert refused.value.status == 403


async def test_attach_by_token_naming_a_foreign_page_is_refused(atoll: World) -> None:
    headers = {"Authorization": f"Bearer {atoll.token}", "Origin": "https://evil.example"}
    async with aiohttp.ClientSession(headers=headers) as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(atoll.url + "/v1/sandboxes/a/terminals/t_1/attach")
    assert refused.value.status == 403


@pytest.mark.parametrize("name", ["token", "access_token", "Authorization", "ticket"])
async def test_credential_in_the_address_is_refused(atoll: World, name: str) -> None:
    async with client_of(atoll.url) as client:
        answer = await client.get("/v1/sandboxes", params={name: atoll.token})
        assert answer.status_code == 422


async def test_query_of_more_parameters_than_a_route_takes_is_refused(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        few = await client.get("/v1/sandboxes", params=[("state", "ready")] * 1000)
        many = await client.get("/v1/sandboxes", params=[("a", "")] * 1001)
    assert "more than" not in few.text
    assert (many.status_code, many.json()["field"]) == (422, "query")
    assert many.json()["detail"] == "the query has more than 1000 parameters"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/sandboxes/%00",
        "/v1/sandboxes/%2e%2e/terminals",
        "/v1/sandboxes/a%0ab",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/..%2f..%2fguard.py",
        "/v1/sandboxes/%e2%80%ae/terminals",
    ],
)
async def test_hostile_path_is_refused_with_a_problem(atoll: World, path: str) -> None:
    async with httpx.AsyncClient() as client:
        request = client.build_request(
            "GET", atoll.url, headers={"Authorization": f"Bearer {atoll.token}"}
        )
        request.url = request.url.copy_with(raw_path=path.encode())
        answer = await client.send(request)
        assert answer.status_code in {404, 422}
        assert answer.json()["code"] in {"invalid", "not_found"}


async def test_answers_carry_the_security_headers_errors_too(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for path in ("/v1/sandboxes", "/v1/nothing", "/", "/nothing", "/healthz"):
            headers = (await client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "unsafe-eval" not in headers["content-security-policy"]
            assert "access-control-allow-origin" not in headers


async def test_unknown_method_and_path_are_problems(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        unknown = await client.get("/v1/nothing")
        wrong = await client.put("/v1/sandboxes")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")


async def test_unforeseen_error_names_its_request_and_has_no_traceback(
    atoll: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("canary-4711 in /some/path")

    monkeypatch.setattr(type(atoll.services.sandboxes), "get", broken)
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.get("/v1/sandboxes/a")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "canary" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.json()["detail"].endswith(f"request {answer.headers['X-Request-ID']}")


async def test_wrong_tokens_without_end_are_slowed_and_the_right_one_still_passes(
    atoll: World,
) -> None:
    async with client_of(atoll.url) as client:
        wrong = {"Authorization": "Bearer " + "y" * 43}
        answers = [(await client.get("/auth/me", headers=wrong)).status_code for _ in range(105)]
        assert answers[0] == 401
        assert answers[-1] == 429
        right = {"Authorization": f"Bearer {atoll.token}"}
        assert (await client.get("/auth/me", headers=right)).status_code == 200


def test_names_include_what_is_configured_and_never_a_wildcard() -> None:
    assert names_for("0.0.0.0", None, ("Box.Lan",)).hosts == {
        "localhost",
        "127.0.0.1",
        "[::1]",
        "box.lan",
    }
    named = names_for("::1", "https://Atoll.Example:8443/", ())
    assert isinstance(named, Names)
    assert "atoll.example" in named.hosts
    assert named.origins == {"https://atoll.example:8443"}
    assert json.dumps(sorted(named.hosts))
