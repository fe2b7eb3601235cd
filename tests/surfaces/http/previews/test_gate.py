"""Previews at their own names: who comes in, what passes, and what never does."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from atoll.domain.previews.visit import VISIT_LIFE
from atoll.surfaces.http.previews import gate, passage
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/sandboxes/{sandbox}/ports/{port}/links": {
        "path": "test_link_opens_the_port_once_and_leads_to_its_path",
        "ttl": "test_link_and_visit_end_in_time",
    },
    "POST /v1/sandboxes/{sandbox}/previews/{preview}/links": {
        "path": "test_preview_of_a_pull_request_is_built_linked_and_torn_down",
        "ttl": "test_preview_of_a_pull_request_is_built_linked_and_torn_down",
    },
    "POST /v1/sandboxes/{sandbox}/previews": {
        "app": "test_preview_of_a_pull_request_is_built_linked_and_torn_down",
        "port": "test_preview_of_a_pull_request_is_built_linked_and_torn_down",
        "pr_number": "test_preview_of_a_pull_request_is_built_linked_and_torn_down",
        "sha": "test_preview_of_a_pull_request_is_built_linked_and_torn_down",
    },
}
Send = Callable[[bytes], Awaitable[None]]
MIB = 2**20
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _server(reader: asyncio.StreamReader, send: Send) -> None:
    """Answers with what it was asked, in JSON; `/sum` takes a body, `/big` gives one."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    headers = [line.split(": ", 1) for line in lines if line]
    named = dict(headers)
    method, target, _ = first.split(" ")
    if "upgrade" in named:
        await send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: %s\r\nConnection: upgrade\r\n\r\n"
                   % named["upgrade"].encode() + b"welcome")  # fmt: skip
        while data := await reader.read(1000):
            await send(data.upper())
    elif target == "/sum":
        digest, left = hashlib.sha256(), int(named["content-length"])
        while left:
            piece = await reader.read(65536)
            digest.update(piece)
            left -= len(piece)
        await send(b"HTTP/1.1 200 OK\r\ncontent-length: 64\r\n\r\n" + digest.hexdigest().encode())
    elif target == "/events":
        await send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n")
        await reader.read()
    elif target == "/ssh":
        await send(b"SSH-2.0-OpenSSH_9\r\n")
    elif target == "/half":
        await send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")
    else:
        body = json.dumps({"method": method, "target": target, "headers": headers}).encode()
        await send(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await send(
            b"HTTP/1.1 200 OK\r\nset-cookie: own=1\r\nset-cookie: atoll_session=evil\r\n"
            b"clear-site-data: *\r\ncontent-length: %d\r\n\r\n" % len(body) + body
        )


@dataclass
class Browser:
    """A browser that came by a link: it knows one origin and one cookie."""

    atoll: World
    origin: str
    cookie: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Host": self.origin.removeprefix("http://"), "Cookie": self.cookie}

    async def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {**self.headers, **more.pop("headers", {})}
        async with client_of(self.atoll.url) as client:
            return await client.request(method, path, headers=headers, **more)

    @asynccontextmanager
    async def raw(self, text: str) -> AsyncIterator[Line]:
        """A connection on which these lines were sent, with Host and Cookie after the first."""
        host, _, port = self.atoll.host.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        first, _, rest = text.partition("\n")
        lines = f"{first}\nHost: {self.headers['Host']}\nCookie: {self.cookie}\n{rest}"
        writer.write(lines.replace("\n", "\r\n").encode())
        try:
            yield reader, writer
        finally:
            writer.close()


async def _box(atoll: World, **body: object) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"profile": "shell", **body})
        assert made.status_code == 201, made.text
        return str(made.json()["sandbox_id"])


async def _link(atoll: World, box: str, port: int = 3000, **body: object) -> dict[str, Any]:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post(f"/v1/sandboxes/{box}/ports/{port}/links", json=body)
        assert made.status_code == 201, made.text
        return dict(made.json())


async def _enter(atoll: World, url: str, **headers: str) -> httpx.Response:
    origin, _, secret = url.partition("/.atoll/enter#")
    named = {"Host": origin.removeprefix("http://"), "Origin": origin, **headers}
    async with client_of(atoll.url) as client:
        return await client.post("/.atoll/enter", content=secret, headers=named)


