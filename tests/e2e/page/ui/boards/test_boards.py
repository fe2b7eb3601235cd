"""A dashboard in Chromium: two people at once, by the keyboard alone, and what strangers wrote."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, FilePayload, Locator, Page, Route, expect
from pycrdt import Map, Text

from tests.bounds import matrix
from tests.e2e.page.test_axe import AXE
from tests.e2e.page.ui.looks.test_axe_routes import surveyed
from tests.e2e.page.ui.scripted import TICKET, ScriptedServer
from tests.peers.browsers import CALM
from tests.peers.nats.server import until

from .scripted_boards import STAMP, ScriptedBoard

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

BOX = {"w": 208, "h": 176, "z": 1, "by": "person", "at": "2026-01-01T00:00:00Z"}
#: Fails the page's fixture where it runs.
ATTACK = "<img src=x onerror=\"throw new Error('ran')\"><script>throw new Error('ran')</script>"


_DROP = """() => {
  const files = new DataTransfer();
  files.items.add(new File(['gif'], 'c.gif', { type: 'image/gif' }));
  const init = { dataTransfer: files, clientX: 300, clientY: 300, bubbles: true, cancelable: true };
  document.querySelector('.canvas').dispatchEvent(new DragEvent('drop', init));
}"""


def put(board: ScriptedBoard, number: int, **fields: Any) -> str:
    """Writes an item into the document, as a page does."""
    identity = f"itm_{number:016}"
    if "text" in fields and fields["kind"] in ("note", "todo"):
        fields["text"] = Text(fields["text"])
    items = board.doc.get("items", type=Map)
    items[identity] = Map({**BOX, "x": 260 * number, "y": 0, **fields})
    return identity


def add_home(server: ScriptedServer) -> str:
    """A dashboard's own sandbox, with agents in it, one of which lacks its key."""
    inside = ["codex@0.171", "opencode", "gemini-cli", "acp:kimi"]
    return server.add_sandbox("home", agents_inside=inside)


async def begin_at_home(page: Page, agent: str, words: str = "") -> None:
    """Begins an agent in the dashboard's own sandbox."""
    box = page.get_by_role("dialog", name="New agent")
    await box.get_by_label("in this dashboard’s sandbox").check()
    await box.get_by_label(agent).check()
    await box.get_by_label("What is to be done").fill(words)
    await box.get_by_role("button", name=f"Start {agent}").click()
    await expect(box).to_have_count(0)


async def arrive(page: Page, server: ScriptedServer, board: ScriptedBoard) -> Locator:
    """Logs in and opens a dashboard; returns its canvas."""
    server.tickets.add(TICKET)
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("button", name="Dashboards")).to_be_visible()
    await page.evaluate(f"location.hash = '#/dashboards/{board.view['id']}'")
    await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    return page.get_by_role("application")


@asynccontextmanager
async def second(browser: Browser) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": 1200, "height": 800}, **CALM)
    yield await context.new_page()
    await context.close()


async def wake(page: Page) -> None:
    await page.evaluate("window.dispatchEvent(new Event('online'))")


async def test_two_people_write_one_note_and_what_was_cut_off_merges(
    server: ScriptedServer, page: Page, browser: Browser
) -> None:
    board = server.boards.add("Together")
    note = put(board, 1, kind="note", text="Shared")
    canvas = await arrive(page, server, board)
    async with second(browser) as other:
        await arrive(other, server, board)
        await expect(other.locator(".board-person")).to_have_count(1)
        ours, theirs = (one.locator(f'[data-item="{note}"]') for one in (page, other))
        for one, words in ((ours, " by Ann"), (theirs, " by Bob")):
            await one.dblclick()
            await one.get_by_role("textbox").press("Control+End")
            await one.page.keyboard.type(words)
        await expect(ours).to_contain_text("by Bob")
        await expect(theirs).to_contain_text("by Ann")

        await board.cut()
        await expect(page.get_by_text("Offline")).to_be_visible()
        await page.keyboard.type("!")
        await page.keyboard.press("Escape")
        await page.keyboard.press("ArrowDown")
        await other.keyboard.type("?")
        board.reachable = True
        await asyncio.gather(wake(page), wake(other))
        await until(lambda: board.items[note]["y"] == 8 and "?" in board.items[note]["text"])
        words = board.items[note]["text"]
        assert sorted(words) == sorted("Shared by Ann by Bob!?")
        await expect(ours).to_contain_text(words)
        await expect(theirs).to_contain_text(words)
        assert len(board.items) == 1

    # What the server refuses is not kept: the page shows what the server has.
    board.refuse = ("too_large", "it is too large")
    await canvas.press("Control+d")
    await expect(page.get_by_text("The last change was not kept: it is too large")).to_be_visible()
    await expect(page.locator("[data-item]")).to_have_count(1)


