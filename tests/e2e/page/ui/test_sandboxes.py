import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.peers.api import Pauses

from .open_page import OpenPage, begin_sandbox, sandbox_menu
from .scripted import TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_sandbox_state_is_a_shape_and_a_word_and_live(open_page: OpenPage) -> None:
    page, server, sandbox = open_page.page, open_page.server, open_page.sandbox
    row = page.locator(".row").first
    await expect(row).to_contain_text("Active")
    await expect(row.locator("svg.tone-calm")).to_be_visible()
    await server.enter(sandbox, "stopped")
    await expect(row).to_contain_text("Stopped")
    await expect(row.locator("svg.tone-off")).to_be_visible()
    # A change that was missed while the page was cut off shows once it is not.
    await page.context.set_offline(True)
    server.sandboxes[sandbox]["name"] = "renamed-meanwhile"
    await page.context.set_offline(False)
    await page.evaluate("window.dispatchEvent(new Event('online'))")
    await expect(row).to_contain_text("renamed-meanwhile")
    # A failure has its reason, and one that expired can be started with its files.
    await server.enter(sandbox, "failed", reason="no loop device is free")
    await expect(page.get_by_role("alert")).to_contain_text("no loop device is free")
    await server.enter(sandbox, "expired", reason="Its time to live ran out.")
    await page.get_by_role("button", name="Start", exact=True).click()
    await expect(row).to_contain_text("Ready")


async def test_sandbox_tells_its_isolation_truthfully_and_why_it_is_there(
    server: ScriptedServer, page: Page
) -> None:
    server.add_sandbox(
        "thin",
        isolation={
            "level": "container",
            "mechanism": "bubblewrap",
            "degraded": ["memory: no delegated cgroup"],
            "weak": True,
            "host_uid": 1000,
            "init": "c",
        },
    )
    server.add_sandbox("placed", route="rt_one")
    await page.goto(f"{server.url}#login={TICKET}")
    await page.locator(".row", has_text="thin").click()
    await page.get_by_role("button", name="weak isolation · 1 limit missing").click()
    await expect(page.get_by_text("lacks a limit that protects the machine")).to_be_visible()
    await expect(page.get_by_text("memory: no delegated cgroup")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("memory: no delegated cgroup")).to_be_hidden()
    await page.locator(".row", has_text="placed").click()
    await (await sandbox_menu(page)).get_by_role("button", name="container isolation").click()
    await expect(page.get_by_text("Where it is, and why there")).to_be_visible()
    await expect(page.get_by_text("ext.namespaces at local", exact=True).first).to_be_visible()
    failed = page.get_by_role("list", name="Failed starts")
    await expect(failed).to_have_text("ext.ssh at box-2 failed: the host did not answer")
    await page.get_by_text("3 candidates").click()
    considered = page.get_by_role("list", name="Candidates").get_by_role("listitem")
    await expect(considered.nth(0)).to_contain_text("0.12 EUR per hour")
    await expect(considered.nth(2)).to_contain_text("draining · no room for 2 cores")


async def test_create_refused_shows_error_at_its_field_then_succeeds(open_page: OpenPage) -> None:
    page, server = open_page.page, open_page.server
    form = await begin_sandbox(page)
    await form.get_by_role("button", name="Repository").click()
    await page.get_by_label("Find a repository").fill("https://example.com/o/r")
    await page.keyboard.press("Enter")
    await form.get_by_role("button", name="Branch").click()
    branch = page.get_by_label("Branch", exact=True)
    await branch.fill("fix..x")
    await page.keyboard.press("Escape")
    await form.get_by_role("button", name="More").click()
    await form.get_by_label("Profile", exact=True).select_option("codex")
    # A profile of an agent brings that, unless somebody says otherwise.
    await expect(form.get_by_label("codex", exact=True)).to_be_checked()
    await form.get_by_label("no agent").check()
    server.create_problem = (422, "invalid", "'fix..x' cannot name a branch", "repos[0].branch")
    create = form.get_by_role("button", name="Create sandbox")
    await create.click()
    await expect(form.get_by_role("alert")).to_contain_text("cannot name a branch")
    await form.get_by_role("button", name="Branch: fix..x").click()
    await expect(branch).to_have_attribute("aria-invalid", "true")

    await branch.fill("fix")
    await page.keyboard.press("Escape")
    lives = form.get_by_label("Lives for")
    assert await lives.locator("option").all_inner_texts() == [
        "As the profile says", "1 hour", "4 hours", "12 hours",
    ]  # fmt: skip
    await lives.select_option("1h")
    await form.get_by_label("Name").fill("fresh")
    await create.click()
    await expect(page.get_by_role("heading", name="fresh")).to_be_visible()
    await expect(page.get_by_text("workspace made in 2 ms")).to_be_visible()
    assert server.created[-1] == {
        "profile": "profile.codex",
        "name": "fresh",
        "ttl": "1h",
        "repos": [
            {
                "repo_url": "https://example.com/o/r",
                "branch": "fix",
                "from_branch": None,
                "key": None,
            }
        ],
        "consumer": {"actor": "adm", "harness": "atoll-page"},
    }


