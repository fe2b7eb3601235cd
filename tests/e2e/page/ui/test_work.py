"""What becomes of work on the page: how it stands, its review, merge, conflict and archive."""

import pytest
from playwright.async_api import Page, expect

from .scripted import TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

REPOSITORY = {"repo_url": "https://example.com/o/shop", "branch": "mend", "from_branch": "main"}


async def shop(server: ScriptedServer, page: Page) -> str:
    """A logged-in person at home, and a sandbox whose agent is done; its id."""
    box = server.add_sandbox("shop", agent="codex", repos=[REPOSITORY])
    terminal = server.add_terminal(box, name="codex")
    await server.report(box, terminal.id, "done", turns=3, plus=9, minus=9)
    await server.become(box, "to_review")
    await page.goto(f"{server.url}#login={TICKET}")
    return box


async def test_one_word_says_how_work_stands_on_the_whole_page(
    server: ScriptedServer, page: Page
) -> None:
    box = await shop(server, page)
    row, card = page.locator(".row", has_text="shop"), page.locator(".home .card")
    for place in (row, card):
        await expect(place).to_contain_text("To review")
        await expect(place).to_contain_text("codex: 1 commit, +3 −2")
        await expect(place).not_to_contain_text("Done")
    await expect(page.locator(".home-sum")).to_have_text("1 to review")
    await server.report(box, "t_0001", "needs_you", question="Which one?", answer="terminal")
    await expect(row).to_contain_text("Needs you")
    await server.report(box, "t_0001", "done")
    merge = {"repo": 0, "into": "main", "way": "squash", "commit": "c" * 40, "at": ""}
    await server.become(box, "merged", merge=merge, plus=0, minus=0)
    for place in (row, card):
        await expect(place).to_contain_text("Merged")
        await expect(place).to_contain_text("codex: into main")
    await row.click()
    await expect(page.locator(".sandbox-head .standing")).to_have_text("Merged")