@pytest.mark.whole_chromium
async def test_a_day_on_a_dashboard_by_the_keyboard_alone(
    server: ScriptedServer, page: Page
) -> None:
    keys = page.keyboard
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("button", name="Dashboards")).to_be_visible()
    await keys.press("d")
    await page.get_by_role("button", name="New dashboard").press("Enter")
    await keys.type("Release")
    await keys.press("Enter")
    await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    await page.get_by_role("application").focus()
    [board] = server.boards.boards.values()

    await keys.press("n")
    await expect(page.get_by_role("textbox")).to_be_focused()
    await keys.type("# Plan")
    await keys.press("Enter")
    await keys.type("- first")
    await keys.press("Escape")
    note = page.locator('[data-kind="note"]')
    await expect(note).to_be_focused()
    await expect(note.locator(".rich-heading")).to_have_text("Plan")
    await expect(note.locator(".rich-bullet")).to_have_text("first")

    await keys.press("d")
    await expect(page.get_by_role("textbox", name="Text of Todo")).to_be_focused()
    await keys.type("Fix the login page")
    await keys.press("Escape")
    await keys.press("t")
    await expect(page.locator(".xterm-helper-textarea")).to_be_focused()
    await expect(page.get_by_text("You drive")).to_be_visible()
    [terminal] = server.terminals["sb_0001"].values()
    await keys.type("ls")
    await until(lambda: bytes(terminal.typed) == b"ls")
    await keys.press("Control+Shift+Period")
    await expect(page.locator('[data-kind="terminal"]')).to_be_focused()

    await keys.press("a")
    box = page.get_by_role("dialog", name="New agent")
    await expect(box.get_by_label("What is to be done")).to_be_focused()
    await expect(box.get_by_role("button", name="Start claude-code")).to_be_visible()
    await keys.type("Fix the footer")
    await keys.press("Control+Enter")
    await expect(page.locator('[data-kind="agent"]')).to_have_count(1)
    await expect(box).to_have_count(0)
    assert server.created[-1]["agent"] == "claude-code"
    await keys.press("Control+z")
    await expect(page.locator('[data-kind="agent"]')).to_have_count(0)
    await note.press("Escape")
    await arrange(page, board)


async def arrange(page: Page, board: ScriptedBoard) -> None:
    """Moves, copies, removes and undoes by keys."""
    keys = page.keyboard
    note = page.locator('[data-kind="note"]')
    # From the first on, in the order of reading: what is above comes first.
    await keys.press("Escape")
    await expect(page.get_by_role("application")).to_be_focused()
    while not await note.evaluate("one => one === document.activeElement"):
        await keys.press("Tab")
        await expect(page.locator("[data-item]:focus")).to_have_count(1)
    await undo_by_keys(page, board)
    await keys.press("?")
    await expect(page.get_by_role("dialog", name="Keys of the canvas")).to_be_visible()
    await keys.press("Escape")
    await keys.press("Control+k")
    await keys.type("show everything")
    await keys.press("Enter")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def undo_by_keys(page: Page, board: ScriptedBoard) -> None:
    """Move, double and remove the note that has the keyboard, and take it all back."""
    keys, note = page.keyboard, page.locator('[data-kind="note"]')
    await until(lambda: "first" in str([*board.items.values()]))  # all that was typed is there
    place = next(one for one in board.items.values() if one["kind"] == "note")
    await keys.press("ArrowRight")
    await keys.press("Control+d")
    await expect(note).to_have_count(2)
    await keys.press("Delete")
    await expect(note).to_have_count(1)
    for _ in range(3):
        await keys.press("Control+z")
    await until(lambda: place in board.items.values())
    await keys.press("Control+Shift+z")
    await until(lambda: place not in board.items.values())
    # The keyboard stays on the canvas where everything that had it is gone.
    await keys.press("Control+a")
    await keys.press("Delete")
    await expect(page.locator("[data-item]")).to_have_count(0)
    await keys.press("Control+z")
    await expect(page.locator("[data-item]")).to_have_count(3)


