"""Agents as cards on a phone, hostile cards, the lock, and recordings played in the page."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.e2e.page.test_people import PHONE_SCREEN
from tests.peers.browsers import CALM

from .open_page import OpenPage, learns
from .scripted import REPOSITORY, TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

STING = "<img src=x onerror='window.stung=1'><script>window.stung=2</script>"
KINDS = (
    *("text", "thinking", "tool-call", "bash", "diff", "file", "plan", "question"),
    *("approval", "preview-link", "status", "turn", "not-invented-yet"),
)
#: How far apart a terminal's letters are drawn, in pixels more than their width, at most.
LETTERS_APART = """() => {
  const spans = [...document.querySelectorAll('.pane-screen .xterm-rows span')];
  const apart = spans.map(span => parseFloat(getComputedStyle(span).letterSpacing) || 0);
  return spans.length === 0 ? null : Math.max(0.01, ...apart);
}"""
#: Where the parts of the frame are that are there at all times, by their names.
FRAME = """() => Object.fromEntries(
  [...document.querySelectorAll(`.sandbox-title h1, .sandbox-branch, .sandbox-people, .sandbox-more,
    .standing-place, .tabs button, .pane-screen, .pane-bar, .rail button`)]
    .map(one => [one, one.getBoundingClientRect()])
    .map(([one, at]) => [
      `${one.className} ${one.ariaLabel ?? one.title}`, [at.left, at.top, at.right, at.bottom]
    ])
)"""
#: How far down the content of a sandbox begins, in pixels, and below how many rows.
ABOVE = """() => {
  const top = document.querySelector('.sandbox').getBoundingClientRect().top;
  const rows = [...document.querySelectorAll('.sandbox-head > *, .tabs, .pane-bar')];
  const stage = document.querySelector('.pane-stage, .talk').getBoundingClientRect().top;
  const above = rows.map(row => row.getBoundingClientRect())
    .filter(row => row.height > 0 && row.bottom <= stage + 1);
  return [stage - top, new Set(above.map(row => Math.round(row.top))).size];
}"""
RUNNING = {"type": "agent_state", "agent_state": "running", "turn": "working", "agent": "codex"}
CAST = "\n".join(
    json.dumps(line)
    for line in (
        {"version": 3, "term": {"cols": 60, "rows": 12}},
        [0.1, "o", "first words\r\n"],
        [0.1, "m", "make test"],
        [60, "o", "late words\r\n"],
        [0.5, "o", "the end"],
    )
)


@pytest_asyncio.fixture(loop_scope="session")
async def phone(server: ScriptedServer, browser: Browser) -> AsyncIterator[Page]:
    """A phone in front of a terminal at which an agent works."""
    context = await browser.new_context(**CALM, **PHONE_SCREEN)
    page = await context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_default_timeout(60_000)
    sandbox = server.add_sandbox("pocket", agent="codex")
    terminal = server.add_terminal(sandbox)
    await page.goto(f"{server.url}#login={TICKET}")
    await page.get_by_role("button", name="Sandboxes").first.click()
    await page.locator(".row").first.click()
    await terminal.attached(1)
    await terminal.say({**RUNNING, "turn": "waiting"})
    yield page
    await context.close()
    assert errors == []


async def test_phone_shows_an_agent_as_cards_and_answers_it(
    server: ScriptedServer, phone: Page
) -> None:
    agent = server.agent
    await agent.put("user:1", text="Fix the tests", data={"role": "person"})
    await agent.put("call_1", kind="bash", state="running", title="npm test")
    options = [
        {"id": "accept", "label": "Yes", "effect": "allow"},
        {"id": "decline", "label": "No", "effect": "deny"},
    ]
    asks = {"kind": "approval", "state": "pending", "options": options}
    await agent.put("ask:1", title="Write app.txt?", data={"answerable": True}, **asks)
    log = phone.get_by_role("log", name="What the agent did")
    await expect(log).to_contain_text("Fix the tests")
    top, rows = await phone.evaluate(ABOVE)
    assert (rows, top <= 96) == (1, True)
    await agent.put("call_1", state="done", text="12 passing", data={"exit_code": 0})
    await expect(log).to_contain_text("12 passing")
    await expect(log.get_by_text("npm test")).to_have_count(1)
    await log.get_by_role("button", name="Yes").tap()
    await agent.answered()
    assert agent.answers == [("ask:1", {"option": "accept"})]
    await expect(log.get_by_role("button", name="Yes")).to_have_count(0)
    await phone.get_by_label("Ask codex").fill("And the linter?")
    await phone.get_by_role("button", name="Ask", exact=True).tap()
    await agent.prompted()
    assert agent.prompts == ["And the linter?"]
    wide = await phone.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    await phone.get_by_label("Ask codex").fill("Then begin")
    await phone.get_by_role("button", name="Show the terminal").tap()
    await expect(phone.locator(".pane-screen")).to_be_visible()
    await phone.wait_for_function(LETTERS_APART)
    assert await phone.evaluate(LETTERS_APART) < 2
    await phone.get_by_role("button", name="Show as cards").tap()
    await expect(phone.get_by_label("Ask codex")).to_have_value("Then begin")


async def test_cards_of_every_kind_hold_no_markup(server: ScriptedServer, phone: Page) -> None:
    for kind in KINDS:
        option = [{"id": STING, "label": STING, "effect": STING}]
        data = dict.fromkeys(("path", "input", "error", "reason", "role"), STING)
        texts = {"title": f"{kind} {STING}", "text": f"```\n{STING}\n```\n**{STING}** `{STING}`"}
        more = {"options": option, "data": {**data, "answerable": True}, "state": "pending"}
        await server.agent.put(f"{kind}:{STING}", kind=kind, **texts, **more)
    log = phone.get_by_role("log", name="What the agent did")
    await expect(log).to_contain_text("not-invented-yet")
    await expect(log.get_by_role("button", name=STING)).to_have_count(2)
    assert await phone.evaluate("window.stung") is None
    assert await phone.locator("img").count() == 0


async def test_no_part_of_the_frame_moves_when_a_turn_begins_or_ends(open_page: OpenPage) -> None:
    page, server, box = open_page.page, open_page.server, open_page.sandbox
    repository = {**REPOSITORY, "repo_url": "https://example.com/o/shop", "branch": "mend"}
    work = {
        **{"state": "working", "mark": "m", "commits": 0, "plus": 0, "minus": 0, "uncommitted": 1},
        **dict.fromkeys(("conflict", "merge", "pull", "reviewed_at")),
    }
    server.sandboxes[box] |= {"repos": [repository], "work": work}
    await server.tell(f"sandbox:{box}", "sandbox.active")
    await expect(page.locator(".sandbox-branch")).to_have_text("o/shop · mend")
    for width in (1280, 1440):
        await page.set_viewport_size({"width": width, "height": 800})
        seen = []
        for turn, status, stands in (
            ("waiting", "idle", None),
            ("working", "working", work),
            ("waiting", "needs_you", {**work, "state": "needs_you"}),
            ("working", "working", work),
            ("waiting", "done", {**work, "state": "to_review", "plus": 9412, "minus": 987}),
        ):
            server.sandboxes[box]["work"] = stands
            await open_page.terminal.say({**RUNNING, "turn": turn})
            await server.report(box, open_page.terminal.id, status, question="Which one?")
            await server.tell(f"sandbox:{box}", "sandbox.active")
            await expect(page.locator(".standing")).to_have_text(
                {"idle": "Idle", "needs_you": "Needs you", "done": "To review"}.get(
                    status, "Working"
                )
            )
            seen.append(await page.evaluate(FRAME))
        await expect(page.get_by_role("button", name="Review +9412 −987")).to_be_visible()
        await expect(page.get_by_role("tab", name="Changes +9.4k −987")).to_be_visible()
        for after in seen[1:]:
            moved = {
                name: (place, after[name])
                for name, place in seen[0].items()
                if max(abs(a - b) for a, b in zip(place, after[name], strict=True)) > 1
            }
            assert moved == {}
        top, rows = await page.evaluate(ABOVE)
        assert (rows, top <= 90) == (2, True)


async def test_working_agent_turns_typing_off_and_a_person_can_interrupt(
    open_page: OpenPage,
) -> None:
    await open_page.terminal.say(RUNNING)
    await expect(open_page.page.get_by_text("Agent is running")).to_be_visible()
    await open_page.type("x")
    await expect(open_page.page.get_by_role("alert")).to_contain_text("nothing was typed")
    await open_page.page.get_by_role("button", name="Interrupt").click()
    await open_page.terminal.say({**RUNNING, "turn": "waiting"})
    await expect(open_page.page.get_by_text("codex: it is your turn")).to_be_visible()
    await open_page.type("echo hi\r")
    await open_page.sees("hi")
    assert bytes(open_page.terminal.typed) == b"echo hi\r"
    await learns(open_page.page, lambda: open_page.server.agent.actions, ["interrupt"])


async def test_recording_is_shown_to_everybody_and_played_with_jumps(open_page: OpenPage) -> None:
    page = open_page.page
    await open_page.terminal.say({"type": "recording", "on": True, "by": "person"})
    await expect(page.get_by_role("button", name="Stop recording")).to_be_visible()
    open_page.server.agent.recordings["r_1"] = CAST
    await page.get_by_role("tab", name="Recordings").click()
    await page.get_by_role("button", name="Play", exact=True).click()
    screen = page.locator(".player-screen")
    await expect(screen).to_contain_text("first words")
    await page.get_by_role("button", name="Pause the recording").click()
    moment = page.get_by_label("Moment", exact=True)
    await page.get_by_label("Find in this recording").fill("late words")
    await page.keyboard.press("Enter")
    await expect(screen).to_contain_text("late words")
    await page.get_by_label("Jump to a command").select_option(index=1)
    await expect(screen).not_to_contain_text("late words")
    assert float(await moment.input_value()) < 1
    await page.get_by_label("Speed").select_option("8")
    await page.get_by_role("button", name="Play the recording").click()
    await expect(screen).to_contain_text("the end")
    await page.get_by_label("Search all terminals and recordings").fill("late words")
    await page.get_by_role("button", name="Search", exact=True).click()
    await expect(page.get_by_role("list", name="Found")).to_contain_text("make test")
