"""The page of workers: the list, a conversation, questions, stops, and lost connections."""

from typing import Any

import pytest
from google.protobuf import json_format
from playwright.async_api import Browser, Locator, Page, expect

from atoll.protocol.v1 import codex_events_pb2 as events_pb2
from atoll.protocol.v1 import codex_workers_pb2 as workers_pb2
from tests.e2e.page.test_people import PHONE_SCREEN, STING
from tests.e2e.page.ui.open_page import sandbox_menu, visit
from tests.e2e.page.ui.scripted import TICKET, ScriptedServer
from tests.peers.browsers import CALM

from .scripted_workers import APPROVAL, THREAD, ScriptedWorkers, now

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ASKS: dict[str, Any] = {
    "question": "7",
    "itemId": "call_1",
    "reason": "May I write asked.txt?",
    "command": "/bin/bash -lc 'echo asked > asked.txt'",
    "availableDecisions": ["accept", "cancel"],
}


async def come_in(server: ScriptedServer, page: Page, place: str = "workers") -> ScriptedWorkers:
    """A person at a page of workers."""
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.locator(".stage")).to_be_visible()
    await page.goto(f"{server.url}#/{place}")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    return server.workers


def log_of(page: Page) -> Locator:
    return page.get_by_role("log", name="What the agent did")


async def begun(workers: ScriptedWorkers, worker: str, words: str = "Write it down") -> None:
    """A turn that a person's words began."""
    await workers.tell(worker, "worker.started", epoch=1, reattached=False)
    await workers.say(worker, "thread/started", thread={"id": THREAD, "name": "Notes"})
    await workers.say(worker, "turn/started", turn={"id": "turn-1", "status": "inProgress"})
    said = [{"type": "text", "text": words}]
    await workers.item(worker, type="userMessage", id="m1", content=said)


async def ended(workers: ScriptedWorkers, worker: str, status: str = "completed") -> None:
    turn = {"id": "turn-1", "status": status, "durationMs": 2_100}
    await workers.say(worker, "turn/completed", turn=turn)


async def test_scripted_workers_speak_the_protocol(server: ScriptedServer) -> None:
    shown = server.workers.add("docs")
    await begun(server.workers, "docs")
    await server.workers.say("docs", APPROVAL, **ASKS)
    json_format.ParseDict(shown, workers_pb2.WorkerSnapshot())
    for event in server.workers.streams["docs"]:
        json_format.ParseDict(event, events_pb2.WorkerEvent())


async def test_list_has_each_worker_with_where_it_is_and_why(
    server: ScriptedServer, page: Page
) -> None:
    server.add_sandbox("box", agent="codex")
    server.workers.broken = True
    workers = await come_in(server, page)
    await expect(page.get_by_role("alert")).to_contain_text("The database does not answer")
    workers.broken = False
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_text("No worker yet.")).to_be_visible()
    workers.add("docs")
    silent = {"heartbeat_state": "missing", "heartbeat_age_ms": 95_000}
    workers.add("lost", reason="its host is silent", **silent)
    broke = {"status": "failed", "heartbeat_state": "failed", "sandbox": None, "route": None}
    workers.add("broken", reason=f"no host has room {STING}", backend=None, **broke)
    rows = page.locator(".worker")
    await expect(rows).to_have_count(3)
    for words in ("Running", "heartbeat fresh", "namespaces at local", "codex, asks first"):
        await expect(rows.nth(0)).to_contain_text(words)
    await expect(rows.nth(0)).to_contain_text("ext.ssh at box-3 failed: it did not answer")
    await expect(rows.nth(0)).to_contain_text("ext.ssh at box-2: draining, no room for 2 cores")
    await expect(rows.nth(1)).to_contain_text("heartbeat missing for 1 min")
    await expect(rows.nth(2)).to_contain_text(f"no host has room {STING}")
    assert await page.evaluate("window.stung") is None

    await rows.nth(0).click()
    await page.get_by_role("button", name="namespaces at local").click()
    await expect(page.get_by_text("the first machine of ours that fits")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name="sandbox box").click()
    await expect(page.get_by_role("heading", name="box")).to_be_visible()
    await (await sandbox_menu(page)).get_by_role("link", name="worker docs").click()
    await expect(page.get_by_role("heading", name="docs")).to_be_visible()
    await page.get_by_role("link", name="All workers").press("Enter")
    await rows.nth(1).get_by_role("link", name="lost").press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("its host is silent")
    await expect(page.get_by_role("textbox", name="Ask codex")).to_have_count(0)