async def test_files_of_a_person_are_uploaded_and_shown_where_they_are_dropped(
    server: ScriptedServer, page: Page
) -> None:
    sent: list[str] = []

    async def take(route: Route) -> None:
        if route.request.method == "PUT":
            sent.append(parse_qs(urlsplit(route.request.url).query)["path"][0])
        await route.fulfill(status=204)

    board = server.boards.add("Pictures")
    await page.route("**/files/content?*", take)
    canvas = await arrive(page, server, board)
    async with page.expect_file_chooser() as chooser:
        await canvas.press("u")
    picture: FilePayload = {"name": "a b.png", "mimeType": "image/png", "buffer": b"picture"}
    await (await chooser.value).set_files([picture])
    await expect(page.get_by_text("Open a terminal first")).to_be_visible()

    put(board, 1, kind="terminal", sandbox_id=server.add_sandbox("home"), terminal_id="t_1")
    await page.reload()
    await expect(page.locator("[data-item]")).to_have_count(1)
    async with page.expect_file_chooser() as chooser:
        await canvas.press("u")
    words: FilePayload = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"words"}
    await (await chooser.value).set_files([picture, words])
    await expect(page.locator("[data-item]")).to_have_count(3)
    await until(lambda: len(board.items) == 3)
    made = {one["kind"]: one for one in board.items.values()}
    assert made["image"]["path"].endswith("-a_b.png") and made["viewer"]["title"] == "notes.txt"
    assert {made["image"]["path"], made["viewer"]["path"]} < {*sent}

    await page.evaluate(_DROP)
    await expect(page.locator("[data-item]")).to_have_count(4)
    await until(lambda: any(one.get("title") == "c.gif" for one in board.items.values()))


async def test_what_strangers_wrote_stays_text_and_a_viewer_changes_nothing(
    server: ScriptedServer, page: Page
) -> None:
    board = server.boards.add(ATTACK)
    put(board, 1, kind="note", text=ATTACK, title=ATTACK)
    put(board, 2, kind="todo", text=ATTACK, assignee=ATTACK)
    link = put(board, 3, kind="link", url="javascript:throw new Error('ran')", title=ATTACK)
    put(board, 4, kind=ATTACK[:20], title=ATTACK)
    put(board, 5, kind="link", url="https://example.com/", title=ATTACK)
    text = Text(ATTACK)
    note = put(board, 6, kind="note")
    board.doc.get("items", type=Map)[note]["text"] = text
    text.format(0, 9, {"link": "javascript:throw new Error('ran')"})
    await arrive(page, server, board)
    await expect(page.locator("[data-item]")).to_have_count(6)
    await expect(page.get_by_text("<script>").first).to_be_visible()
    assert await page.locator(".world img, .world script").count() == 0
    assert await page.locator(f'[data-item="{link}"] a').count() == 0
    hrefs = await page.eval_on_selector_all(".world a", "all => all.map((one) => one.href)")
    assert hrefs == ["https://example.com/"]
    # A viewer looks and changes nothing.
    watched = server.boards.add("Watched", role="viewer")
    mine = put(watched, 1, kind="note", text="Mine")
    await page.evaluate(f"location.hash = '#/dashboards/{watched.view['id']}/{mine}'")
    await expect(page.get_by_text("View only")).to_be_visible()
    before = watched.items
    item = page.locator(f'[data-item="{mine}"]')
    await item.dblclick()
    await expect(page.get_by_role("textbox")).to_have_count(0)
    await page.keyboard.press("Delete")
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("n")
    await expect(page.get_by_role("toolbar", name="Tools").get_by_role("button")).to_have_count(2)
    assert watched.items == before


async def test_agent_that_ended_is_started_again_whatever_its_item_is_called(
    server: ScriptedServer, page: Page
) -> None:
    board, home = server.boards.add("Agents"), add_home(server)
    board.view["sandbox_id"] = home
    place = {"kind": "agent", "sandbox_id": home, "terminal_id": "t_gone", "w": 400, "h": 300}
    known = put(board, 0, title="My reviewer", agent="codex", **place)
    unknown = put(board, 2, title="My writer", **place)
    await arrive(page, server, board)
    again = "Open a new one here"
    await page.locator(f'[data-item="{known}"]').get_by_role("button", name=again).click()
    await until(lambda: board.items[known]["terminal_id"] in server.terminals[home])
    assert board.items[known]["title"] == "My reviewer"
    # Of an old item nobody knows what ran there: its person says it.
    await page.keyboard.press("Control+Shift+Period")
    await page.locator(f'[data-item="{unknown}"]').get_by_role("button", name=again).click()
    await begin_at_home(page, "opencode")
    await until(lambda: board.items[unknown].get("agent") == "opencode")
    opened = [one.name for one in server.terminals[home].values()]
    assert opened == ["codex", "opencode"]