async def test_create_from_repository_already_here_sends_its_key_and_offers_a_terminal(
    open_page: OpenPage,
) -> None:
    page, server = open_page.page, open_page.server
    form = await begin_sandbox(page)
    await expect(form.get_by_role("button", name="Repository: demo")).to_be_visible()
    await form.get_by_role("button", name="Create sandbox").click()
    await expect(page.get_by_role("heading", name="scratch")).to_be_visible()
    assert server.created[-1]["repos"][0]["key"] == "ab" * 16
    server.sandboxes["sb_0002"]["agents_inside"] = [
        *("claude-code@2.1.332", "codex@0.171.0", "acp:kimi@1.0"),
    ]
    await server.enter("sb_0002", "ready")
    await page.get_by_role("button", name="Open a terminal").click()
    await expect(page.get_by_role("tab", name="bash")).to_have_attribute("aria-selected", "true")
    # It was made for no agent, and has three.
    others = page.get_by_role("button", name="New agent")
    for agent in ("claude-code", "codex"):
        await others.click()
        await page.get_by_role("button", name=f"New {agent} terminal").click()
        opened = page.get_by_role("tab", name=agent)
        await expect(opened).to_have_attribute("aria-selected", "true")
    # This one has no mode at a terminal.
    await others.click()
    await page.get_by_role("button", name="New acp:kimi agent, as cards").click()
    cards = page.get_by_role("tab", name="acp:kimi (cards)")
    await expect(cards).to_have_attribute("aria-selected", "true")
    await expect(page.get_by_label("Ask acp:kimi")).to_be_visible()


async def test_tabs_follow_one_stream_and_outlive_the_one_that_leads(
    open_page: OpenPage,
) -> None:
    server, first = open_page.server, open_page.page
    tabs = [await first.context.new_page() for _ in range(3)]
    for number, tab in enumerate(tabs):
        await tab.goto(f"{server.url}#/inbox")
        await expect(tab.locator(".row")).to_contain_text("Active")
        await server.enter(open_page.sandbox, ("stopped", "active")[number % 2])
        for one in (first, *tabs[: number + 1]):
            await expect(one.locator(".row")).to_contain_text(("Stopped", "Active")[number % 2])
        await server.enter(open_page.sandbox, "active")
        await expect(tab.locator(".row")).to_contain_text("Active")
    assert server.streams == 1
    await first.close()
    await server.enter(open_page.sandbox, "stopped")
    for tab in tabs:
        await expect(tab.locator(".row")).to_contain_text("Stopped")
    # For a moment the former leader's stream stands beside the next one's.
    async with asyncio.timeout(30):
        pauses = Pauses()
        while server.streams != 1:
            await pauses.wait()


async def ask_about(page: Page, act: str) -> Locator:
    """Asks for an act, sees what it may lose, and returns the button that does it."""
    dialog = page.get_by_role("alertdialog")
    await (await sandbox_menu(page)).get_by_text(act).click()
    words = "2 commits up to 0123456789ab (mend <b>it</b>), 1 stash, 13 files"
    await expect(dialog.get_by_role("status")).to_contain_text(f"Only in /workspace: {words}")
    await expect(dialog).to_contain_text("changed src/a.py")
    await expect(dialog).to_contain_text("and 5 more")
    await expect(dialog.get_by_role("heading")).to_have_text(f"{act} demo?")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    return dialog.get_by_role("button", name=act)