async def test_conversation_has_what_the_agent_says_as_cards_and_never_as_markup(
    server: ScriptedServer, page: Page
) -> None:
    server.workers.add("docs")
    workers = await come_in(server, page, "workers/docs")
    await begun(workers, "docs", f"**Write** it {STING}")
    command = f"echo '{STING}'"
    await workers.item("docs", type="commandExecution", id="c1", command=command, exitCode=0)
    change = {"path": "a.md", "diff": f"+{STING}\n-old"}
    await workers.item("docs", type="fileChange", id="f1", changes=[change])
    words = f"Done, `it` works. {STING} [a link](javascript:alert(1))"
    await workers.item("docs", type="agentMessage", id="m2", text=words)
    log = log_of(page)
    await expect(log.locator(".talk-person strong")).to_have_text("Write")
    await expect(log.locator(".talk-code")).to_have_text(command)
    await expect(log.locator(".diff-add")).to_contain_text(STING)
    await expect(log.locator("code", has_text="it")).to_be_visible()
    await expect(log.get_by_text("[a link](javascript:alert(1))")).to_be_visible()
    assert await log.locator("img, a, script, iframe").count() == 0
    assert await page.evaluate("window.stung") is None
    await expect(log).to_contain_text("The worker runs.")
    await expect(page.get_by_text("codex works")).to_be_visible()
    await page.get_by_role("button", name="Interrupt").click()
    assert await workers.requested("turn/interrupt") == {"threadId": THREAD, "turnId": "turn-1"}
    await ended(workers, "docs", "interrupted")
    await expect(page.get_by_text("codex works")).to_have_count(0)