async def test_agent_begins_in_a_sandbox_of_its_own_and_stands_on_the_canvas(
    server: ScriptedServer, page: Page
) -> None:
    board = server.boards.add("Plan")
    canvas = await arrive(page, server, board)
    box = page.get_by_role("dialog", name="New agent")
    await canvas.press("a")
    await expect(box.get_by_label("no agent")).to_be_visible()
    # There is no home sandbox yet, and nothing to begin an agent in.
    await expect(box.get_by_label("in this dashboard’s sandbox")).to_have_count(0)
    await box.get_by_role("button", name="Start").click()
    await expect(box.get_by_role("alert")).to_have_text("Say what is to be done.")
    await box.get_by_label("What is to be done").fill("Sort the boats")
    await box.get_by_label("codex").check()
    await box.get_by_label("claude-code").check()
    await page.keyboard.press("Control+Enter")
    await until(lambda: len(board.items) == 2)
    panes = sorted(board.items.values(), key=lambda one: one["x"])
    assert [one["kind"] for one in panes] == ["agent", "agent"]
    assert {one["agent"] for one in panes} == {"codex", "claude-code"}
    first, second_pane = panes
    apart = first["x"] + first["w"] <= second_pane["x"] or first["y"] != second_pane["y"]
    assert apart and {one["sandbox_id"] for one in panes} == {*server.sandboxes}
    await until(lambda: {*board.linked} == {*server.sandboxes})


async def test_agent_of_a_canvas_is_offered_the_repository_that_is_worked_on_there(
    server: ScriptedServer, page: Page
) -> None:
    where = {"branch": "sort-boats", "from_branch": "main", "path": "o/r", "key": None}
    more = {"sparse": [], "submodules": [], "lfs_files": 0}
    repo = {"repo_url": "https://forge.example/o/r", **where, **more}
    board, work = server.boards.add("Boats"), server.add_sandbox("work", repos=[repo])
    put(board, 1, kind="diff", sandbox_id=work, w=400, h=300)
    canvas = await arrive(page, server, board)
    await canvas.press("a")
    box = page.get_by_role("dialog", name="New agent")
    await expect(box.get_by_role("button", name="Repository: o/r")).to_be_visible()
    await box.get_by_label("What is to be done").fill("Sort the boats")
    # The branch of the work that is there is taken.
    await expect(box.get_by_role("button", name="Branch: sort-boats-2")).to_be_visible()
    await page.keyboard.press("Control+Enter")
    await expect(page.locator('[data-kind="agent"]')).to_have_count(1)
    assert server.created[-1]["repos"][0]["repo_url"] == "https://forge.example/o/r"


async def test_agent_of_a_canvas_without_its_key_or_program_is_not_begun(
    server: ScriptedServer, page: Page
) -> None:
    board = server.boards.add("Keys", sandbox_id=add_home(server))
    canvas = await arrive(page, server, board)
    box = page.get_by_role("dialog", name="New agent")
    home = box.get_by_label("in this dashboard’s sandbox")
    await canvas.press("a")
    await home.check()
    await expect(box.get_by_label("gemini-cli")).to_have_count(0)
    await expect(box.get_by_label("claude-code")).to_have_count(0)
    await expect(box.get_by_text("codex in this dashboard’s sandbox")).to_be_visible()
    # Its program went away meanwhile: the server says so, and nothing stands on the canvas.
    server.agent.installed -= {"codex"}
    await box.get_by_role("button", name="Start codex").click()
    refusal = page.locator(".notice", has_text="atoll agent install codex")
    await expect(refusal).to_be_visible()
    await refusal.get_by_role("button").click()

    server.ready_agents.clear()
    await canvas.press("a")
    await expect(box.get_by_text("No agent is ready yet")).to_be_visible()
    await expect(home).to_have_count(0)
    await box.get_by_label("What is to be done").fill("Sort the boats")
    await page.keyboard.press("Control+Enter")
    await expect(box.get_by_role("alert")).to_have_text("Choose an agent.")
    assert board.items == {} and server.created == []


async def test_agent_without_a_terminal_is_shown_by_its_cards(
    server: ScriptedServer, page: Page
) -> None:
    board = server.boards.add("Cards", sandbox_id=add_home(server))
    canvas = await arrive(page, server, board)
    await canvas.press("a")
    await begin_at_home(page, "acp:kimi", "Sort the boats")
    await server.agent.prompted()
    assert server.agent.prompts == ["Sort the boats"]
    item = page.locator('[data-kind="agent"]')
    await expect(item.get_by_label("Ask acp:kimi")).to_be_visible()
    await until(lambda: len(board.items) == 1)  # the page shows an item before it is stored
    (held,) = board.items.values()
    assert (held["agent"], held["terminal_id"]) == ("acp:kimi", "a_1")
    await agent_does_what_a_comment_says(server, page)


