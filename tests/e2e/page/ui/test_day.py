"""A day's events of 30 sandboxes, played into a page that stays open: its memory stays flat.

The whole day, 50,000 events in ten minutes, is a slow tier; every run plays its first seconds at
the same pace.
"""

import asyncio
import random
from dataclasses import dataclass
from time import monotonic
from typing import Any

import pytest
from playwright.async_api import CDPSession, Page, expect

from .scripted import TICKET, ScriptedServer
from .test_inbox import QUESTION

pytestmark = [
    pytest.mark.browser,
    pytest.mark.whole_chromium,
    pytest.mark.asyncio(loop_scope="session"),
]

SANDBOXES = 30
PER_SECOND = 50_000 / 600
TOOLS = ("Bash: npm test", "Edit: src/app.py", "Read: README.md", "Search: TODO", "Write: notes.md")
#: Places of the page, one after another while the day goes by; it is measured at the first.
PLACES = (
    "#/",
    "#/terminals",
    "#/sandboxes/{}",
    "#/inbox",
    "#/sandboxes/{}/changes",
    "#/notifications",
)
STAY_SECONDS = 0.8
LOOK_SECONDS = 60.0
#: Of what the page holds after the first tenth: a browser also keeps compiled code, and the hosts
#: that each sandbox was refused are 50 at most.
MORE = 1.25
MORE_NODES = 500


@dataclass(frozen=True)
class Memory:
    """What an open page holds after its garbage is collected."""

    heap: int
    nodes: int
    listeners: int
    shown: int
    """Elements of the document; the other nodes are texts, and what is detached."""


class Day:
    """What happens to 30 sandboxes, in the mixture of a recorded day; the same in every run."""

    def __init__(self, server: ScriptedServer) -> None:
        self._server = server
        self._choice = random.Random(13)
        self._count = 0
        for _ in range(SANDBOXES):
            self._add()

    @property
    def alive(self) -> list[str]:
        all_of = self._server.sandboxes.items()
        return [one for one, told in all_of if told["state"] != "destroyed"]

    async def happens(self) -> None:
        """One event."""
        self._count += 1
        sandbox = self._choice.choice(self.alive)
        (act,) = self._choice.choices(
            (self._works, self._asks, self._is_done, self._opens, self._refused, self._visited,
             self._approval, self._ends),
            (72, 4, 6, 6, 4, 3, 4, 1),
        )  # fmt: skip
        await act(sandbox)

    def _add(self) -> str:
        made = self._server.add_sandbox(f"app-{len(self._server.sandboxes)}", agent="codex")
        self._server.add_terminal(made, name="codex")
        return made

    def _agent(self, sandbox: str) -> str:
        return next(iter(self._server.terminals[sandbox]), "t_gone")

    async def _works(self, sandbox: str) -> None:
        on = f"{self._choice.choice(TOOLS)} {self._count}"
        await self._server.report(sandbox, self._agent(sandbox), "working", on=on)

    async def _asks(self, sandbox: str) -> None:
        await self._server.report(sandbox, self._agent(sandbox), "needs_you", **QUESTION)

    async def _is_done(self, sandbox: str) -> None:
        counts = {"turns": self._count, "commits": 2, "plus": 40, "minus": 7}
        await self._server.report(sandbox, self._agent(sandbox), "done", **counts)

    async def _opens(self, sandbox: str) -> None:
        terminals = self._server.terminals[sandbox]
        if len(terminals) < 4:
            self._server.add_terminal(sandbox)
            await self._tell(sandbox, "terminal.opened")
        else:
            terminals.popitem()
            await self._tell(sandbox, "terminal.closed")

    async def _refused(self, sandbox: str) -> None:
        host = f"host-{self._choice.randrange(200)}.example"
        await self._tell(sandbox, "door.refused", host=host, port=443, detail="not allowed")

    async def _visited(self, sandbox: str) -> None:
        await self._tell(sandbox, "share.entered", name="Gwen", role="viewer")

    async def _approval(self, sandbox: str) -> None:
        await self._tell(sandbox, "approval.requested")

    async def _ends(self, sandbox: str) -> None:
        self._server.terminals[sandbox].clear()
        await self._server.enter(sandbox, "destroyed", agents=[])
        await self._tell(self._add(), "sandbox.requested")

    async def _tell(self, sandbox: str, kind: str, **payload: Any) -> None:
        await self._server.tell(f"sandbox:{sandbox}", kind, **payload)


async def measured(page: Page, cdp: CDPSession) -> Memory:
    """What the page holds at home, once it is at rest."""
    # React keeps what it showed last; two small places put that away.
    for place in ("#/notifications", "#/secrets", "#/notifications", "#/"):
        await page.evaluate("place => { location.hash = place }", place)
        await page.wait_for_timeout(200)  # no event says that React put it away
    await expect(page.locator(".row")).to_have_count(SANDBOXES, timeout=30_000)
    await expect(page.locator(".card-name").first).to_be_visible()
    await page.wait_for_timeout(1_000)  # timers of the page come to rest unseen
    for _ in range(3):
        await cdp.send("HeapProfiler.collectGarbage")
    told = (await cdp.send("Performance.getMetrics"))["metrics"]
    by_name = {one["name"]: int(one["value"]) for one in told}
    shown = await page.evaluate("document.querySelectorAll('*').length")
    return Memory(by_name["JSHeapUsedSize"], by_name["Nodes"], by_name["JSEventListeners"], shown)


async def play(page: Page, day: Day, seconds: float, *, least: int = 0) -> None:
    """Play this much of the day while a person goes from place to place, to `least` of them."""
    begun, told, places = monotonic(), 0, 0
    while (passed := monotonic() - begun) < seconds or places < least:
        while told < passed * PER_SECOND:
            await day.happens()
            told += 1
        if passed > places * STAY_SECONDS:
            place = PLACES[places % len(PLACES)].format(day.alive[places % SANDBOXES])
            await page.evaluate("place => { location.hash = place }", place)
            places += 1
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(9.0, id="9_seconds"),
        pytest.param(600.0, id="10_minutes", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
async def test_day_of_thirty_sandboxes_leaves_the_memory_of_an_open_page_flat(
    server: ScriptedServer, page: Page, seconds: float
) -> None:
    day = Day(server)
    await page.goto(f"{server.url}#login={TICKET}")
    cdp = await page.context.new_cdp_session(page)
    await cdp.send("Performance.enable")
    # Every place was seen before the first look, so that its code is compiled.
    warm = max(seconds / 10, len(PLACES) * STAY_SECONDS)
    await play(page, day, warm, least=2 * len(PLACES))
    first = last = await measured(page, cdp)
    print(f"{len(server.events)} events: {first}")
    looks = round(seconds / LOOK_SECONDS) + 1
    for _ in range(looks):
        await play(page, day, (seconds - warm) / looks)
        last = await measured(page, cdp)
        print(f"{len(server.events)} events: {last}")
    assert last.heap < first.heap * MORE
    assert last.nodes - first.nodes < MORE_NODES
    assert last.listeners - first.listeners < MORE_NODES / 5