async def test_prompt_stays_where_it_was_refused_and_a_question_answered_elsewhere_is_closed(
    server: ScriptedServer, page: Page
) -> None:
    server.workers.add("docs")
    workers = await come_in(server, page, "workers/docs")
    line = page.get_by_role("textbox", name="Ask codex")
    workers.refusals["turn/start"] = {"code": "worker_unavailable", "message": "it is away"}
    await line.fill("Write hello.txt")
    await line.press("Enter")
    await expect(page.locator(".notice")).to_contain_text("codex was not asked: it is away")
    await expect(line).to_have_value("Write hello.txt")
    workers.refusals.clear()
    workers.requests.clear()
    await page.get_by_role("button", name="Ask", exact=True).click()
    said = [{"type": "text", "text": "Write hello.txt"}]
    assert await workers.requested("turn/start") == {"threadId": THREAD, "input": said}
    await expect(line).to_have_value("")
    await begun(workers, "docs")
    await line.fill("And more")
    await expect(page.get_by_role("button", name="Ask", exact=True)).to_be_disabled()
    await ended(workers, "docs")
    await expect(page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()
    # A question that somebody else answered first is closed.
    workers.add("asks")
    await page.goto(f"{server.url}#/workers/asks")
    await expect(page.get_by_role("heading", name="asks", level=1)).to_be_visible()
    await begun(workers, "asks")
    await workers.say("asks", APPROVAL, **ASKS)
    gone = {"code": "conflict", "message": "nothing waits for an answer to '7'"}
    workers.refusals["serverRequest/respond"] = gone
    asked = page.locator(".talk-asks")
    await asked.get_by_role("button", name="Decline and stop").click()
    answered = page.locator(".notice", has_text="nothing waits for an answer")
    await expect(answered).to_be_visible()
    await expect(asked.get_by_role("button")).to_have_count(0)
    await workers.say("asks", APPROVAL, **{**ASKS, "question": "9"})
    await expect(asked.nth(1).get_by_role("button")).to_have_count(2)
    await workers.say("asks", "serverRequest/resolved", requestId=9)
    await expect(asked.nth(1).get_by_role("button")).to_have_count(0)


async def test_question_is_answered_by_touch_on_a_phone(
    server: ScriptedServer, browser: Browser
) -> None:
    context = await browser.new_context(**CALM, **PHONE_SCREEN)
    page = await context.new_page()
    server.workers.add("docs")
    workers = await come_in(server, page, "workers/docs")
    await begun(workers, "docs")
    await workers.say("docs", APPROVAL, **ASKS)
    asked = page.locator(".talk-asks")
    await expect(asked).to_contain_text("May I write asked.txt?")
    await expect(asked.locator("pre")).to_have_text("echo asked > asked.txt")
    allow = asked.get_by_role("button", name="Allow", exact=True)
    box = await allow.bounding_box()
    assert box is not None and box["height"] >= 44
    await allow.tap()
    answer = {"server_request_id": "7", "result": {"decision": "accept"}}
    assert await workers.requested("serverRequest/respond") == answer
    await expect(asked.get_by_role("button")).to_have_count(0)
    await expect(asked).to_contain_text("done")

    questions = [{"id": "q", "header": "Branch", "question": "Which?", "options": []}]
    await workers.say("docs", "item/tool/requestUserInput", question="8", questions=questions)
    await page.get_by_role("textbox", name="Your answer").fill("main")
    workers.requests.clear()
    await page.get_by_role("button", name="Send").tap()
    answer = {"server_request_id": "8", "result": {"answers": {"q": {"answers": ["main"]}}}}
    assert await workers.requested("serverRequest/respond") == answer
    await context.close()


async def test_stream_resumes_after_the_last_event_and_text_grows_by_its_pieces(
    server: ScriptedServer, page: Page
) -> None:
    server.workers.add("docs")
    workers = await come_in(server, page, "workers/docs")
    await begun(workers, "docs")
    log = log_of(page)
    await expect(log).to_contain_text("Write it down")
    seen = len(workers.streams["docs"])
    await workers.end_streams(cut=True)
    await expect(log).to_contain_text("Not connected.")
    await workers.item("docs", type="agentMessage", id="m2", text="Said meanwhile.")
    await workers.end_streams(cut=False)
    await expect(log.get_by_text("Said meanwhile.")).to_have_count(1)
    await expect(log.get_by_text("Not connected.")).to_have_count(0)
    assert workers.cursors == [0, seen]
    await workers.item("docs", type="agentMessage", id="m3", text="And after it.")
    await expect(log.get_by_text("And after it.")).to_have_count(1)
    await expect(log.get_by_text("Write it down")).to_have_count(1)
    # A text grows by its pieces until the whole is there.
    workers.add("grows")
    await page.goto(f"{server.url}#/workers/grows")
    await expect(page.get_by_role("heading", name="grows", level=1)).to_be_visible()
    await begun(workers, "grows")
    await expect(log).to_contain_text("Write it down")
    await workers.say(
        "grows", "item/started", item={"type": "agentMessage", "id": "m2", "text": ""}
    )
    for text in ("It is ", f"**done** {STING}"):
        await workers.piece("grows", "m2", text)
    said = log.locator(".talk-said").last
    await expect(said).to_contain_text(f"It is done {STING}")
    await workers.item("grows", type="agentMessage", id="m2", text="It is all done.")
    await expect(said).to_have_text("Agent:It is all done.")
    assert await page.evaluate("window.stung") is None


async def test_conversation_is_taken_to_a_terminal_and_given_back(
    server: ScriptedServer, page: Page
) -> None:
    sandbox = server.add_sandbox("box", agent="codex")
    terminal = server.add_terminal(sandbox, name="codex")
    server.workers.terminal = terminal.id
    server.workers.add("docs")
    workers = await come_in(server, page, "workers/docs")
    await begun(workers, "docs")
    await page.get_by_role("button", name="Take over").click()
    dialog = page.get_by_role("alertdialog", name="Take over docs?")
    await expect(dialog).to_contain_text("A turn that runs is interrupted.")
    await dialog.get_by_role("button", name="Take over").click()
    await expect(page.get_by_role("tab", name="codex")).to_have_attribute("aria-selected", "true")
    await (await sandbox_menu(page)).get_by_role("link", name="worker docs").click()
    await expect(page.get_by_role("status").filter(has_text="in a terminal")).to_be_visible()
    await expect(page.get_by_role("textbox", name="Ask codex")).to_have_count(0)
    await expect(page.get_by_text("codex works")).to_have_count(0)
    await page.get_by_role("button", name="Open its terminal").click()
    await expect(page.get_by_role("tab", name="codex")).to_have_attribute("aria-selected", "true")
    await (await sandbox_menu(page)).get_by_role("link", name="worker docs").click()
    await page.get_by_role("button", name="Give back").click()
    await expect(page.get_by_role("textbox", name="Ask codex")).to_be_visible()
    await expect(log_of(page)).to_contain_text("The conversation was given back.")


async def test_long_stream_begins_near_its_end_and_older_events_may_be_gone(
    server: ScriptedServer, page: Page
) -> None:
    server.workers.add("docs")
    await begun(server.workers, "docs", "The first words.")
    for number in range(4_100):
        if number % 100 == 0:
            words = f"number {number}."
            await server.workers.item("docs", type="agentMessage", id=f"m{number}", text=words)
        else:
            await server.workers.say("docs", "thread/status/changed", status={"type": "idle"})
    workers = await come_in(server, page, "workers/docs")
    log = log_of(page)
    await expect(log.get_by_text("number 4000.", exact=True)).to_be_visible()
    await expect(log.get_by_text("The first words.")).to_have_count(0)
    assert workers.cursors == [104]
    await log.get_by_role("button", name="Show what came before").click()
    await expect(log.get_by_text("The first words.")).to_have_count(1)
    workers.stale = 3_000
    await page.reload()
    await expect(log.get_by_text("number 4000.", exact=True)).to_be_visible()
    await expect(log).to_contain_text("What came before is no longer kept.")
    await expect(log.get_by_text("number 2900.", exact=True)).to_have_count(0)
    assert workers.cursors == [104, 0, 3_000]


async def test_worker_is_stopped_after_a_question_and_started_again(
    server: ScriptedServer, page: Page
) -> None:
    server.workers.add("docs")
    workers = await come_in(server, page, "workers/docs")
    await begun(workers, "docs")
    await workers.say("docs", APPROVAL, **ASKS)
    stop = page.get_by_role("button", name="Stop", exact=True)
    await stop.click()
    dialog = page.get_by_role("alertdialog", name="Stop docs?")
    await expect(dialog).to_contain_text("kept for 7d")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(dialog).to_have_count(0)
    assert workers.workers["docs"]["status"] == "running"
    await stop.click()
    await dialog.get_by_role("button", name="Stop it").click()
    await expect(log_of(page)).to_contain_text("The worker stopped.")
    await expect(page.locator("[data-status='stopped']")).to_be_visible()
    await expect(page.locator(".talk-asks").get_by_role("button")).to_have_count(0)
    await expect(page.get_by_role("textbox", name="Ask codex")).to_have_count(0)
    await page.get_by_role("button", name="Start again").click()
    await expect(page.locator("[data-status='running']")).to_be_visible()
    await expect(log_of(page)).to_contain_text("The worker runs again.")
    await expect(page.get_by_role("textbox", name="Ask codex")).to_be_visible()


async def test_immediate_teardown_is_said_before_a_stop(server: ScriptedServer, page: Page) -> None:
    server.add_sandbox("box", agent="codex")
    server.workers.add("docs", teardown={"policy": "immediate", "retain_for": "0s"})
    await come_in(server, page, "workers/docs")
    await page.get_by_role("button", name="Stop", exact=True).click()
    dialog = page.get_by_role("alertdialog", name="Stop docs?")
    await expect(dialog).to_contain_text("its sandbox is removed at once")
    await expect(dialog).to_contain_text("No work exists only here.")


async def test_usage_threads_and_open_questions_are_shown_where_a_snapshot_has_them(
    server: ScriptedServer, page: Page
) -> None:
    usage = {"requests": 3, "input_tokens": 12_345.0, "output_tokens": 678.0, "cached_tokens": 9.0}
    asked = {
        "server_request_id": "7",
        "method": APPROVAL,
        "params": '{"reason": "May I?", "command": "make"}',
        "thread_id": "other",
        "at": now(),
    }
    threads = [{"thread_id": "other", "turn_id": None, "title": "Other things"}]
    pending = {"request_ids": [], "server_requests": [asked]}
    shown = server.workers.add("docs", usage=usage, threads=threads, pending=pending)
    json_format.ParseDict(shown, workers_pb2.WorkerSnapshot())
    plain = server.workers.add("plain")
    for name in ("usage", "threads", "artifacts"):
        del plain[name]
    del plain["pending"]["server_requests"]
    workers = await come_in(server, page)
    rows = page.locator(".worker")
    await expect(rows.filter(has_text="docs")).to_contain_text("1 question")
    await expect(rows.filter(has_text="docs")).to_contain_text("3 model calls · 12,345 tokens in")
    await expect(rows.filter(has_text="plain")).not_to_contain_text("tokens")
    await page.get_by_role("link", name="docs", exact=True).click()
    await expect(page.locator(".talk-asks")).to_contain_text("May I?")
    await begun(workers, "docs")
    choice = page.get_by_label("Conversation")
    await expect(choice.get_by_role("option")).to_have_text(
        ["all of them", "Other things", "Notes"]
    )
    await choice.select_option("Other things")
    await expect(log_of(page).get_by_text("Write it down")).to_have_count(0)
    await page.get_by_role("textbox", name="Ask codex").fill("Go on")
    await page.get_by_role("textbox", name="Ask codex").press("Enter")
    assert await workers.requested("thread/resume") == {"threadId": "other"}
    assert (await workers.requested("turn/start"))["threadId"] == "other"
    pending["server_requests"] = []
    await expect(page.locator(".talk-asks").get_by_role("button")).to_have_count(0)


async def test_worker_elsewhere_or_nowhere_takes_no_prompt_here_and_the_list_is_reached_by_keys(
    server: ScriptedServer, page: Page
) -> None:
    there = {"id": "dk_1.1", "isolation": None, "region": None, "host": "laptop"}
    server.workers.add("docs", backend="desktop", extension="ext.desktop", sandbox=there)
    workers = await come_in(server, page, "workers/docs")
    head = page.locator(".sandbox-head")
    await expect(head).to_contain_text("It runs on your machine laptop.")
    await expect(head.get_by_text("atoll worker take docs")).to_be_visible()
    await expect(head.get_by_role("button", name="Stop")).to_be_visible()
    await expect(head.get_by_role("button", name="Take over")).to_have_count(0)
    await expect(head.get_by_text("sandbox dk_1.1")).to_have_count(0)
    server.workers.workers["docs"]["held_by_person"] = True
    await page.reload()
    await expect(head).to_contain_text("in a terminal on laptop")
    await expect(head.get_by_role("button", name="Give back")).to_be_visible()
    await expect(head.get_by_role("button", name="Open its terminal")).to_have_count(0)
    # One that is not there, or at a terminal, takes no prompt.
    workers.add("held", held_by_person=True)
    await page.goto(f"{server.url}#/workers/nobody")
    await expect(page.get_by_role("alert")).to_contain_text("There is no worker nobody")
    await page.get_by_role("button", name="All workers").click()
    await expect(page.get_by_role("list", name="Workers")).to_contain_text("at a terminal")
    await page.get_by_role("link", name="held", exact=True).click()
    await expect(page.get_by_role("status").filter(has_text="in a terminal")).to_be_visible()
    await begun(workers, "held")
    await workers.say("held", APPROVAL, **ASKS)
    await expect(page.locator(".talk-asks")).to_contain_text("cannot be answered from here")
    await expect(page.get_by_role("textbox", name="Ask codex")).to_have_count(0)
    # The list is reached from the rail and the palette.
    await page.goto(f"{server.url}#/")
    await visit(page, "Workers")
    await expect(page.get_by_role("heading", name="Workers")).to_be_visible()
    await page.keyboard.press("h")
    await expect(page.get_by_role("form", name="New task")).to_be_visible()
    await page.locator("body").press("Control+k")
    await page.get_by_role("combobox", name="Find a command or sandbox").fill("workers")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Workers")).to_be_visible()


#: Resolves when the page, which gathers events for 40 ms, has had the time to draw them.
CAME = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 400))"


