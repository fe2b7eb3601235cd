"""Pushes in a real Chromium: what the service worker shows of one, and where a click leads.

A push enters as the browser hands it to the worker, decrypted; tests/adapters/push decrypts what
the server sends. A headless browser has no notification to click, so the click is an event made in
the worker, and the two calls that need a person's gesture are recorded instead.
"""

import asyncio
import json
from typing import Any

import pytest
from playwright.async_api import CDPSession, Page, Worker, expect

from atoll.domain.ids import DashboardId
from atoll.domain.people.push import PushReason, push_message

from .scripted import TICKET, ScriptedServer

pytestmark = [
    pytest.mark.browser,
    pytest.mark.service_worker,
    pytest.mark.whole_chromium,  # its headless shell shows no notifications
    pytest.mark.asyncio(loop_scope="session"),
]

_SHOWN = """async () => (await self.registration.getNotifications())
  .map(({title, body, tag, data}) => ({title, body, tag, data}))"""
_CLICK = """async () => {
  self.opened = [];
  self.clients.openWindow = async address => { self.opened.push(address); };
  WindowClient.prototype.focus = async function () { return this; };
  const [notification] = await self.registration.getNotifications();
  self.dispatchEvent(new NotificationEvent('notificationclick', {notification}));
}"""
_GONE = """async () =>
  (await self.clients.matchAll({type: 'window', includeUncontrolled: true})).length === 0"""
EVIL = {"sandbox": "box", "reason": "<b>rm -rf</b>", "text": "npm publish --token s3cret"}


class Pushes:
    """The push service of one page's browser."""

    def __init__(self, cdp: CDPSession, origin: str) -> None:
        self._cdp = cdp
        self._origin = origin
        self._found: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        cdp.on("ServiceWorker.workerRegistrationUpdated", self._registered)

    def _registered(self, told: dict[str, Any]) -> None:
        for one in told["registrations"]:
            if one["scopeURL"].startswith(self._origin) and not self._found.done():
                self._found.set_result(one["registrationId"])

    async def deliver(self, message: bytes) -> None:
        await self._cdp.send("ServiceWorker.enable")
        async with asyncio.timeout(30):
            registration = await self._found
        body = {"origin": self._origin, "registrationId": registration, "data": message.decode()}
        await self._cdp.send("ServiceWorker.deliverPushMessage", body)


async def shown(worker: Worker, title: str) -> dict[str, Any]:
    """Wait for the notification with this title."""
    async with asyncio.timeout(30):
        while True:
            told: list[dict[str, Any]] = await worker.evaluate(_SHOWN)
            if found := [one for one in told if one["title"] == title]:
                return found[0]
            await asyncio.sleep(0.05)


async def test_push_shows_the_sandboxs_name_alone_and_a_click_opens_it(
    server: ScriptedServer, page: Page
) -> None:
    sandbox = server.add_sandbox("box")
    context = page.context
    origin = server.url.rstrip("/")
    await context.grant_permissions(["notifications"], origin=origin)
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.locator(".row")).to_have_count(1)
    await page.evaluate("navigator.serviceWorker.ready.then(() => undefined)")
    (worker,) = context.service_workers
    pushes = Pushes(await context.new_cdp_session(page), origin)
    # Whoever looks at the page sees it there: the worker is to take it for one in the background.
    await page.wait_for_function("navigator.serviceWorker.controller !== null")
    await worker.evaluate(
        "Object.defineProperty(WindowClient.prototype, 'focused', {get: () => false})"
    )
    message = push_message("box", PushReason.PUSHED)
    await pushes.deliver(message)
    assert await shown(worker, "box") == {
        "title": "box",
        "body": "A pushed branch waits for you.",
        "tag": "atoll box",
        "data": {"sandbox": "box"},
    }
    # One that is open goes there; without one, a new page is opened at the same address.
    await worker.evaluate(_CLICK)
    await expect(page.get_by_role("heading", name="box", exact=True)).to_be_visible()
    assert page.url.endswith(f"#/sandboxes/{sandbox}") or page.url.endswith("#/sandboxes/box")
    board = server.boards.add("Plan").view["id"]
    place = (DashboardId(board), "itm_0123456789abcdef")
    await pushes.deliver(push_message("Plan", PushReason.MENTIONED, place))
    assert (await shown(worker, "Plan"))["body"] == "Somebody mentions you."
    await worker.evaluate("""async () => (await self.registration.getNotifications())
      .filter(({title}) => title === 'box').forEach(one => one.close())""")
    await worker.evaluate(_CLICK)
    await page.wait_for_url(f"**/#/dashboards/{board}/itm_0123456789abcdef")
    await pushes.deliver(json.dumps(EVIL).encode())
    assert (await shown(worker, "box"))["body"] == "Something is new."
    await page.close()
    await until(worker, _GONE)
    await worker.evaluate(_CLICK)
    assert await until(worker, "self.opened") == [f"{server.url}#/sandboxes/box"]


async def until(worker: Worker, script: str) -> Any:
    """Wait for a value that is true or not empty."""
    async with asyncio.timeout(30):
        found = await worker.evaluate(script)
        while found in (False, []):
            await asyncio.sleep(0.05)
            found = await worker.evaluate(script)
    return found