async def agent_does_what_a_comment_says(server: ScriptedServer, page: Page) -> None:
    """The one that works where the comment is; its reader may hand it to another."""
    await page.locator('[data-kind="agent"] .item-head').click()
    await page.get_by_role("application").press("c")
    side = page.get_by_role("complementary")
    await side.get_by_label("Your comment").fill("Say why.")
    await side.get_by_role("button", name="Comment", exact=True).click()
    await side.get_by_role("button", name="Do this").click()
    dialog = page.get_by_role("dialog", name="Ask the agent")
    said = "Say why.\n\nIt is about this:\n\n> acp:kimi"
    await expect(dialog.get_by_label("Prompt")).to_have_value(said)
    await dialog.get_by_role("button", name="Send to acp:kimi").click()
    await expect(dialog).to_have_count(0)
    assert server.agent.prompts[-1] == said
    await page.get_by_label("Comments").first.click()
    await side.get_by_role("button", name="Do this").click()
    await dialog.get_by_role("button", name="Another agent").click()
    box = page.get_by_role("dialog", name="New agent")
    await expect(box.get_by_label("What is to be done")).to_have_value(said)


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: run `npm ci` in ui/")
@pytest.mark.parametrize("device", matrix(["desktop", "phone"], "phone"))
async def test_dashboards_hold_to_axe(
    server: ScriptedServer, browser: Browser, device: str
) -> None:
    board = server.boards.add("Everything")
    home = server.add_sandbox("home")
    terminal = server.add_terminal(home)
    place = {"sandbox_id": home, "terminal_id": terminal.id, "w": 664, "h": 416}
    put(board, 1, kind="note", text="A note", colour="pink")
    put(board, 2, kind="todo", text="To be done", w=328, h=112, due="2020-01-01")
    put(board, 3, kind="link", url="https://example.com/", w=264, h=64)
    put(board, 4, kind="terminal", y=260, x=0, **place)
    put(board, 5, kind="frame", title="Room", x=-40, y=-40, w=1600, h=900, z=0)
    board.comments.append(
        {"id": "cm_1", "item_id": f"itm_{1:016}", "author": "person", "author_name": "Ann Ray"}
        | {"mentions": [], "text": "Say why.", "at": STAMP, "resolved": False}
    )
    put(board, 6, kind="terminal", x=700, y=260, **{**place, "terminal_id": "t_gone"})
    steps: list[tuple[str, str, Callable[[Page], Awaitable[None]]]] = [
        ("Share", "share", lambda page: page.get_by_role("button", name="Share").click()),
        ("Comments", "comments", lambda page: page.get_by_label("Comments").first.click()),
    ]
    async with surveyed(browser, f"{server.url}#login={TICKET}", device) as found:
        page = found.page
        await page.wait_for_function("location.hash === '#/'")
        await page.evaluate("location.hash = '#/dashboards'")
        await expect(page.get_by_role("link", name="Everything")).to_be_visible()
        await found.check("all dashboards")
        await found.check_dialog(page.get_by_role("button", name="New dashboard"), "a new one")
        await page.get_by_role("link", name="Everything").click()
        await expect(page.get_by_text("To be done").first).to_be_visible()
        await found.check("a dashboard")
        for name, view, act in steps:
            await act(page)
            # Comments stand beside the canvas, where there is room for both.
            beside = name == "Comments" and device == "desktop"
            over = page.get_by_role("complementary" if beside else "dialog", name=name)
            await expect(over).to_be_visible()
            await found.check(view)
            await page.keyboard.press("Escape")
        if device == "phone":
            agent = page.locator(".cards-make").get_by_role("button", name="Agent")
            await found.check_dialog(agent, "a new agent")


async def test_home_offers_a_dashboard_and_shows_who_is_on_it(
    server: ScriptedServer, page: Page
) -> None:
    await page.goto(f"{server.url}#login={TICKET}")
    await page.get_by_role("button", name="Make a dashboard").click()
    dialog = page.get_by_role("dialog", name="New dashboard")
    await dialog.get_by_label("Name").fill("Plan")
    await dialog.get_by_role("button", name="Make").last.click()
    await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    (board,) = server.boards.boards.values()
    board.view["present"] = [{"id": "p_bob", "name": "Bob"}]
    await page.evaluate("location.hash = '#/'")
    card = page.get_by_role("list", name="Dashboards").get_by_role("listitem")
    await expect(card).to_contain_text("Bob is here")
    await card.get_by_role("button").click()
    await expect(page.get_by_role("application")).to_be_visible()
