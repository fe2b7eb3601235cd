"""axe-core over the pages of workers, in light and dark colours, at a desk and by phone."""

from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.bounds import matrix
from tests.e2e.page.test_axe import AXE, LONG
from tests.e2e.page.ui.looks.test_axe_routes import DEVICES, BothColours, surveyed
from tests.e2e.page.ui.open_page import sandbox_menu
from tests.e2e.page.ui.scripted import TICKET, ScriptedServer

from .scripted_workers import APPROVAL, ISOLATION, ScriptedWorkers, now
from .test_workers import ASKS, begun

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not AXE.exists(), reason="no axe-core: run `npm ci` in ui/"),
]

USAGE = {"requests": 318, "input_tokens": 4_812_345.0, "output_tokens": 96_678.0}
WEAK = {**ISOLATION, "level": "none", "weak": True, "degraded": ["memory", "processes"]}
LINES = "\n".join(f"{number}: a line of output that goes on" for number in range(20))


def peopled(workers: ScriptedWorkers) -> None:
    """A worker in every state, the first with everything that a snapshot may have."""
    place = {"id": "sb_0001", "isolation": WEAK, "region": "eu-west-1", "host": "box"}
    asked = {
        "server_request_id": "1",
        "method": "x",
        "params": "{}",
        "thread_id": None,
        "at": now(),
    }
    open_ = {"request_ids": [], "server_requests": [asked]}
    told = {"name": f"{LONG}.xlsx", "type": "text/csv", "size": 51_200, "sha256": "9f" * 32}
    workers.add(LONG, usage=USAGE, sandbox=place, pending=open_, artifacts=[told])
    workers.add("starting", status="starting", backend=None, sandbox=None, route=None)
    stale: dict[str, Any] = {"heartbeat_state": "stale", "heartbeat_age_ms": 24_000}
    workers.add("stale", **stale)
    missing = {"heartbeat_state": "missing", "heartbeat_age_ms": 240_000}
    workers.add("lost", reason=f"the runtime of {LONG} does not answer", **missing)
    workers.add("held", held_by_person=True)
    ended = {"status": "stopped", "heartbeat_state": "stopped", "reason": "enough"}
    workers.add("stopped", **ended)
    workers.add("failed", status="failed", heartbeat_state="failed", reason="no host has room")
    torn_down = {"removed": ["sandbox:sb_1"], "leftovers": [f"volume {LONG}: it is busy"]}
    workers.add("removed", **ended, sandbox=None, remove_at=now(), torn_down=torn_down)
    workers.link("laptop", workers=[LONG, "lost"])
    workers.link("silent", present=False, isolation=None)


async def talked(workers: ScriptedWorkers, worker: str) -> None:
    """A conversation with every kind of card."""
    await begun(workers, worker, "Export the invoices as a spreadsheet. " * 4)
    await workers.item(worker, type="reasoning", id="1", summary=["Columns first."])
    steps = [{"step": "Read", "status": "completed"}, {"step": "Write", "status": "inProgress"}]
    await workers.say(worker, "turn/plan/updated", turnId="turn-1", plan=steps)
    ran = {"type": "commandExecution", "aggregatedOutput": LINES}
    await workers.item(worker, id="2", command="make export && make test", exitCode=0, **ran)
    await workers.item(worker, id="3", command="make it", exitCode=2, **ran)
    change = {"path": f"{LONG}.py", "diff": "-old = 1\n+new = 2\n same"}
    await workers.item(worker, type="fileChange", id="4", changes=[change])
    tool = {"server": "board", "tool": "post", "arguments": {"note": "x"}}
    await workers.item(worker, type="mcpToolCall", id="5", error={"message": "not found"}, **tool)
    words = "It **works**:\n```\nmake export\n```\nThe file is `invoices.xlsx`."
    await workers.item(worker, type="agentMessage", id="6", text=words)
    await workers.say(worker, "warning", message="The model is new here.")
    questions = [
        {"id": "q", "header": "Format", "question": "Which?", "options": [{"label": "xlsx"}]}
    ]
    await workers.say(worker, "item/tool/requestUserInput", question="2", questions=questions)
    await workers.say(worker, APPROVAL, **ASKS)