async def _browser(atoll: World, url: str) -> Browser:
    entered = await _enter(atoll, url)
    assert entered.status_code == 200, entered.text
    cookie = entered.headers["set-cookie"].partition(";")[0]
    return Browser(atoll, url.partition("/.atoll")[0], cookie)


@pytest.fixture
async def visitor(atoll: World) -> Browser:
    """A browser at port 3000 of a sandbox in which a server listens."""
    atoll.runtime.inside = _server
    return await _browser(atoll, (await _link(atoll, await _box(atoll)))["url"])


async def test_link_opens_the_port_once_and_leads_to_its_path(atoll: World) -> None:
    box = await _box(atoll)
    link = await _link(atoll, box, path="/docs?x=1")
    port = atoll.host.partition(":")[2]
    assert link["origin"] == f"http://3000-{box.replace('_', '-')}.localhost:{port}"
    assert (link["port"], link["local_only"]) == (3000, True)
    async with client_of(atoll.url) as client:
        host = {"Host": link["origin"].removeprefix("http://")}
        page = await client.get("/.atoll/enter", headers=host)
    assert page.status_code == 200
    assert "script-src 'sha256-" in page.headers["content-security-policy"]
    entered = await _enter(atoll, link["url"])
    assert entered.json() == {"path": "/docs?x=1"}
    words = entered.headers["set-cookie"].split("; ")
    assert words[0].startswith("atoll_preview=")
    assert words[1:] == ["Path=/", "HttpOnly", "Secure", "SameSite=None", "Partitioned"]
    assert (await _enter(atoll, link["url"])).status_code == 401


async def test_link_is_for_its_own_origin_and_page(atoll: World) -> None:
    box = await _box(atoll)
    link = await _link(atoll, box)
    elsewhere = link["url"].replace("//3000-", "//3001-")
    assert (await _enter(atoll, elsewhere)).status_code == 401
    assert (await _enter(atoll, link["url"], Origin="http://evil.example")).status_code == 403
    assert (await _enter(atoll, link["url"].partition("#")[0] + "#")).status_code == 422
    assert (await _enter(atoll, link["url"] + "x" * 300)).status_code == 422
    assert (await _enter(atoll, link["url"])).status_code == 200


async def test_link_and_visit_end_in_time(atoll: World) -> None:
    box = await _box(atoll)
    link = await _link(atoll, box, ttl="1m")
    kept = await _browser(atoll, (await _link(atoll, box))["url"])
    atoll.clock.at += timedelta(seconds=60)
    assert (await _enter(atoll, link["url"])).status_code == 401
    assert (await kept.call("GET", "/")).status_code == 503
    atoll.clock.at += VISIT_LIFE
    assert (await kept.call("GET", "/")).status_code == 401


async def test_server_inside_gets_the_request_without_what_is_atolls(visitor: Browser) -> None:
    answer = await visitor.call(
        "GET",
        "/a%2Fb?c=d",
        headers={
            "Cookie": f"{visitor.cookie}; mine=1; atoll_session=s",
            "Referer": f"{visitor.origin}/x",
            "Atoll-Page-Key": "k",
            "X-Forwarded-For": "10.0.0.1",
        },
    )
    assert answer.status_code == 200
    found = answer.json()
    headers = dict(found["headers"])
    assert (found["method"], found["target"]) == ("GET", "/a%2Fb?c=d")
    assert (headers["host"], headers["connection"]) == ("localhost:3000", "close")
    assert (headers["cookie"], headers["referer"]) == ("mine=1", "http://localhost:3000/x")
    assert not {name for name in headers if name.startswith("atoll") or name == "x-forwarded-for"}
    assert answer.headers.get_list("set-cookie") == ["own=1"]
    assert "clear-site-data" not in answer.headers
    assert "frame-ancestors" in answer.headers["content-security-policy"]


async def test_credentials_of_atoll_open_no_preview_and_those_of_previews_no_api(
    atoll: World, visitor: Browser
) -> None:
    page = await atoll.browser()
    bearer = {"Authorization": f"Bearer {atoll.token}"}
    for headers in (page, {**bearer, "Cookie": ""}):
        for path in ("/", "/v1/sandboxes", "/auth/me", "/healthz", "/openapi.json"):
            answer = await visitor.call("GET", path, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "preview_private")
    # With its visit a preview gets what the server inside says there, never the API.
    assert (await visitor.call("GET", "/v1/sandboxes", headers=bearer)).json()["method"] == "GET"
    async with client_of(atoll.url) as client:
        answer = await client.get("/v1/sandboxes", headers={"Cookie": visitor.cookie})
        assert answer.status_code == 401


