"""The page's session and a forwarded port: what an agent's server gets of it, and what that is
worth. A real Chromium, a real sandbox with a server inside that keeps the cookies it is sent."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from atoll.testing.server import TestServer, atoll_command, test_server
from tests.peers.boxed import make_box
from tests.peers.browsers import CALM, chromium, needs_chromium

PROFILE = """
id: profile.asking
version: "1.0.0"
extension: ext.namespaces
safety: {operator: [[git, push]]}
"""
KEEPER = """
import http.server
class Keeper(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open("/workspace/heard", "a").write(self.headers.get("Cookie", "none") + "\\n")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"kept")
server = http.server.HTTPServer(("127.0.0.1", 3000), Keeper)
open("/workspace/up", "w").write("up")
server.serve_forever()
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(400),
    needs_chromium,
]


@pytest.fixture(scope="module")
def atoll() -> Iterator[TestServer]:
    with test_server() as server:
        make_box(server, PROFILE)
        ran = server.run("exec", "--background", "box", "--", "python3", "-c", KEEPER)
        assert ran.returncode == 0, ran.stderr
        asked = server.run("exec", "--background", "box", "--", "operator-approve", "--", "true")
        assert asked.returncode == 0, asked.stderr
        line = "until [ -e up ]; do :; done"
        server.run("exec", "box", "--shell", line, stdin=subprocess.DEVNULL)
        yield server


@contextmanager
def forwarded(atoll: TestServer) -> Iterator[str]:
    """The address that `atoll open` prints."""
    running = subprocess.Popen(
        [atoll_command(), "open", "box", "3000"],
        stdout=subprocess.PIPE,
        env={**os.environ, "ATOLL_HOME": str(atoll.home)},
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert running.stdout is not None
        yield running.stdout.readline().strip()
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(60)
        if running.stdout is not None:
            running.stdout.close()


@asynccontextmanager
async def at_the_pages_host(address: str) -> AsyncIterator[str]:
    """The control: the same forwarded port, at the host of the page as it was before."""
    _, _, place = address.rpartition("/")
    host, _, port = place.partition(":")

    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection(host, int(port))
        outer.write(await reader.readuntil(b"\r\n\r\n"))
        writer.write(await inner.read())
        await writer.drain()
        outer.close()
        writer.close()

    server = await asyncio.start_server(passed, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


@asynccontextmanager
async def logged_in(atoll: TestServer) -> AsyncIterator[Page]:
    link = await asyncio.to_thread(atoll.run, "login")
    async with chromium(whole=True) as browser:
        page = await (await browser.new_context(**CALM)).new_page()
        page.set_default_timeout(120_000)
        await page.goto(link.stdout.strip())
        await expect(page.get_by_role("button", name="New task")).to_be_visible(timeout=120_000)
        yield page


def heard(atoll: TestServer) -> list[str]:
    said = atoll.run("exec", "box", "--shell", "cat heard", stdin=subprocess.DEVNULL)
    return said.stdout.splitlines()


def question(atoll: TestServer) -> dict[str, Any]:
    while not (found := json.loads(atoll.run("approvals", "--json").stdout)["approvals"]):
        pass
    first: dict[str, Any] = found[0]
    return first


async def test_server_inside_gets_no_cookie_and_a_replayed_one_approves_nothing(
    atoll: TestServer,
) -> None:
    one = await asyncio.to_thread(question, atoll)
    with forwarded(atoll) as address:
        async with logged_in(atoll) as page, at_the_pages_host(address) as before:
            key = await page.evaluate("localStorage.getItem('atoll.page-key')")
            visitor = await page.context.new_page()
            visitor.set_default_timeout(120_000)
            await visitor.goto(address)
            # Nothing of our origin's storage is there, either.
            assert await visitor.evaluate("Object.keys(localStorage)") == []
            await visitor.goto(before)
            assert await visitor.evaluate("Object.keys(localStorage)") == []
            # The page goes on in another tab and after a reload, by its key.
            await page.reload()
            await expect(page.get_by_role("button", name="New task")).to_be_visible()
    sent = await asyncio.to_thread(heard, atoll)
    assert sent[0] == "none"
    stolen = next(line for line in sent[1:] if "atoll_session=" in line)

    path = f"/v1/approvals/{one['approval_id']}/approve"
    body = {"for": "once", "shown": one["digest"]}
    replayed = {"Cookie": stolen, "Origin": atoll.url.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    async with httpx.AsyncClient(base_url=atoll.url, headers=replayed, timeout=60) as thief:
        assert (await thief.get("/v1/approvals")).status_code == 401
        assert (await thief.get("/auth/me")).status_code == 401
        refused = await thief.post(path, json=body)
        assert (refused.status_code, refused.json()["code"]) == (401, "page_key_missing")
        # With what only the page's script holds the same request passes: the attack was a real one.
        granted = await thief.post(path, json=body, headers={"Atoll-Page-Key": key})
        assert granted.status_code == 200
        assert granted.json()["state"] in {"granted", "used"}
