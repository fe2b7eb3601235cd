"""The preview pane of a real Atoll in Chromium: a server inside, beside its terminal."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from playwright.async_api import FrameLocator, Page, expect
from pycrdt import Map

from atoll.testing.server import TestServer
from tests.e2e.page.test_real_page import LINK, tab
from tests.peers.api import Api, api_of
from tests.peers.browsers import chromium, needs_chromium
from tests.surfaces.http.dashboards.tab import Tab, item_id

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    needs_chromium,
]

SERVER = r"""
import http.server, pathlib
class Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self):
        if self.path.startswith('/strict'):
            self.send_header('Content-Security-Policy', "script-src 'none'")
        if self.path.startswith('/blind'):
            self.send_header('Content-Security-Policy', "img-src 'none'")
        super().end_headers()
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(('127.0.0.1', %d), Handler).serve_forever()
"""
SHOP = """<!doctype html><html lang="en"><head><title>shop</title>
<meta name="viewport" content="width=device-width">
<style>body{font:16px sans-serif;margin:24px;background:#fffaf0;color:#222}
button{padding:8px 14px;border:0;border-radius:6px;background:#b33;color:#fff}</style></head>
<body><h1>Apples and pears</h1><p id="wide"></p><a href="/cart.html?x=1">Cart</a>
<div class="card"><button class="buy">Buy <b>now</b></button></div>
<script>document.getElementById('wide').textContent = innerWidth + ' wide';</script>
</body></html>"""


@dataclass
class Shop:
    """A sandbox with a shop, and its person's page."""

    atoll: TestServer
    api: Api
    box: str
    page: Page

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe.preview-frame")

    def write(self, path: str, text: str) -> None:
        files = f"/v1/sandboxes/{self.box}/files/content"
        self.api.call("PUT", files, params={"path": path}, content=text.encode())

    async def serve(self, port: int = 3000) -> None:
        """A server inside begins to listen."""
        self.write(f"server{port}.py", SERVER % port)
        words = (
            "exec",
            "--background",
            self.box,
            "--shell",
            f"cd /workspace && python3 server{port}.py",
        )
        done = await asyncio.to_thread(self.atoll.run, *words, stdin=subprocess.DEVNULL)
        assert done.returncode == 0

    async def show(self) -> None:
        await self.page.goto(f"{self.atoll.url}#/sandboxes/{self.box}/preview")


@asynccontextmanager
async def shop_of(atoll: TestServer, name: str = "shop") -> AsyncIterator[Shop]:
    with api_of(atoll) as api:
        box = (await asyncio.to_thread(api.create, name=name))["sandbox_id"]
        done = await asyncio.to_thread(atoll.run, "login")
        async with chromium(whole=True) as browser:
            page = await tab(browser, LINK.findall(done.stdout)[0])
            shop = Shop(atoll, api, box, page)
            shop.write("index.html", SHOP)
            shop.write("cart.html", "<!doctype html><h1>Your cart</h1>")
            await expect(page.get_by_role("link", name=name).first).to_be_visible()
            yield shop


async def test_preview_shows_a_server_once_it_listens_and_goes_where_its_address_says(
    atoll: TestServer,
) -> None:
    async with shop_of(atoll) as shop:
        page = shop.page
        await page.get_by_role("link", name="shop").first.click()
        await page.get_by_role("tab", name="Preview").click()
        await expect(page.get_by_text("Nothing listens inside yet")).to_be_visible()
        address = page.get_by_label("Address")
        await address.fill("/cart.html?x=1")
        await shop.serve()
        await expect(shop.frame.get_by_role("heading", name="Apples")).to_be_visible()
        await expect(page.get_by_label("Port")).to_have_value("3000")

        # What somebody was typing stays when the first server begins.
        await expect(address).to_have_value("/cart.html?x=1")
        await expect(address).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(shop.frame.get_by_role("heading", name="Your cart")).to_be_visible()
        await page.get_by_label("Address").fill("https://example.org/")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("leads to no server of this sandbox")).to_be_visible()
        await expect(shop.frame.get_by_role("heading", name="Your cart")).to_be_visible()

        await page.get_by_label("Address").fill("/")
        await page.keyboard.press("Enter")
        await expect(shop.frame.get_by_text("Apples")).to_be_visible()
        await page.get_by_role("radio", name="Phone").click()
        await page.get_by_role("button", name="Reload").click()
        await expect(shop.frame.get_by_text("390 wide")).to_be_visible()

        # A second server is chosen by its port, and one that nobody started is waited for.
        await shop.serve(5173)
        await page.get_by_label("Address").fill(":5173/cart.html")
        await page.keyboard.press("Enter")
        await expect(shop.frame.get_by_role("heading", name="Your cart")).to_be_visible()
        await page.get_by_label("Address").fill(":4000/")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Nothing listens at port 4000 yet")).to_be_visible()
        await page.get_by_label("Port").select_option("3000")
        await expect(shop.frame.get_by_text("Apples")).to_be_visible()


async def test_preview_stands_beside_the_terminal_and_outlives_a_stop(atoll: TestServer) -> None:
    async with shop_of(atoll, "beside") as shop:
        page = shop.page
        await shop.serve()
        made = shop.api.call("POST", f"/v1/sandboxes/{shop.box}/terminals", json={})
        await page.goto(f"{atoll.url}#/sandboxes/{shop.box}/{made['terminal_id']}")
        await page.get_by_role("button", name="Split").click()
        await page.get_by_role("button", name="Preview beside it").click()
        await expect(shop.frame.get_by_role("heading", name="Apples")).to_be_visible()
        await expect(page.locator(".pane-placed")).to_have_count(2)
        # The frame keeps what was done in it while another tab is in view.
        await shop.frame.locator("body").evaluate("body => { body.dataset.kept = 'yes'; }")
        await page.get_by_role("tab", name="Log").click()
        await expect(page.locator("iframe.preview-frame")).to_be_hidden()
        await page.get_by_role("tab", name="Preview").click()
        await expect(shop.frame.locator("body[data-kept=yes]")).to_be_visible()
        await page.get_by_role("button", name="Split").click()
        await page.get_by_role("button", name="Without the preview").click()
        await expect(page.locator("iframe.preview-frame")).to_be_hidden()

        await page.get_by_role("tab", name="Preview").click()
        await asyncio.to_thread(atoll.run, "stop", shop.box)
        await expect(page.get_by_text("It does not run")).to_be_visible()
        await page.get_by_role("button", name="Start it").click()
        await expect(page.get_by_text("Nothing listens at port 3000 yet")).to_be_visible()
        await shop.serve()
        await expect(shop.frame.get_by_role("heading", name="Apples")).to_be_visible()


async def test_preview_on_a_canvas_waits_for_its_server_and_takes_the_zoom(
    atoll: TestServer,
) -> None:
    async with shop_of(atoll, "canvas") as shop:
        page = shop.page
        board = shop.api.call("POST", "/v1/dashboards", json={"name": "Shops"})["id"]
        on_canvas = Tab()
        async with on_canvas.joined(atoll.url, board, atoll.token):
            place = {"x": 0.0, "y": 0.0, "w": 760.0, "h": 480.0, "z": 1.0, "locked": False}
            what = {"kind": "preview", "sandbox_id": shop.box, "path": "/", "title": "the shop"}
            on_canvas.items[item_id(1)] = Map({**place, **what, "by": "", "at": ""})
            await on_canvas.flush()
            await page.goto(f"{atoll.url}#/dashboards/{board}")
            pane = page.locator("[data-kind=preview]")
            await expect(pane.get_by_text("Nothing listens inside yet")).to_be_visible()
            await shop.serve()
            await expect(shop.frame.get_by_role("heading", name="Apples")).to_be_visible()
            before = await pane.bounding_box()
            await page.get_by_role("application").press("-")
            await expect(pane.locator(".item-zoomed")).not_to_have_css("zoom", "1")
            after = await pane.bounding_box()
            assert before is not None and after is not None
            assert after["width"] < before["width"]
            # The page inside keeps its layout: it shrinks with the canvas.
            inner = await shop.frame.locator("html").evaluate("() => innerWidth")
            assert inner > after["width"]
