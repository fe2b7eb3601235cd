"""A new worker on the page: what is asked for, what is sent, and each error at its field."""

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.page.test_people import PHONE_SCREEN, STING
from tests.e2e.page.ui.scripted import ScriptedServer
from tests.peers.browsers import CALM

from .scripted_workers import ScriptedWorkers, problem
from .test_logins import NARROW
from .test_workers import come_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def new_worker(page: Page) -> Locator:
    await page.get_by_role("button", name="New worker").click()
    dialog = page.get_by_role("dialog", name="New worker")
    await expect(dialog.get_by_label("Name")).to_be_focused()
    return dialog


async def test_worker_is_created_with_all_that_was_said_and_is_shown(
    server: ScriptedServer, page: Page
) -> None:
    server.add_sandbox("box")
    workers = await come_in(server, page)
    await page.locator("body").press("Control+k")
    await page.get_by_role("combobox", name="Find a command or sandbox").fill("new worker")
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="New worker")
    await dialog.get_by_label("Name").fill("docs")
    await dialog.get_by_label("Agent", exact=True).select_option("claude-code")
    await dialog.get_by_label("Profile").select_option("python")
    await dialog.get_by_role("button", name="Add a repository").click()
    first = dialog.get_by_role("group", name="Repository 1")
    await expect(first.get_by_label("Which")).to_be_focused()
    await first.get_by_label("Address").fill("https://git.example/o/r")
    await first.get_by_label("From branch").fill("main")
    await dialog.get_by_role("button", name="Add a repository").click()
    await (
        dialog.get_by_role("group", name="Repository 2")
        .get_by_label("Which")
        .select_option(label="demo (46 MiB)")
    )
    await dialog.get_by_role("button", name="Add a repository").click()
    await dialog.get_by_role("button", name="Remove repository 3").press("Enter")
    await expect(dialog.get_by_role("button", name="Add a repository")).to_be_focused()
    await dialog.get_by_text("acts without asking").click()
    await dialog.get_by_label("For", exact=True).fill("12h")
    await dialog.get_by_text("More", exact=True).click()
    await dialog.get_by_label("Only in region").fill("eu")
    await dialog.get_by_label("At most an hour").fill("0.12 eur")
    await dialog.get_by_label("Isolation").select_option("container")
    await dialog.get_by_label("Name").press("Enter")
    await expect(page.get_by_role("heading", name="docs", level=1)).to_be_visible()
    await expect(page.locator(".notice")).to_contain_text("What its agent says is kept for 30d.")
    (body,) = workers.created
    assert body == {
        "worker_id": "docs",
        "agent": "claude-code",
        "profile": "profile.python",
        "permissions": "allow",
        "teardown": {"policy": "retain", "retain_for": "12h"},
        "repos": [
            {
                "repo_url": "https://git.example/o/r",
                "branch": None,
                "from_branch": "main",
                "key": None,
            },
            {"repo_url": "local:demo", "branch": None, "from_branch": None, "key": "ab" * 16},
        ],
        "selection": {
            "region": "eu",
            "require_isolation": "container",
            "max_cost_per_hour": {"amount": "0.12", "currency": "EUR"},
        },
    }
    await page.goto(f"{server.url}#/workers")
    await _place_takes_what_belongs_to_it_and_hides_the_rest(page, workers)


async def _place_takes_what_belongs_to_it_and_hides_the_rest(
    page: Page, workers: ScriptedWorkers
) -> None:
    dialog = await new_worker(page)
    where = dialog.get_by_label("Where it runs")
    linked = where.locator("option[value='desktop']")
    await expect(linked).to_be_disabled()
    workers.link("laptop")
    await expect(linked).to_be_enabled(timeout=10_000)
    await where.select_option("desktop")
    await expect(dialog.get_by_text("Repositories")).to_have_count(0)
    await where.select_option("on:ext.namespaces")
    await expect(dialog.get_by_text("Repositories")).to_be_visible()
    await where.select_option(label="box")
    for words in ("Repositories", "Profile", "After a stop"):
        await expect(dialog.get_by_text(words, exact=True)).to_have_count(0)
    await dialog.get_by_label("Name").fill("inside")
    await dialog.get_by_role("button", name="Create worker").click()
    await expect(page.get_by_role("heading", name="inside", level=1)).to_be_visible()
    assert workers.created[-1] == {
        "worker_id": "inside",
        "agent": "codex",
        "permissions": "ask",
        "workspace_ref": "sandbox:sb_0001/workspace",
    }


