"""The snapshots of a sandbox, in its dialog."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from .open_page import OpenPage, sandbox_menu

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


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