async def test_missing_and_foreign_sandboxes_answer_alike(atoll: World, visitor: Browser) -> None:
    said = set()
    port = atoll.host.partition(":")[2]
    real = visitor.origin.removeprefix("http://")
    for host in (real, f"3000-sb-aaaaaaaaaaaaaaaa.localhost:{port}", f"pr-1.x.localhost:{port}"):
        async with client_of(atoll.url) as client:
            answer = await client.get("/", headers={"Host": host})
        said.add((answer.status_code, re.sub(r'"request_id":"[^"]*"', "", answer.text)))
    assert len(said) == 1
    # The cookie of one origin holds no visit at another.
    neighbour = real.replace("3000-", "3001-")
    assert (await visitor.call("GET", "/", headers={"Host": neighbour})).status_code == 401


HOSTS = (
    *("evil.example", "x.localhost", "3000-sb-a.localhost.evil.example", "localhost.", "[::2]"),
    *("3000-sb-a.localhost.", "3000-sb-a.localhost:99999999", "3000-sb-a.LOCALHOST.", ""),
)
AMBIGUOUS = (
    "Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n",
    "Content-Length: 5\nContent-Length: 6\n\nhello",
    "Transfer-Encoding: gzip, chunked\n\n0\n\n",
    "Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n0\n\n",
    "Content-Length: +5\n\nhello",
    "Host: localhost\nContent-Length: 0\n\n",
    "Connection: upgrade\nUpgrade: h2c\nHTTP2-Settings: AAA\n\n",
    "Connection: upgrade\nUpgrade: websocket\nContent-Length: 3\n\nabc",
)


async def test_other_names_are_nobodys(visitor: Browser) -> None:
    for host in HOSTS:
        answer = await visitor.call("GET", "/v1/sandboxes", headers={"Host": host})
        assert answer.status_code in (400, 421), host


async def test_head_that_could_be_read_in_two_ways_never_goes_in(visitor: Browser) -> None:
    for rest in AMBIGUOUS:
        async with visitor.raw(f"POST / HTTP/1.1\n{rest}") as (reader, _):
            status = await asyncio.wait_for(reader.readline(), 10)
        assert status.split()[1] in (b"400", b"422", b"421"), rest
    assert visitor.atoll.runtime.dialled == []


async def test_page_of_another_origin_reaches_nothing(visitor: Browser) -> None:
    cors = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}
    foreign = [
        ("POST", {"Origin": "http://evil.example"}),
        ("POST", {"Origin": "null"}),
        ("GET", cors),
    ]
    for method, headers in foreign:
        answer = await visitor.call(method, "/", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "foreign_page")


async def test_bodies_stream_both_ways_in_bounded_memory(visitor: Browser) -> None:
    pieces = 64
    digest = hashlib.sha256(bytes(pieces * MIB)).hexdigest()
    most = 0

    async def body() -> Any:
        nonlocal most
        for number in range(pieces):
            # What was sent and has not arrived inside yet is on the way: in buffers.
            most = max(most, number * MIB - visitor.atoll.runtime.received)
            yield bytes(MIB)

    headers = {"Content-Length": str(pieces * MIB), "Origin": visitor.origin}
    answer = await visitor.call("POST", "/sum", content=body(), headers=headers, timeout=60)
    assert answer.text == digest
    assert most < 24 * MIB


async def test_client_that_leaves_ends_the_stream_inside(visitor: Browser) -> None:
    async with visitor.raw("GET /events HTTP/1.1\n\n") as (reader, _):
        assert b"data: 1" in await asyncio.wait_for(reader.readuntil(b"data: 1\n\n"), 10)
    await asyncio.wait_for(visitor.atoll.runtime.ended.wait(), 10)


