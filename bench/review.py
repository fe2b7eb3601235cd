"""`review`: a diff of 5,000 lines in the page, scrolled; and how soon an edit is there.

The frames stand beside those of the same lines as one bare `<pre>` in the same Chromium.
"""

import time
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright

from bench.figures import Series, table, verdict
from bench.server import Server, server

LINES = 5000
EDITS = 8
CHROMIUM = Path("/usr/bin/chromium")
PATIENCE_MILLISECONDS = 60_000.0
LAY_OUT = f"""
set -e
git init -q .
git config user.name bench
git config user.email bench@atoll.invalid
echo begun > large.py
git add -A
git commit -qm begun
for n in $(seq {LINES}); do
  echo "def function_$n(value): return value + $n  # line $n"
done > large.py
"""
# Scrolls from top to bottom in 120 steps, one for each frame; returns how long each frame took.
_SCROLL = """async box => {
  const frames = [], steps = 120, whole = box.scrollHeight - box.clientHeight;
  let before = await new Promise(requestAnimationFrame);
  for (let step = 1; step <= steps; step += 1) {
    box.scrollTop = (whole * step) / steps;
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - before);
    before = now;
  }
  return frames;
}"""


def review() -> None:
    """Print frames of a long diff, and how soon an edit is on the page."""
    if not CHROMIUM.exists():
        print("  no Chromium here: not measured")
        return
    bare, ours = Series("frame of a bare <pre>"), Series("frame of the diff")
    seen = Series("an edit, until its line is on the page")
    with server() as atoll, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        sandbox = atoll.create()
        laid = atoll.run(sandbox, "sh", "-c", LAY_OUT)
        assert laid["exit_code"] == 0, laid
        opened = browser.new_page(viewport={"width": 1200, "height": 800})
        opened.set_default_timeout(PATIENCE_MILLISECONDS)
        diff = _opened(opened, atoll, sandbox)
        lines = diff.inner_text()
        bare.samples += _bare(browser.new_page(), lines)
        ours.samples += diff.evaluate(_SCROLL)
        diff.evaluate("box => { box.scrollTop = 0 }")
        for number in range(EDITS):
            seen.samples.append(_edited(atoll, sandbox, diff, f"edited {number}"))
        browser.close()
    table(f"a diff of {LINES:,} lines in the page", bare, ours, seen)
    verdict("an edit is there, p95, seconds", seen.p95 / 1000, 2.0)


def _opened(page: Page, atoll: Server, sandbox: str) -> Locator:
    """Open the changes of a sandbox; returns the box of its one file."""
    ticket = atoll.api.post("/auth/tickets").raise_for_status().json()
    page.goto(ticket["url"])
    page.get_by_role("button", name="New sandbox").first.wait_for()
    page.goto(f"{atoll.host.url}/#/sandboxes/{sandbox}/changes")
    diff = page.get_by_role("group", name="Changes of large.py")
    diff.get_by_text("function_1(").first.wait_for()
    return diff


def _bare(page: Page, lines: str) -> list[float]:
    page.set_content('<pre id="box" style="height: 700px; overflow: auto"></pre>')
    text = (lines + "\n") * (LINES // max(1, lines.count("\n")))
    page.evaluate("text => { box.textContent = text }", text)
    found: list[float] = page.locator("#box").evaluate(_SCROLL)
    page.close()
    return found


def _edited(atoll: Server, sandbox: str, diff: Locator, words: str) -> float:
    """Change the first line; returns the milliseconds until the page shows it."""
    atoll.run(sandbox, "sed", "-i", f"1s/.*/{words}/", "large.py")
    started = time.perf_counter()
    diff.get_by_text(words).first.wait_for()
    return (time.perf_counter() - started) * 1000