async def test_act_that_may_lose_work_names_it_first(open_page: OpenPage) -> None:
    page = open_page.page
    open_page.server.sandboxes[open_page.sandbox]["unpulled"] = [
        {
            "path": "/workspace",
            "repo": 0,
            "branch": "fix",
            "commits": 2,
            "tip": "0123456789abcdef0123456789abcdef01234567",
            "subject": "mend <b>it</b>",
            "stashes": 1,
            "changed": ["src/a.py"],
            "untracked": [f"new-{number}" for number in range(9)],
            "more": 3,
        }
    ]
    dialog = page.get_by_role("alertdialog")
    for act in ("Recreate", "Stop"):
        await expect(await ask_about(page, act)).to_be_enabled()
        await page.keyboard.press("Escape")
    going = await ask_about(page, "Destroy")
    # It takes a second word, and so does the server.
    await expect(going).to_be_disabled()
    keeps = dialog.get_by_role("checkbox", name="Keep its files and commits")
    await keeps.check()
    await expect(going).to_be_enabled()
    await keeps.uncheck()
    await dialog.get_by_role("checkbox", name="Lose this work for good").check()
    await going.click()
    await expect(page.locator(".row")).to_have_count(0)
    assert open_page.server.acts == [("destroy", {"unpulled": "lose"})]


async def test_destroy_of_what_nobody_can_list_takes_a_second_word(open_page: OpenPage) -> None:
    page = open_page.page

    async def lost(route: Route) -> None:
        await route.fulfill(status=502, json={"code": "failed", "detail": "git is broken"})

    await page.route("**/unpulled", lost)
    await (await sandbox_menu(page)).get_by_text("Destroy").click()
    dialog = page.get_by_role("alertdialog")
    await expect(dialog).to_contain_text("cannot be listed: git is broken")
    going = dialog.get_by_role("button", name="Destroy")
    await expect(going).to_be_disabled()
    await dialog.get_by_role("checkbox", name="although nobody knows what is lost").check()
    await going.click()
    await expect(page.locator(".row")).to_have_count(0)
    assert open_page.server.acts == [("destroy", {"unpulled": "lose"})]


async def test_destroy_asks_first_and_keeps_the_files_when_asked(open_page: OpenPage) -> None:
    page = open_page.page
    await (await sandbox_menu(page)).get_by_text("Destroy").click()
    dialog = page.get_by_role("alertdialog")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await page.keyboard.press("Escape")
    assert open_page.server.sandboxes[open_page.sandbox]["state"] == "active"
    await (await sandbox_menu(page)).get_by_text("Destroy").click()
    dialog = page.get_by_role("alertdialog")
    await expect(dialog).to_contain_text("No work exists only here.")
    await dialog.get_by_role("checkbox", name="Keep its files and commits").check()
    await dialog.get_by_role("button", name="Destroy").click()
    await expect(page.get_by_text("Its files are kept at /home/kept/kept_1.")).to_be_visible()
    assert open_page.server.acts[-1] == ("destroy", {"keep_worktree": "true"})
    await expect(page.locator(".row")).to_have_count(0)