@pytest.mark.parametrize("device", matrix(DEVICES, "phone"))
async def test_pages_of_workers_hold_to_axe(
    server: ScriptedServer, browser: Browser, device: str
) -> None:
    workers = server.workers
    server.add_sandbox(LONG, agent="codex")
    async with surveyed(browser, f"{server.url}#login={TICKET}", device) as found:
        page = found.page
        await expect(page.get_by_role("form", name="New task")).to_be_visible()
        await page.goto(f"{server.url}#/workers")
        await expect(page.get_by_text("No worker yet.")).to_be_visible()
        await found.check("no worker")
        peopled(workers)
        workers.broken = True
        await page.reload()
        await expect(page.get_by_role("alert")).to_be_visible()
        await found.check("list that failed")
        workers.broken = False
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator(".worker")).to_have_count(8)
        await found.check("list of workers")
        await page.get_by_text("Link another machine").click()
        await found.check("linked machines")
        await page.get_by_role("button", name="New worker").click()
        dialog = page.get_by_role("dialog", name="New worker")
        await dialog.get_by_role("button", name="Add a repository").click()
        await dialog.get_by_text("More", exact=True).click()
        await dialog.get_by_role("button", name="Create worker").click()
        await expect(dialog.get_by_role("alert")).to_be_visible()
        await found.check("new worker")
        await page.keyboard.press("Escape")
        await one_by_one(found, server)


@pytest.mark.parametrize("device", matrix(DEVICES, "phone"))
async def test_logins_and_every_worker_hold_to_axe(
    server: ScriptedServer, browser: Browser, device: str
) -> None:
    server.add_sandbox(LONG, agent="codex")
    peopled(server.workers)
    server.logins.add("codex", scopes=["openid", "profile"])
    server.logins.add("claude-code", method=0)
    server.logins.add("opencode", method=2, in_use=True)
    server.logins.add("codex", status="failed", reason="the issuer refused it", page="")
    async with surveyed(browser, f"{server.url}#login={TICKET}", device) as found:
        page = found.page
        await expect(page.get_by_role("form", name="New task")).to_be_visible()
        await page.goto(f"{server.url}#/secrets")
        await page.get_by_text("1 that ended").click()
        await found.check("logins of agents")
        begin = page.get_by_role("button", name="Log an agent in")
        await found.check_dialog(begin, "log an agent in")
        await page.goto(f"{server.url}#/admin/workers")
        await expect(page.locator(".worker-overseen")).to_have_count(8)
        await found.check("every worker")


async def one_by_one(found: BothColours, server: ScriptedServer) -> None:
    """The page of each worker, the first with a conversation and the question before a stop."""
    page, workers = found.page, server.workers
    await talked(workers, LONG)
    await page.goto(f"{server.url}#/workers/{LONG}")
    await expect(page.locator(".talk-asks")).to_have_count(2)
    await found.check("conversation")
    await page.locator(".talk-scroll").evaluate("log => log.scrollTo(0, 0)")
    await found.check("conversation from its beginning")
    await page.get_by_role("button", name="weak isolation").click()
    await expect(page.locator(".pop-body")).to_be_visible()
    await found.check("place of a worker")
    await page.keyboard.press("Escape")
    for mark in ("1 artifact", "codex, asks first"):
        await page.get_by_role("button", name=mark).click()
        await expect(page.locator(".pop-body")).to_be_visible()
        await found.check(mark)
        await page.keyboard.press("Escape")
    await found.check_dialog(page.get_by_role("button", name="Stop", exact=True), "stop a worker")
    for worker in ("starting", "lost", "held", "stopped", "failed", "removed", "nobody"):
        await page.goto(f"{server.url}#/workers/{worker}")
        await expect(page.get_by_role("heading", name=worker, level=1)).to_be_visible()
        if worker != "nobody":
            await expect(page.get_by_text("Nothing to show yet.")).to_be_visible()
        await found.check(f"worker that is {worker}")
    await page.goto(f"{server.url}#/sandboxes/sb_0001")
    menu = await sandbox_menu(page)
    await expect(menu.get_by_role("link", name=f"worker {LONG}")).to_be_visible()
    await found.check("sandbox of a worker")
    await page.keyboard.press("Escape")
