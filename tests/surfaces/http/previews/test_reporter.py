"""The reporter's element: in documents of the pane's frames, and nowhere else."""

import asyncio
import gzip
from dataclasses import replace

import httpx
import pytest

from atoll.domain.previews.reporter import ELEMENT, SCRIPT_PATH
from atoll.surfaces.http.previews.pages import reporter
from tests.surfaces.http.previews.test_gate import Browser, Send, _box, _link
from tests.surfaces.http.world import World, client_of

FRAME = {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "same-origin"}
TAB = {**FRAME, "Sec-Fetch-Dest": "document"}
POLICY = "script-src 'none'"
PAGE = b"<!doctype html><head><title>shop</title></head><p>apples</p>"
WITH = PAGE.replace(b"<head>", b"<head>" + ELEMENT)


async def _shop(reader: asyncio.StreamReader, send: Send) -> None:
    """A page, in the ways a server may send one; `/asked` says the head that came in."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, target, _ = head.partition("\r\n")[0].split(" ")
    more, body = "", PAGE
    if target == "/asked":
        body = b"<head></head>" + head.lower().encode()
    elif target == "/strict":
        more = f"content-security-policy: {POLICY}\r\n"
    elif target == "/gzip":
        more, body = "content-encoding: gzip\r\n", gzip.compress(PAGE)
    elif target == "/part":
        more = "content-range: bytes 0-60/900\r\n"
    status = "206 Partial Content" if target == "/part" else "200 OK"
    kind = "text/javascript" if target == "/code" else "text/html"
    if target in ("/pieces", "/broken"):
        await send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for at in range(len(PAGE)):
            await send(b"1\r\n%c\r\n" % PAGE[at])
        await send(b"0\r\n\r\n" if target == "/pieces" else b"")
        return
    await send(
        f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\netag: x\r\ncache-control: max-age=99\r\n"
        f"{more}content-length: {len(body)}\r\n\r\n".encode()
        + (b"" if method == "HEAD" else body)
    )


async def _enter(atoll: World, query: str) -> tuple[Browser, httpx.Response]:
    atoll.runtime.inside = _shop
    origin, _, secret = (await _link(atoll, await _box(atoll)))["url"].partition("/.atoll/enter#")
    headers = {"Host": origin.removeprefix("http://"), "Origin": origin}
    async with client_of(atoll.url) as client:
        answer = await client.post(f"/.atoll/enter{query}", content=secret, headers=headers)
    cookies = [one.partition(";")[0] for one in answer.headers.get_list("set-cookie")]
    return Browser(atoll, origin, "; ".join(cookies)), answer


@pytest.fixture
async def pane(atoll: World) -> Browser:
    """The frame of a pane."""
    return (await _enter(atoll, "?pane"))[0]


async def test_document_of_the_panes_frame_has_the_element_and_nobody_keeps_it(
    pane: Browser,
) -> None:
    for path in ("/", "/pieces", "/strict"):
        answer = await pane.call("GET", path, headers=FRAME)
        assert answer.content == WITH
        assert answer.headers["cache-control"] == "no-store"
        assert not {"etag", "content-length"} & set(answer.headers)
    # The policy of the page is the page's own.
    strict = await pane.call("GET", "/strict", headers=FRAME)
    policies = strict.headers.get_list("content-security-policy")
    assert policies[0] == POLICY and "script-src" not in policies[1]


async def test_ordinary_visit_gets_what_the_server_inside_sent(pane: Browser, atoll: World) -> None:
    linked, entered = await _enter(atoll, "")
    assert len(entered.headers.get_list("set-cookie")) == 1
    for who, headers in ((pane, TAB), (pane, {}), (linked, FRAME), (linked, TAB)):
        answer = await who.call("GET", "/", headers=headers)
        assert (answer.content, answer.headers["etag"]) == (PAGE, "x")
        assert answer.headers["content-length"] == str(len(PAGE))
    for query in ("?pane=1", "?pane&x", "?PANE"):
        _, entered = await _enter(atoll, query)
        assert len(entered.headers.get_list("set-cookie")) == 1


async def test_mark_alone_opens_nothing_and_never_goes_in(pane: Browser) -> None:
    mark = pane.cookie.partition("; ")[2]
    assert mark == "atoll_preview_pane=1"
    alone = replace(pane, cookie=mark)
    for path in ("/", SCRIPT_PATH):
        assert (await alone.call("GET", path, headers=FRAME)).json()["code"] == "preview_private"
    asked = (await pane.call("GET", "/asked", headers={**FRAME, "Range": "bytes=0-9"})).text
    assert "accept-encoding: identity" in asked
    assert not [one for one in ("range:", "cookie", "atoll_preview", "gzip") if one in asked]


async def test_what_is_no_whole_plain_page_passes_as_it_is(pane: Browser) -> None:
    for path in ("/gzip", "/code", "/part"):
        answer = await pane.call("GET", path, headers=FRAME)
        assert (answer.content, answer.headers["etag"]) == (PAGE, "x"), path
    head = await pane.call("HEAD", "/", headers=FRAME)
    assert head.headers["content-length"] == str(len(PAGE))
    with pytest.raises(httpx.RemoteProtocolError):
        await pane.call("GET", "/broken", headers=FRAME)


async def test_script_names_the_pages_it_tells_and_no_secret(pane: Browser) -> None:
    answer = await pane.call("GET", SCRIPT_PATH)
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.text.endswith(", []);\n")
    named = reporter(("https://atoll.example.org",)).body
    assert bytes(named).endswith(b', ["https://atoll.example.org"]);\n')
    secret = pane.cookie.partition("=")[2].partition(";")[0]
    assert secret not in answer.text and pane.atoll.token not in answer.text