async def test_each_error_stands_at_the_field_that_it_is_about(
    server: ScriptedServer, page: Page
) -> None:
    server.workers.add("taken")
    workers = await come_in(server, page)
    await expect(page.get_by_role("link", name="taken")).to_be_visible()
    dialog = await new_worker(page)
    create, name = dialog.get_by_role("button", name="Create worker"), dialog.get_by_label("Name")
    alert = dialog.get_by_role("alert")
    for text, words in (
        ("", "Give it a name."),
        ("a b", "A name has 1 to 64 letters"),
        ("taken", "You have a worker of this name"),
    ):
        await name.fill(text)
        await create.click()
        await expect(alert).to_contain_text(words)
        await expect(name).to_be_focused()
    await name.fill("docs")
    await expect(alert).to_have_count(0)
    await dialog.get_by_role("button", name="Add a repository").click()
    await create.click()
    await expect(alert).to_have_text("Give its address, or remove it.")
    await dialog.get_by_label("Address").fill("x")
    assert workers.created == []
    no_route = f"No backend takes it: ext.ssh at box-2 is full {STING}"
    for status, code, field, words, label in (
        (422, "invalid", "agent", "'codex' is no agent of workers", "Agent"),
        (404, "not_found", "profile", "no profile of that name", "Profile"),
        (409, "no_route", "selection", no_route, "Where it runs"),
        (409, "no_route", "backend", "this Atoll does not have it", "Where it runs"),
        (422, "invalid", "teardown.retain_for", "a duration is such as 7d", "For"),
        (422, "invalid", "repos[0].from_branch", "no such branch", "From branch"),
        (422, "invalid", "thread_id", "thread_id is no id of a conversation", "Conversation"),
    ):
        workers.create_problem = problem(status, code, words, field=field)
        await create.click()
        await expect(alert).to_have_text(words)
        at = dialog.get_by_label(label, exact=True)
        await expect(at).to_be_focused()
        assert await at.get_attribute("aria-invalid") == "true"
    assert await page.evaluate("window.stung") is None
    workers.create_problem = problem(429, "limit_reached", "You have too many sandboxes.")
    await create.click()
    await expect(dialog.locator(".form-trouble")).to_have_text("You have too many sandboxes.")
    await expect(dialog.locator(".form-trouble")).to_be_focused()
    await create.click()
    await expect(page.get_by_role("heading", name="docs", level=1)).to_be_visible()


async def test_worker_is_created_by_touch_on_a_phone(
    server: ScriptedServer, browser: Browser
) -> None:
    context = await browser.new_context(**CALM, **PHONE_SCREEN)
    page = await context.new_page()
    workers = await come_in(server, page)
    await page.get_by_role("button", name="New worker").tap()
    dialog = page.get_by_role("dialog", name="New worker")
    await dialog.get_by_label("Name").fill("phone")
    await dialog.get_by_role("button", name="Add a repository").tap()
    assert await page.evaluate(NARROW)
    box = await dialog.get_by_role("button", name="Remove repository 1").bounding_box()
    assert box is not None and box["height"] >= 44
    await dialog.get_by_role("button", name="Remove repository 1").tap()
    await dialog.get_by_text("remove it at once").tap()
    await dialog.get_by_role("button", name="Create worker").tap()
    await expect(page.get_by_role("heading", name="phone", level=1)).to_be_visible()
    assert workers.created[0]["teardown"] == {"policy": "immediate"}
    await context.close()
