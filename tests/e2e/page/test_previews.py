"""A hostile server inside a sandbox, opened from the real page in Chromium: what it reaches."""

import asyncio
import subprocess
from typing import Any

import pytest
from playwright.async_api import Page, expect

from atoll.testing.server import TestServer
from tests.e2e.page.test_real_page import LINK, tab
from tests.e2e.page.ui.open_page import sandbox_menu
from tests.peers.api import api_of
from tests.peers.browsers import chromium, needs_chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    needs_chromium,
]

HOSTILE = """<!doctype html><title>shop</title><h1>Hello from inside</h1><script>
const atoll = '%s';
const tried = async (act) => { try { return await act(); } catch (e) { return 'refused'; } };
const socket = (url) => new Promise((done) => {
  const line = new WebSocket(url);
  line.onopen = () => done('open');
  line.onerror = () => done('refused');
});
(async () => {
  document.cookie = 'atoll_session=forged; domain=localhost; path=/';
  document.cookie = 'planted=1; domain=localhost; path=/';
  const include = { credentials: 'include' };
  const status = (path, more) =>
    tried(async () => (await fetch(`${atoll}${path}`, { ...include, ...more })).status);
  window.found = {
    cookies: document.cookie,
    // Playwright puts `atoll.test` into every origin; a private window has no storage in frames.
    storage: await tried(() => Object.keys(localStorage).filter((key) => key !== 'atoll.test')),
    opener: window.opener === null,
    parent: await tried(async () => String(window.parent.document.title)),
    read: await status('/v1/sandboxes', {}),
    blind: await status('/auth/me', { mode: 'no-cors' }),
    post: await status('/auth/logout', { method: 'POST' }),
    own: await tried(async () => (await fetch('/v1/sandboxes', include)).text()),
    socket: await socket(`${atoll.replace('http', 'ws')}/v1/events/stream`),
    inner: await socket(`${location.origin.replace('http', 'ws')}/ws`),
  };
})();
</script>"""

SERVER = r"""
import base64, hashlib, http.server, sys
page = open('/workspace/page.html', 'rb').read()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        open('/workspace/asked', 'a').write(f'{self.path} {dict(self.headers)}\n')
        key = self.headers.get('sec-websocket-key')
        if key:
            digest = hashlib.sha1((key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest()
            self.send_response(101)
            self.send_header('Upgrade', 'websocket')
            self.send_header('Connection', 'Upgrade')
            self.send_header('Sec-WebSocket-Accept', base64.b64encode(digest).decode())
            self.end_headers()
            self.rfile.read()
            return
        body = page if self.path == '/' else b'inner'
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.send_header('Content-Length', str(len(body)))
        self.send_header('Set-Cookie', 'atoll_session=evil; Path=/')
        self.send_header('X-Frame-Options', 'DENY')
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(('127.0.0.1', 3000), Handler).serve_forever()
"""


async def _found(frame: Any) -> dict[str, Any]:
    found: dict[str, Any] = await (
        # A tab in the background paints no frames, by which it would look otherwise.
        await frame.wait_for_function("() => window.found", timeout=60_000, polling=100)
    ).json_value()
    return found


def _is_harmless(found: dict[str, Any]) -> None:
    assert (found["cookies"], found["opener"]) == ("", True)
    assert found["storage"] in ([], "refused")
    # It reads no answer of the API; what it sends blindly comes without the person's login.
    assert (found["read"], found["post"]) == ("refused", "refused")
    assert found["blind"] in (0, "refused")
    assert found["own"] == "inner"
    assert (found["socket"], found["inner"]) == ("refused", "open")


def _serve(atoll: TestServer, box: str) -> None:
    with api_of(atoll) as api:
        files = f"/v1/sandboxes/{box}/files/content"
        for path, text in (("page.html", HOSTILE % atoll.url), ("server.py", SERVER)):
            api.call("PUT", files, params={"path": path}, content=text.encode())
    command = ("exec", "--background", box, "--", "python3", "/workspace/server.py")
    assert atoll.run(*command, stdin=subprocess.DEVNULL).returncode == 0


async def _framed(page: Page, url: str) -> Any:
    """The frame of a preview that the page shows under its own policy."""
    await page.evaluate(
        """url => {
          const frame = document.createElement('iframe');
          frame.sandbox = 'allow-scripts allow-same-origin';
          frame.src = url;
          document.body.append(frame);
        }""",
        url,
    )
    handle = await page.wait_for_selector("iframe")
    assert handle is not None
    return await handle.content_frame()


async def test_hostile_page_in_a_preview_reaches_no_cookie_storage_or_api(
    atoll: TestServer,
) -> None:
    with api_of(atoll) as api:
        box = (await asyncio.to_thread(api.create, name="shop"))["sandbox_id"]
        done = await asyncio.to_thread(atoll.run, "login")
        async with chromium(whole=True) as browser:
            page = await tab(browser, LINK.findall(done.stdout)[0])
            await page.get_by_role("link", name="shop").first.click()
            await expect(page.get_by_role("heading", name="shop")).to_be_visible()

            # Nothing listens yet: a page of ours waits, and shows the server once it is there.
            link = api.call("POST", f"/v1/sandboxes/{box}/ports/3000/links", json={})
            early = await page.context.new_page()
            await early.goto(link["url"])
            await expect(early.get_by_role("heading")).to_have_text("Nothing listens here yet")
            await asyncio.to_thread(_serve, atoll, box)
            await expect(early.get_by_role("heading")).to_have_text(
                "Hello from inside", timeout=60_000
            )
            _is_harmless(await _found(early))

            # The page says that a server began, and opens it in a tab of its own.
            await expect(page.get_by_text("A server listens at port 3000 of shop")).to_be_visible()
            await (await sandbox_menu(page)).get_by_role("button", name="1 port").click()
            async with page.context.expect_page() as opened:
                await page.get_by_role("button", name="Open port 3000").click()
            _is_harmless(await _found(await opened.value))

            # In a frame of the page it reaches no more, and no other origin can be framed.
            link = api.call("POST", f"/v1/sandboxes/{box}/ports/3000/links", json={})
            found = await _found(await _framed(page, link["url"]))
            _is_harmless({**found, "opener": True})
            assert found["parent"] == "refused"
            policy = (await page.request.get(atoll.url)).headers["content-security-policy"]
            port = atoll.url.rpartition(":")[2]
            assert policy.endswith(f"; frame-src 'self' http://*.localhost:{port}")
            cookies = {one["name"]: one["domain"] for one in await page.context.cookies()}
            assert "planted" not in cookies
            assert cookies["atoll_session"] == "127.0.0.1"
            await expect(page.get_by_role("heading", name="shop")).to_be_visible()
        asked = api.client.get(f"/v1/sandboxes/{box}/files/content", params={"path": "asked"}).text
        assert "atoll_" not in asked and "/.atoll/" not in asked
