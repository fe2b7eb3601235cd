"""The way of an agent's status from its runtime to a reader of the event stream, and to the page.

Each change is stamped by the runtime when it decides on it, and by the reader when its event came:
journal, long poll, store and stream lie between. The page stamps the moment at which its list shows
the new words. All read the one clock of this machine.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import httpx
from playwright.sync_api import Page, sync_playwright

from bench.figures import Series, table, verdict
from bench.page import CHROMIUM
from bench.server import Server, server

CHANGES = 60
WARM = 4
PAUSE_SECONDS = 0.4
"""Between two changes, as agents make them: a poll waits already when the next one comes."""


_SHOWN = """() => {
  window.shown = [];
  const look = () => {
    const words = document.querySelector('.row')?.innerText ?? '';
    const now = /Working/.test(words) ? 'working' : /Done/.test(words) ? 'done' : '';
    if (now !== '' && now !== window.shown.at(-1)?.[0]) window.shown.push([now, Date.now()]);
  };
  new MutationObserver(look).observe(document.body,
    {subtree: true, childList: true, characterData: true});
}"""


def status() -> None:
    """Agent's change → its event at a reader of the stream → the words on the page."""
    with server() as atoll:
        _to_the_stream(atoll)
        if CHROMIUM.exists():
            _to_the_page(atoll)
        else:
            print("  no Chromium here: the page was not measured")


def _to_the_stream(atoll: Server) -> None:
    ours = Series("agent's change → event stream")
    with _followed(atoll) as (sandbox, agent, lines):
        for number in range(CHANGES + WARM):
            event = _changed(atoll, sandbox, agent, lines=lines, number=number)
            came = time.time()
            if number >= WARM:
                ours.samples.append((came - _at(event)) * 1000)
    table("status of an agent", ours)
    verdict("p95 of the way to the stream, in seconds", ours.p95 / 1000, 2)


def _to_the_page(atoll: Server) -> None:
    ours = Series("agent's change → words on the page")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(atoll.api.post("/auth/tickets").raise_for_status().json()["url"])
        page.get_by_role("button", name="New sandbox").first.wait_for()
        with _followed(atoll) as (sandbox, agent, lines):
            page.reload()
            page.locator(".row").first.wait_for()
            page.evaluate(_SHOWN)
            for number in range(CHANGES + WARM):
                event = _changed(atoll, sandbox, agent, lines=lines, number=number)
                shown = _shown(page, event["payload"]["status"])
                if number >= WARM:
                    ours.samples.append(shown - _at(event) * 1000)
        browser.close()
    table("status of an agent on the page", ours)
    verdict("p95 of the way to the page, in seconds", ours.p95 / 1000, 2)


def _shown(page: Page, word: str) -> float:
    """Return when the page showed the word, in milliseconds since 1970."""
    found = page.wait_for_function(
        "word => window.shown.at(-1)?.[0] === word && window.shown.at(-1)[1]", arg=word
    )
    return float(found.json_value())


def _at(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["at"]).timestamp()


@contextmanager
def _followed(atoll: Server) -> Iterator[tuple[str, str, Iterator[str]]]:
    """Make an agent, and follow the stream from before its first change."""
    for old in atoll.api.get("/v1/sandboxes").json()["sandboxes"]:
        atoll.api.post(f"/v1/sandboxes/{old['sandbox_id']}/destroy")
    sandbox = atoll.create()
    agent = _opened(atoll, sandbox)
    headers = {"Authorization": f"Bearer {atoll.host.token}"}
    address = f"{atoll.host.url}/v1/events/stream"
    with httpx.stream("GET", address, headers=headers, timeout=60) as stream:
        yield sandbox, agent, stream.iter_lines()


def _changed(
    atoll: Server, sandbox: str, agent: str, *, lines: Iterator[str], number: int
) -> dict[str, Any]:
    """Make one change, and return its event."""
    time.sleep(PAUSE_SECONDS)
    word, wanted = ("start", "working") if number % 2 == 0 else ("yield", "done")
    path = f"/v1/sandboxes/{sandbox}/terminals/{agent}/agent"
    atoll.api.post(path, json={"action": word}).raise_for_status()
    return _next(lines, wanted)


def _opened(atoll: Server, sandbox: str) -> str:
    answer = atoll.api.post(f"/v1/sandboxes/{sandbox}/agents", json={"agent": "shell"})
    answer.raise_for_status()
    return str(answer.json()["id"])


def _next(lines: Iterator[str], wanted: str) -> dict[str, Any]:
    """Return the next event that reports this status."""
    for line in lines:
        if line.startswith("data: "):
            event: dict[str, Any] = json.loads(line.removeprefix("data: "))
            if event["event_type"] == "agent.status" and event["payload"]["status"] == wanted:
                return event
    raise RuntimeError("the stream ended")
