"""`dashboard`: a canvas with 30 panes and 500 notes, 100 panes, a flood, 100,000 edits.

Each figure stands beside an empty canvas or a bare xterm.js in the same Chromium.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

from playwright.sync_api import CDPSession, Page, ViewportSize, sync_playwright

from bench.dashboard.author import Items, item_id, note, pane, write
from bench.figures import Series, ratio, table, verdict
from bench.page import CHROMIUM, XTERM
from bench.terminal_peers import ECHO, flood
from bench.terminals import OwnAtoll, own_atoll

PANES, NOTES = 30, 500
MOVES = 120
BATCH, BATCHES = 10, 11
KEYS = 150
EDITS, AUTHORS, EDITED_NOTES = 100_000, 4, 50
OPENINGS = 5
SIZE = ViewportSize(width=1600, height=1000)

_NOTE = f'[data-item="{item_id(1)}"]'
_WATCH = """kinds => {
  window.waits = [];
  const channel = new MessageChannel(), due = [];
  channel.port1.onmessage = () => {
    const now = performance.now();
    for (const at of due.splice(0)) window.waits.push(now - at);
  };
  for (const kind of kinds)
    addEventListener(kind, ({ timeStamp }) => requestAnimationFrame(() => {
      due.push(timeStamp);
      channel.port2.postMessage(0);
    }), { capture: true, passive: true });
}"""
"""From the moment an event came to the browser until the frame that shows it is drawn."""

_TYPED = """id => {
  window.waits = [];
  const term = window.__atollTerms.get(id);
  let pressed = null;
  addEventListener('keydown', ({ timeStamp }) => { pressed = timeStamp; }, { capture: true });
  term.onRender(() => {
    if (pressed !== null) window.waits.push(performance.now() - pressed);
    pressed = null;
  });
}"""

_BARE = """() => {
  const term = new Terminal({ cols: 80, rows: 24 });
  term.open(document.getElementById('place'));
  term.onData(data => term.write(data));
  (window.__atollTerms ??= new Map()).set('bare', term);
  term.focus();
}"""


def dashboard() -> None:
    """Print all four."""
    if not CHROMIUM.exists() or not XTERM.exists():
        print("  no Chromium or no ui/node_modules here: not measured")
        return
    with own_atoll() as atoll:
        _interaction(atoll)
        _memory(atoll)
        _typing(atoll)
        _opening(atoll)


def _interaction(atoll: OwnAtoll) -> None:
    empty, full = _made(atoll, "empty"), _made(atoll, "full")
    terminals = [atoll.open(*ECHO) for _ in range(PANES)]
    write(atoll.atoll, empty, _one_note)
    write(atoll.atoll, full, _one_note, partial(_panes, atoll.sandbox, terminals))
    with _page(atoll) as page:
        _open(page, atoll, empty)
        floor = _gestures(page, "one note")
    with _page(atoll) as page:
        _open(page, atoll, full)
        page.wait_for_function("n => (window.__atollTerms?.size ?? 0) >= n", arg=PANES)
        # After the view was fitted to what is there, so that the panes are live.
        write(atoll.atoll, full, _notes)
        page.locator(f'[data-item="{item_id(1000)}"]').wait_for(state="attached")
        ours = _gestures(page, f"{PANES} panes, {NOTES} notes")
    for terminal in terminals:
        atoll.close(terminal)
    table("a canvas: event → its frame", *floor, *ours)
    for one, other in zip(floor, ours, strict=True):
        ratio(f"{other.name}, times one note's p95", other.p95 / one.p95)
    verdict("p95 of all, in milliseconds", max(one.p95 for one in ours), 100)


def _one_note(items: Items) -> None:
    items[item_id(1)] = note("drag me", x=0, y=0)


def _panes(sandbox: str, terminals: list[str], items: Items) -> None:
    for n, terminal in enumerate(terminals):
        box = {"x": 200 + n % 6 * 230, "y": n // 6 * 180, "w": 220, "h": 170}
        items[item_id(100 + n)] = pane(sandbox, terminal, **box)


def _notes(items: Items) -> None:
    for n in range(NOTES):
        items[item_id(1000 + n)] = note(f"note {n}", x=n % 25 * 170, y=1000 + n // 25 * 130)


def _gestures(page: Page, what: str) -> list[Series]:
    """Drag a note, scroll and zoom."""
    page.locator(_NOTE).wait_for()
    box = page.locator(_NOTE).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] - 12
    page.evaluate(_WATCH, ["pointermove", "wheel"])
    page.mouse.move(x, y)
    page.mouse.down()
    for n in range(MOVES):
        page.mouse.move(x + n * 3, y + n % 40)
    page.mouse.up()
    found = [Series(f"{what}: drag", samples=_waits(page))]
    for n in range(MOVES):
        page.mouse.wheel(0, 30 if n % 40 < 20 else -30)
    found.append(Series(f"{what}: scroll", samples=_waits(page)))
    page.keyboard.down("Control")
    for n in range(MOVES):
        page.mouse.wheel(0, -20 if n % 10 < 5 else 20)
        if n % 10 == 9:
            page.wait_for_timeout(200)  # at rest, all is drawn anew
    page.keyboard.up("Control")
    found.append(Series(f"{what}: zoom", samples=_waits(page)))
    return found


def _memory(atoll: OwnAtoll) -> None:
    identity = _made(atoll, "memory")
    heaps: list[float] = []
    nodes: list[int] = []
    with _page(atoll) as page:
        _open(page, atoll, identity)
        session = page.context.new_cdp_session(page)
        for batch in range(BATCHES):
            _opened_and_closed(page, atoll, identity, batch)
            found = _held(session)
            heaps.append(found[0])
            nodes.append(found[1])
    print(f"\nmemory of a page after each {BATCH} panes, opened and closed")
    print("  heap, MB: " + ", ".join(f"{heap:.1f}" for heap in heaps))
    print("  nodes: " + ", ".join(map(str, nodes)))
    verdict(f"heap after {BATCH * (BATCHES - 1)} more panes, in times", heaps[-1] / heaps[0], 1.1)


def _opened_and_closed(page: Page, atoll: OwnAtoll, identity: str, batch: int) -> None:
    terminals = [atoll.open(*ECHO) for _ in range(BATCH)]
    ids = [item_id(batch * BATCH + n) for n in range(BATCH)]

    def put(items: Items) -> None:
        for n, (one, terminal) in enumerate(zip(ids, terminals, strict=True)):
            box = {"x": n % 4 * 360, "y": n // 4 * 260, "w": 350, "h": 250}
            items[one] = pane(atoll.sandbox, terminal, **box)

    def take(items: Items) -> None:
        for one in ids:
            del items[one]

    write(atoll.atoll, identity, put)
    page.wait_for_function("n => (window.__atollTerms?.size ?? 0) === n", arg=BATCH)
    write(atoll.atoll, identity, take)
    page.wait_for_function("() => window.__atollTerms.size === 0")
    for terminal in terminals:
        atoll.close(terminal)


def _held(session: CDPSession) -> tuple[float, int]:
    """Return the MB of the heap, and the nodes, after a collection."""
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    return heap, session.send("Memory.getDOMCounters")["nodes"]


def _typing(atoll: OwnAtoll) -> None:
    bare, ours = Series("bare xterm.js, echo in the page"), Series("beside a flood")
    with _page(atoll) as page:
        page.goto("about:blank")
        page.set_content('<div id="place"></div>')
        page.add_style_tag(path=XTERM / "css" / "xterm.css")
        page.add_script_tag(path=XTERM / "lib" / "xterm.js")
        page.evaluate(_BARE)
        bare.samples += _keys(page, "bare")
    identity, quiet, noisy = _made(atoll, "typing"), atoll.open(*ECHO), atoll.open(*flood(0))

    def put(items: Items) -> None:
        items[item_id(1)] = pane(atoll.sandbox, quiet, x=0, y=0, w=664, h=416)
        items[item_id(2)] = pane(atoll.sandbox, noisy, x=700, y=0, w=664, h=416)

    write(atoll.atoll, identity, put)
    with _page(atoll) as page:
        _open(page, atoll, identity)
        page.wait_for_function("() => (window.__atollTerms?.size ?? 0) === 2")
        _enter(page, item_id(2))
        page.keyboard.press("Enter")
        page.wait_for_function(
            "id => window.__atollTerms.get(id).buffer.active.length > 500", arg=noisy
        )
        _enter(page, item_id(1))
        ours.samples += _keys(page, quiet)
    atoll.close(quiet)
    atoll.close(noisy)
    table("a key in a pane of a canvas → drawn", bare, ours)
    verdict("p95 beside a flood, in milliseconds", ours.p95, 50)


def _enter(page: Page, item: str) -> None:
    page.locator(f'[data-item="{item}"] .xterm-screen').dblclick()
    keys = page.locator(f'[data-item="{item}"] .xterm-helper-textarea')
    keys.focus()


def _keys(page: Page, terminal: str) -> list[float]:
    page.evaluate(_TYPED, terminal)
    for n in range(KEYS):
        page.keyboard.press("0123456789"[n % 10])
        page.wait_for_function("n => window.waits.length > n", arg=n)
    return _waits(page)


def _opening(atoll: OwnAtoll) -> None:
    empty, old = _made(atoll, "empty once more"), _made(atoll, "old")
    write(atoll.atoll, empty, _one_note)
    for author in range(AUTHORS):
        write(atoll.atoll, old, *_edits(Random(author), EDITS // AUTHORS))
    floor, ours = Series("a document of one note"), Series(f"a document of {EDITS:,} edits")
    for _ in range(OPENINGS):
        for series, identity in ((floor, empty), (ours, old)):
            with _page(atoll) as page:
                started = time.perf_counter()
                _open(page, atoll, identity)
                page.locator(_NOTE).wait_for()
                series.samples.append((time.perf_counter() - started) * 1000)
    table("opening a dashboard, from its link to its notes", floor, ours)
    verdict("median, in seconds", ours.median / 1000, 1)


def _edits(random: Random, count: int) -> Iterator[Callable[[Items], None]]:
    """So many characters, inserted and deleted at random places of notes, in updates of 250."""

    def some(items: Items) -> None:
        for _ in range(250):
            identity = item_id(1 + random.randrange(EDITED_NOTES))
            if identity not in items:
                items[identity] = note("", x=random.randrange(1400), y=random.randrange(800))
            text = items[identity]["text"]
            at = random.randrange(len(text) + 1)
            if at < len(text) and random.random() < 0.45:
                del text[at : at + 1]
            else:
                text.insert(at, random.choice("abcdefgh "))

    for _ in range(count // 250):
        yield some


def _made(atoll: OwnAtoll, name: str) -> str:
    answer = atoll.atoll.api.post("/v1/dashboards", json={"name": name}).raise_for_status()
    return str(answer.json()["id"])


@contextmanager
def _page(atoll: OwnAtoll) -> Iterator[Page]:
    """A browser of its own, logged in."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        context = browser.new_context(viewport=SIZE)
        context.add_init_script("localStorage.setItem('atoll.test', '1')")
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto(atoll.atoll.api.post("/auth/tickets").raise_for_status().json()["url"])
        page.get_by_role("button", name="New sandbox").first.wait_for()
        yield page
        browser.close()


def _open(page: Page, atoll: OwnAtoll, identity: str) -> None:
    page.goto(f"{atoll.atoll.host.url}/#/dashboards/{identity}")


def _waits(page: Page) -> list[float]:
    """Return what was measured since it was asked last."""
    page.wait_for_timeout(300)
    found: list[float] = page.evaluate("() => window.waits.splice(0)")
    return found
