"""The composer on home: from a sentence to agents, by keyboard alone."""

import asyncio
import json

import pytest
from playwright.async_api import Route, expect

from tests.e2e.page.ui.open_page import OpenPage, begin_sandbox, learns

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_sentence_goes_to_two_agents_by_keyboard(open_page: OpenPage) -> None:
    page, server = open_page.page, open_page.server
    await page.goto(f"{server.url}#/")
    await page.get_by_label("What is to be done").focus()
    await page.keyboard.type("Fix the login page")
    for stop in ("Repository: demo", "Branch: fix-login-page"):
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("button", name=stop)).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(page.get_by_label("claude-code")).to_be_checked()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Space")
    await expect(page.get_by_role("button", name="Start 2 agents")).to_be_enabled()
    await expect(page.get_by_role("form", name="New task")).to_contain_text(
        "claude-code, codex, each in a sandbox and on a branch of its own · a copy of demo"
    )
    await page.get_by_role("button", name="More", exact=True).click()
    await page.get_by_label("Network").select_option("Chosen ports of this machine")
    await page.keyboard.press("Control+Enter")
    columns = page.get_by_role("list", name="Agents").get_by_role("listitem")
    await expect(columns).to_have_count(2)
    first, second = server.created[-2:]
    assert [one["agent"] for one in (first, second)] == ["claude-code", "codex"]
    assert [one["network_mode"] for one in (first, second)] == ["host-only", "host-only"]
    # Nobody typed a branch: the server names one for each.
    assert [one["repos"][0]["branch"] for one in (first, second)] == [None, None]
    assert first["task"]["group"] == second["task"]["group"] is not None
    await page.goto(f"{server.url}#/")
    group = page.get_by_role("article").filter(has_text="Fix the login page")
    await expect(group.get_by_role("listitem")).to_have_count(2)
    await group.get_by_role("button", name="Compare side by side").click()
    await expect(columns).to_have_count(2)
    await columns.first.get_by_role("button", name="Keep this one").click()
    dialog = page.get_by_role("alertdialog")
    await expect(dialog.get_by_text("exists only")).not_to_have_count(0)
    # What becomes known of it meanwhile does not make it one of the others.
    await server.enter([*server.sandboxes][-1], "ready")
    await expect(page.locator(".compare-column").first).not_to_contain_text("Starting")
    await dialog.get_by_role("button", name="Destroy the other one").click()
    await expect(page.get_by_role("button", name="More about this sandbox")).to_be_visible()
    await page.go_back()
    await expect(columns).to_have_count(1)
    await expect(columns.get_by_role("button", name="Keep this one")).to_have_count(0)


async def test_two_agents_go_on_from_a_branch_that_somebody_typed(open_page: OpenPage) -> None:
    page, server = open_page.page, open_page.server
    await page.goto(f"{server.url}#/")
    await page.get_by_label("What is to be done").fill("Fix the login page")
    await page.get_by_label("claude-code").check()
    await page.get_by_label("codex").check()
    form = page.get_by_role("form", name="New task")
    branch = page.get_by_label("Branch", exact=True)
    for typed, start in (("mine", "mine"), ("new-one", None)):
        await page.get_by_label("What is to be done").fill("Fix the login page")
        await form.get_by_role("button", name="Branch").click()
        await branch.fill(typed)
        await expect(
            page.get_by_text(f"Each agent has its own, as {typed}-claude-code")
        ).to_be_visible()
        await page.keyboard.press("Escape")
        sent = len(server.created) + 2
        await page.get_by_role("button", name="Start 2 agents").click()
        await learns(page, lambda: len(server.created), sent)
        await expect(page.get_by_role("list", name="Agents").get_by_role("listitem")).to_have_count(
            2
        )
        await page.goto(f"{server.url}#/")
        repos = [one["repos"][0] for one in server.created[-2:]]
        assert [one["branch"] for one in repos] == [f"{typed}-claude-code", f"{typed}-codex"]
        assert [one["from_branch"] for one in repos] == [start, start]
    # It says where it begins.
    await form.get_by_role("button", name="Branch").click()
    fields = page.get_by_role("dialog")
    await fields.get_by_label("Branch", exact=True).fill("mine")
    await expect(fields).to_contain_text("Goes on from mine at cccccccccccc")
    await fields.get_by_label("Branch", exact=True).fill("never-sent")
    await expect(fields).to_contain_text("New: it begins at main (cccccccccccc)")
    await expect(fields).to_contain_text("atoll new . never-sent")


async def test_last_choice_of_a_repository_comes_back_and_no_other_agent_starts(
    open_page: OpenPage,
) -> None:
    page, server = open_page.page, open_page.server
    await page.get_by_role("button", name="New task").click()
    box = page.get_by_role("dialog", name="New task")
    await box.get_by_label("claude-code").uncheck()
    await box.get_by_label("opencode").check()
    await box.get_by_label("asks first").check()
    await box.get_by_label("What is to be done").fill("Sort the boats")
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_role("heading", name="scratch")).to_be_visible()
    assert server.created[-1]["agent"] == "opencode"
    assert server.created[-1]["task"]["permissions"] == "ask"
    server.ready_agents.discard("opencode")
    await page.reload()
    await expect(page.locator(".row").first).to_be_visible()
    await page.locator("h1").click()
    await page.keyboard.press("n")
    await expect(box.get_by_label("asks first")).to_be_checked()
    await box.get_by_label("What is to be done").fill("Sort them again")
    sent = len(server.created)
    await page.keyboard.press("Control+Enter")
    await expect(box.get_by_role("alert")).to_have_text("Choose an agent.")
    assert len(server.created) == sent