async def test_upgrade_passes_bytes_unread(visitor: Browser) -> None:
    asked = f"GET /up HTTP/1.1\nConnection: Upgrade\nUpgrade: shout\nOrigin: {visitor.origin}\n\n"
    async with asyncio.timeout(20), visitor.raw(asked) as (reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
        assert b"upgrade: shout\r\n" in head.lower()
        assert await reader.readexactly(7) == b"welcome"
        writer.write(b"\x00hello")
        assert await reader.readexactly(6) == b"\x00HELLO"
    await asyncio.wait_for(visitor.atoll.runtime.ended.wait(), 5)


async def test_upgrade_without_a_visit_or_from_another_page_is_refused(visitor: Browser) -> None:
    asked = "GET / HTTP/1.1\nConnection: Upgrade\nUpgrade: websocket\n"
    for more, status in (("Origin: http://evil.example\n", b"403"), ("", b"401")):
        named = Browser(visitor.atoll, visitor.origin, visitor.cookie if more else "a=1")
        async with named.raw(f"{asked}{more}\n") as (reader, _):
            said = await asyncio.wait_for(reader.read(), 10)
        assert said.split()[1] == status
        assert b"connection: close" in said
    assert visitor.atoll.runtime.received == 0


async def test_logout_ends_open_streams_and_upgrades(atoll: World) -> None:
    atoll.runtime.inside = _server
    box, cookie = await _box(atoll), await atoll.cookie()
    page = {**await atoll.browser(cookie), "Origin": atoll.url}
    async with client_of(atoll.url) as client:
        made = await client.post(f"/v1/sandboxes/{box}/ports/3000/links", json={}, headers=page)
    browser = await _browser(atoll, made.json()["url"])
    with patch.object(gate, "RECHECK_SECONDS", 0.05):
        upgrade = "GET / HTTP/1.1\nConnection: upgrade\nUpgrade: x\n\n"
        streams = AsyncExitStack()
        stream, _ = await streams.enter_async_context(browser.raw("GET /events HTTP/1.1\n\n"))
        upgraded, _ = await streams.enter_async_context(browser.raw(upgrade))
        await stream.readuntil(b"data: 1\n\n")
        await upgraded.readuntil(b"welcome")
        await atoll.logins.logout(cookie)
        await asyncio.wait_for(stream.read(), 5)
        await asyncio.wait_for(upgraded.read(), 5)
        await streams.aclose()
    atoll.clock.at += timedelta(seconds=3)
    assert (await browser.call("GET", "/")).status_code == 401


async def test_visit_ends_with_its_makers_role(atoll: World) -> None:
    atoll.runtime.inside = _server
    team = await team_of(atoll, ann="member", vic="viewer")
    made = await team.call("ann", "POST", "/v1/sandboxes?wait=ready", json={"name": "a"})
    at = f"/v1/sandboxes/{made.json()['sandbox_id']}"
    assert (await team.call("vic", "POST", f"{at}/ports/3000/links", json={})).status_code == 403
    link = await team.call("ann", "POST", f"{at}/ports/3000/links", json={})
    assert link.status_code == 201, link.text
    browser = await _browser(atoll, link.json()["url"])
    assert (await browser.call("GET", "/")).status_code == 200
    await team.join("ann", OrgRole.VIEWER)
    atoll.clock.at += timedelta(seconds=3)
    assert (await browser.call("GET", "/")).status_code == 401


async def test_closed_port_ends_its_links_and_visits_alone(atoll: World) -> None:
    atoll.runtime.inside = _server
    box = await _box(atoll)
    link = await _link(atoll, box)
    kept, other = [
        await _browser(atoll, (await _link(atoll, box, port))["url"]) for port in (3000, 3001)
    ]
    async with client_of(atoll.url, atoll.token) as client:
        closed = await client.delete(f"/v1/sandboxes/{box}/ports/3000/links")
    assert closed.status_code == 204
    assert (await _enter(atoll, link["url"])).status_code == 401
    assert (await kept.call("GET", "/")).status_code == 401
    assert (await other.call("GET", "/")).status_code == 200


async def test_nobody_listening_is_a_page_that_waits(atoll: World) -> None:
    browser = await _browser(atoll, (await _link(atoll, await _box(atoll)))["url"])
    page = await browser.call("GET", "/", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["cache-control"]) == (503, "no-store")
    assert "Nothing listens here yet" in page.text
    assert (await browser.call("GET", "/")).json()["code"] == "port_not_listening"
    assert (await browser.call("GET", "/.atoll/listening")).status_code == 503
    atoll.runtime.inside = _server
    assert (await browser.call("GET", "/.atoll/listening")).status_code == 204
    assert (await browser.call("GET", "/.atoll/other")).status_code == 404


async def test_answer_that_is_no_http_or_breaks_off_is_told_apart(visitor: Browser) -> None:
    answer = await visitor.call("GET", "/ssh")
    assert (answer.status_code, answer.json()["code"]) == (502, "bad_preview_answer")
    with pytest.raises(httpx.RemoteProtocolError):
        await visitor.call("GET", "/half")


async def test_slow_body_and_silent_server_are_bounded(visitor: Browser) -> None:
    with patch.object(passage, "BODY_SECONDS", 0.1):
        async with visitor.raw("POST /sum HTTP/1.1\nContent-Length: 9\n\nslow") as (reader, _):
            assert b"422" in await asyncio.wait_for(reader.readline(), 5)

    async def silent(reader: asyncio.StreamReader, _: Send) -> None:
        await reader.read()

    visitor.atoll.runtime.inside = silent
    with patch.object(passage, "ANSWER_SECONDS", 0.1):
        answer = await visitor.call("GET", "/")
        assert (answer.status_code, answer.json()["code"]) == (503, "preview_silent")


async def test_door_is_never_shown(atoll: World) -> None:
    at = f"/v1/sandboxes/{await _box(atoll)}"
    async with client_of(atoll.url, atoll.token) as client:
        for port in (8082, 3128, 7681):
            link = await client.post(f"{at}/ports/{port}/links", json={})
            made = await client.post(f"{at}/previews", json={"app": "web", "port": port})
            assert link.json()["code"] == made.json()["code"] == "door_port"


async def test_preview_of_a_pull_request_is_built_linked_and_torn_down(atoll: World) -> None:
    atoll.runtime.inside = _server
    at = f"/v1/sandboxes/{await _box(atoll)}"
    body = {"app": "web", "port": 3000, "pr_number": 7, "sha": "abcdef1"}
    async with client_of(atoll.url, atoll.token) as client:
        made = (await client.post(f"{at}/previews", json=body)).json()
        assert {name: made[name] for name in body} == body
        assert made["state"] == "ready"
        assert made["url"].startswith("http://pr-7.web.localhost:")
        one = f"{at}/previews/{made['preview_id']}"
        assert (await client.get(one)).json() == made
        assert (await client.get(f"{at}/previews")).json() == {"previews": [made], "next": None}
        assert (await client.get(f"{one}/log")).json() == {"text": ""}
        assert (await client.post(f"{one}/rebuild")).json()["state"] == "ready"
        link = (await client.post(f"{one}/links", json={"path": "/x", "ttl": "1h"})).json()
        browser = await _browser(atoll, link["url"])
        assert browser.origin == made["url"]
        assert (await browser.call("GET", "/x")).json()["target"] == "/x"
        assert (await client.get(f"{at}/ports")).json() == {
            "ports": [{"port": 3000, "chosen": True}]
        }
        assert (await client.delete(one)).json()["state"] == "gone"
        assert (await client.post(f"{one}/links", json={})).status_code == 409
    atoll.clock.at += timedelta(seconds=3)
    assert (await browser.call("GET", "/x")).status_code == 401


async def test_visit_by_a_token_is_no_person_to_a_sandbox_that_sleeps(atoll: World) -> None:
    atoll.runtime.inside = _server
    box = await _box(atoll, profile=await _only_people(atoll))
    by_person = await _browser(atoll, (await _link(atoll, box))["url"])
    async with client_of(atoll.url, atoll.token) as client:
        token = (await client.post("/auth/pat", json={"name": "ci"})).json()["token"]
    async with client_of(atoll.url, token) as client:
        linked = await client.post(f"/v1/sandboxes/{box}/ports/3000/links", json={})
    by_token = await _browser(atoll, linked.json()["url"])
    async with client_of(atoll.url, atoll.token) as client:
        await client.post(f"/v1/sandboxes/{box}/sleep?wait=true")
    assert (await by_token.call("GET", "/")).json()["code"] == "asleep"
    assert (await by_person.call("GET", "/")).status_code == 200


async def _only_people(atoll: World) -> str:
    """A profile whose sandboxes a person alone wakes."""
    text = (
        'id: profile.people\nversion: "1.0.0"\nextension: ext.namespaces\n'
        "isolation: {level: none}\nwake: person\n"
    )
    async with client_of(atoll.url, atoll.token) as client:
        saved = await client.put("/v1/profiles/people", content=text)
        assert saved.status_code < 300, saved.text
    return "people"