async def test_time_left_is_extended_and_an_end_that_is_near_is_said(open_page: OpenPage) -> None:
    page = open_page.page
    left_at_first = open_page.server.sandboxes[open_page.sandbox]["expires_at"]
    await (await sandbox_menu(page)).get_by_role("button", name="3 h 42 min left").click()
    more = page.locator(".pop-choices button")
    # A day more does not fit into what the profile allows.
    await expect(more).to_have_text(
        ["1 hour more", "4 hours more", "12 hours more", "19 h 17 min more, the most"]
    )
    await more.nth(2).click()
    await page.get_by_role("button", name="15 h 42 min left").click()
    await more.last.click()
    await page.get_by_role("button", name="22 h 59 min left").click()
    await expect(page.get_by_text("This is the latest end that its profile allows")).to_be_visible()
    await expect(more).to_have_count(0)
    await page.keyboard.press("Escape")
    open_page.server.sandboxes[open_page.sandbox]["expires_at"] = left_at_first
    open_page.server.sandboxes[open_page.sandbox]["ends_soon"] = True
    await page.evaluate("location.hash = '#/inbox'")
    end = open_page.server.sandboxes[open_page.sandbox]["expires_at"]
    await open_page.server.tell(f"sandbox:{open_page.sandbox}", "sandbox.ends_soon", expires_at=end)
    notice = page.locator(".notice", has_text="demo ends in 3 h 42 min: extend it")
    await expect(notice).to_be_visible()
    await page.locator(".row").first.click()
    left = page.get_by_role("button", name="ends soon: 3 h 42 min left")
    await expect(left).to_be_visible()
    await left.click()
    await expect(page.get_by_text("Extend it by")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.get_by_role("link", name="Atoll").first.click()
    await expect(page.locator(".card", has_text="ends soon: 3 h 42 min left")).to_be_visible()


async def test_sandbox_that_sleeps_says_so_and_starts(open_page: OpenPage) -> None:
    page, server = open_page.page, open_page.server
    await (await sandbox_menu(page)).get_by_text("Let it sleep").click()
    dialog = page.get_by_role("alertdialog")
    await expect(dialog).to_contain_text("terminals come back as they are")
    await dialog.get_by_role("button", name="Let it sleep").click()
    await expect(page.locator(".row").first).to_contain_text("Asleep")
    await expect(page.get_by_text("Stopped")).to_have_count(0)
    await expect(page.get_by_role("status").filter(has_text="It sleeps.")).to_be_visible()
    await page.get_by_role("button", name="Wake", exact=True).click()
    await expect(page.get_by_text("Asleep")).to_have_count(0)
    assert [verb for verb, _ in server.acts] == ["sleep", "start"]


async def test_names_are_whole_on_the_wall_and_in_the_palette(
    server: ScriptedServer, page: Page
) -> None:
    for end in ("a", "b"):
        sandbox = server.add_sandbox(f"shop-checkout-with-a-long-name-and-a-branch-{end}")
        terminal = server.add_terminal(sandbox, name="codex")
        terminal.title = "workspace"
        await server.report(sandbox, terminal.id, "working")
    await page.goto(f"{server.url}#login={TICKET}")
    await page.goto(f"{server.url}#/terminals")
    names = page.locator(".tile-name")
    await expect(names).to_have_count(2)
    for name in await names.all():
        assert await name.evaluate("one => one.scrollWidth <= one.clientWidth")
    await expect(page.locator(".tile-words").first).to_have_text("codex")
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.keyboard.press("Control+k")
    await page.keyboard.type("shop")
    words = page.locator(".palette-words")
    await expect(words).to_have_count(2)
    for name in await words.all():
        assert await name.evaluate("one => one.scrollWidth <= one.clientWidth")


def snapshot(name: str, **more: Any) -> dict[str, Any]:
    told = {
        "snapshot_id": f"snap_{name}", "name": name, "sandbox_id": "", "sandbox_name": "fixer",
        "owner": "personal", "state": "ready", "disk": "quiesced", "extension": "ext.namespaces",
        "host": "", "size": 48 << 20, "still_ms": 4, "automatic": True, "turn": None,
        "exported": False, "agent": "codex", "branches": ["main"],
        "created_at": "2026-12-01T10:00:00Z", "expires_at": None,
    }  # fmt: skip
    return told | more


KEPT = [
    snapshot(
        "fixer-20261201-100203",
        turn={"agent": "claude-code", "agent_id": "t_one", "number": 12},
    ),
    snapshot("fixer-20261201-100102", turn={"agent": "codex", "agent_id": "t_two", "number": 1}),
    snapshot("fixer-20261201-090000"),
    snapshot("before the upgrade", automatic=False, agent=None),
]


async def kept(page: Page) -> None:
    """Have the server keep snapshots."""
    promise = {"disk": "quiesced", "running": True}

    async def backends(route: Route) -> None:
        able = {"name": "ext.namespaces", "capabilities": {"snapshots": promise}}
        await route.fulfill(json={"extensions": [able]})

    async def listed(route: Route) -> None:
        await route.fulfill(json={"snapshots": KEPT, "next": None})

    await page.route("**/v1/extensions", backends)
    await page.route("**/v1/snapshots?*", listed)


async def test_snapshot_after_a_turn_says_of_which_agent_it_is(open_page: OpenPage) -> None:
    page = open_page.page
    await kept(page)
    await page.reload()
    menu = await sandbox_menu(page)
    await menu.get_by_role("button", name="Snapshots…").click()
    rows = page.get_by_role("dialog").get_by_role("listitem")
    await expect(rows).to_have_count(len(KEPT))
    await expect(rows.nth(0)).to_contain_text("after turn 12 of claude-code")
    await expect(rows.nth(1)).to_contain_text("after turn 1 of codex")
    for number in (2, 3):
        await expect(rows.nth(number)).not_to_contain_text("turn")
    await expect(rows.nth(2)).to_contain_text("codex")
    await picture(page)


async def picture(page: Page) -> None:
    """Take pictures into the folder `ATOLL_PICTURES`, for whoever looks at them."""
    folder = os.environ.get("ATOLL_PICTURES", "")
    for width in (1280, 390) if folder else ():
        await page.set_viewport_size({"width": width, "height": 800})
        for colour in ("light", "dark"):
            await page.emulate_media(color_scheme="dark" if colour == "dark" else "light")
            await page.screenshot(path=Path(folder) / f"snapshots-{width}-{colour}.png")
