"""`page`: 50 MB of text into a terminal of the page, beside a bare xterm.js in the same Chromium.

The bare one is given the same bytes as strings inside the browser: no server, no socket, no PTY.
"""

import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from bench.figures import Series, table, verdict
from bench.terminal_peers import LINE, flood
from bench.terminals import OwnAtoll, own_atoll

FLOOD_BYTES = 50_000_000
ROUNDS = 3
PATIENCE_MILLISECONDS = 300_000.0
CHROMIUM = Path("/usr/bin/chromium")
XTERM = Path(__file__).parent.parent / "ui" / "node_modules" / "@xterm" / "xterm"
_BARE = """async ([line, bytes]) => {
  const term = new Terminal({scrollback: 5000, cols: 120, rows: 40});
  term.open(document.getElementById('place'));
  const block = (line + '\\r\\n').repeat(800), started = performance.now();
  for (let left = bytes; left > 0; left -= block.length)
    await new Promise(done => term.write(block.slice(0, left), done));
  await new Promise(requestAnimationFrame);
  const took = performance.now() - started;
  term.dispose();
  return took;
}"""
_ENDED = """id => {
  const buffer = window.__atollTerms?.get(id)?.buffer.active;
  for (let y = Math.max(0, (buffer?.length ?? 0) - 60); y < (buffer?.length ?? 0); y += 1)
    if (buffer.getLine(y)?.translateToString(true).includes('END-OF-FLOOD')) return true;
  return false;
}"""


def page() -> None:
    """Print how long both take."""
    if not CHROMIUM.exists() or not XTERM.exists():
        print("  no Chromium or no ui/node_modules here: not measured")
        return
    bare, ours = Series("bare xterm.js in Chromium: 50 MB"), Series("the page: 50 MB")
    with own_atoll() as atoll, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        for _ in range(ROUNDS):
            bare.samples.append(_bare(browser))
            ours.samples.append(_paged(browser, atoll))
        browser.close()
    table("50 MB of text in the browser", bare, ours)
    verdict("times the bare xterm.js", ours.median / bare.median, 1.5)


def _bare(browser: Browser) -> float:
    blank = browser.new_page(viewport={"width": 1200, "height": 800})
    blank.set_content('<div id="place"></div>')
    blank.add_style_tag(path=XTERM / "css" / "xterm.css")
    blank.add_script_tag(path=XTERM / "lib" / "xterm.js")
    took = float(blank.evaluate(_BARE, [LINE, FLOOD_BYTES]))
    blank.close()
    return took


def _paged(browser: Browser, atoll: OwnAtoll) -> float:
    terminal = atoll.open(*flood(FLOOD_BYTES))
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    context.add_init_script("localStorage.setItem('atoll.test', '1')")
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MILLISECONDS)
    ticket = atoll.atoll.api.post("/auth/tickets").raise_for_status().json()
    opened.goto(ticket["url"])
    opened.get_by_role("button", name="New sandbox").first.wait_for()
    opened.goto(f"{atoll.atoll.host.url}/#/sandboxes/{atoll.sandbox}/{terminal}")
    keys = opened.locator(".pane:not([hidden]) .xterm-helper-textarea")
    keys.wait_for(state="attached")
    opened.wait_for_function(_ENDED.replace("END-OF-FLOOD", "READY"), arg=terminal)
    keys.focus()
    started = time.perf_counter()
    opened.keyboard.press("Enter")
    opened.wait_for_function(_ENDED, arg=terminal)
    took = (time.perf_counter() - started) * 1000
    context.close()
    atoll.close(terminal)
    return took