GROWN = """() => {
    const head = document.createElement('p');
    head.style.cssText = 'height: 120px; flex: none';
    document.querySelector('.talk').prepend(head);
}"""


async def test_tap_decides_by_the_button_it_began_on_though_the_page_moved_meanwhile(
    server: ScriptedServer, browser: Browser
) -> None:
    context = await browser.new_context(**CALM, **PHONE_SCREEN)
    page = await context.new_page()
    server.workers.add("docs")
    workers = await come_in(server, page, "workers/docs")
    await begun(workers, "docs")
    await workers.say("docs", APPROVAL, **ASKS)
    button = page.locator(".talk-asks").get_by_role("button", name="Decline and stop")
    box = await button.bounding_box()
    assert box is not None
    cdp = await context.new_cdp_session(page)
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    await cdp.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
    await page.evaluate(GROWN)
    assert await button.bounding_box() != box
    await cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    answer = {"server_request_id": "7", "result": {"decision": "cancel"}}
    assert await workers.requested("serverRequest/respond") == answer
    await context.close()


async def test_button_under_a_finger_stays_there_while_the_agent_goes_on(
    server: ScriptedServer, browser: Browser
) -> None:
    """Nothing moves between a finger's touch and its end: the tap is on what was aimed at."""
    context = await browser.new_context(**CALM, **PHONE_SCREEN)
    page = await context.new_page()
    server.workers.add("docs")
    workers = await come_in(server, page, "workers/docs")
    await begun(workers, "docs")
    await workers.say("docs", APPROVAL, **ASKS)
    asked = page.locator(".talk-asks")
    box = await asked.get_by_role("button", name="Decline and stop").bounding_box()
    assert box is not None
    cdp = await context.new_cdp_session(page)
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    await cdp.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
    for n in range(5):
        said = {"type": "agentMessage", "id": f"s{n}", "text": "Meanwhile.\n\n" * 20}
        await workers.item("docs", **said)
    await workers.item("docs", type="agentMessage", id="last", text="The last line.")
    # It came: the page has gathered it, and would have drawn it.
    await page.evaluate(CAME)
    still = await asked.get_by_role("button", name="Decline and stop").bounding_box()
    assert still == box
    await cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    answer = {"server_request_id": "7", "result": {"decision": "cancel"}}
    assert await workers.requested("serverRequest/respond") == answer
    # After the tap the view goes on, at its end.
    await expect(log_of(page).get_by_text("The last line.")).to_be_in_viewport()
    await context.close()