async def test_profile_that_cannot_be_used_here_stands_apart_with_the_reason(
    open_page: OpenPage,
) -> None:
    page, server = open_page.page, open_page.server
    server.obstacles["codex"] = "the agent codex is not installed on this host"
    await page.goto(f"{server.url}#/inbox")
    await page.goto(f"{server.url}#/")
    form = page.get_by_role("form", name="New task")
    await form.get_by_role("button", name="More", exact=True).click()
    profiles = form.get_by_label("Profile", exact=True)
    await expect(profiles.get_by_role("option", name="claude-code")).to_have_count(1)
    await expect(profiles.get_by_role("option", name="codex")).to_have_count(0)
    await form.get_by_text("Not ready here: codex").click()
    await expect(form.get_by_text("is not installed on this host")).to_be_visible()
    # An agent that lacks a key asks for it there.
    await page.get_by_text("Not ready here: gemini-cli").click()
    await page.get_by_role("button", name="Set a key").click()
    dialog = page.get_by_role("dialog", name="Set a secret")
    await expect(dialog.get_by_label("Name", exact=True)).to_have_value("gemini")


async def test_none_that_was_chosen_early_stays_when_repositories_are_listed(
    open_page: OpenPage,
) -> None:
    page, server = open_page.page, open_page.server
    listed = asyncio.Event()

    async def late(route: Route) -> None:
        await listed.wait()
        await route.continue_()

    await page.route("**/v1/repositories", late)
    form = await begin_sandbox(page)
    await form.get_by_role("button", name="Repository").click()
    choices = page.get_by_role("list", name="Repositories")
    await expect(choices.get_by_text("Loading…")).to_be_visible()
    await choices.get_by_role("button", name="No repository").click()
    listed.set()
    await form.get_by_role("button", name="Repository: no repository").click()
    await expect(choices.get_by_role("button", name="demo")).to_be_visible()
    none = choices.get_by_role("button", name="No repository")
    await expect(none).to_have_attribute("aria-pressed", "true")
    await page.keyboard.press("Escape")
    sent = len(server.created) + 1
    await form.get_by_role("button", name="Create sandbox").click()
    await learns(page, lambda: len(server.created), sent)
    assert not server.created[-1].get("repos")


ISSUE = {
    "kind": "issue", "number": 12, "title": "Fix <b>it</b>", "state": "open", "branch": "fix-12",
    "url": "https://forge.example/o/r/issues/12", "repo_url": "https://forge.example/o/r",
    "prompt": "Fix <b>it</b>\n\nThis is issue 12.",
}  # fmt: skip
PASTE = """(box, text) => {
  const data = new DataTransfer();
  data.setData('text', text);
  const how = { clipboardData: data, bubbles: true, cancelable: true };
  box.dispatchEvent(new ClipboardEvent('paste', how));
}"""


async def test_address_of_an_issue_becomes_the_task_and_goes_with_it(open_page: OpenPage) -> None:
    page, server = open_page.page, open_page.server
    answers = [(404, {"title": "x", "code": "no_forge", "detail": "Set a token."}), (200, ISSUE)]

    async def answer(route: Route) -> None:
        status, body = answers.pop(0)
        await route.fulfill(status=status, content_type="application/json", body=json.dumps(body))

    await page.route("**/v1/forges/issues?*", answer)
    await page.goto(f"{server.url}#/")
    form = page.get_by_role("form", name="New task")
    words = form.get_by_label("What is to be done")
    await words.evaluate(PASTE, f"{ISSUE['url']}#x")
    await expect(form.get_by_role("alert")).to_have_text("Set a token.")
    await form.get_by_role("button", name="Repository").click()
    await page.get_by_label("Find a repository, or paste an address").fill(str(ISSUE["url"]))
    await page.keyboard.press("Enter")
    await expect(form.get_by_role("button", name="Task: Issue 12, Fix <b>it</b>")).to_be_visible()
    await expect(form.get_by_role("alert")).to_have_count(0)
    await expect(form.get_by_role("button", name="Branch: fix-12")).to_be_visible()
    await expect(form).to_contain_text("a copy of o/r")
    await expect(form).to_contain_text("its pull request closes issue 12")
    await form.get_by_label("claude-code").check()
    sent = len(server.created) + 1
    await form.get_by_role("button", name="Start claude-code").click()
    await learns(page, lambda: len(server.created), sent)
    body = server.created[-1]
    assert (body["prompt"], body["task"]["issue"]) == (ISSUE["prompt"], ISSUE["url"])
    (repo,) = body["repos"]
    assert (repo["repo_url"], repo["branch"]) == (ISSUE["repo_url"], "fix-12")
