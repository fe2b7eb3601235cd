"""What a worker made and left, linked machines, and every worker for administrators."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.page.test_people import PHONE_SCREEN, STING
from tests.e2e.page.ui.scripted import TICKET, ScriptedServer, at
from tests.e2e.page.ui.team.scripted_team import BOB
from tests.peers.browsers import CALM

from .scripted_workers import now
from .test_logins import NARROW
from .test_workers import begun, come_in, log_of

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HIDING = "a\u202efdp.exe\u200b"
SPELLED = "a\\u{202e}fdp.exe\\u{200b}"
STOPPED: dict[str, Any] = {"status": "stopped", "heartbeat_state": "stopped"}

NO_HEALTH = dict.fromkeys(("attempts", "success", "p50_ms", "p95_ms", "breaker"))


def placed(backend: str, extension: str = "ext.docker", host: str = "local") -> dict[str, str]:
    """A place of workers."""
    return {"backend": backend, "extension": extension, "host": host, "region": ""}


async def test_artifacts_are_listed_with_type_size_and_sum_and_names_are_spelled(
    server: ScriptedServer, page: Page
) -> None:
    told = {"type": "application/pdf", "size": 51_200, "sha256": "9f" * 32}
    names = ("report.pdf", HIDING, STING)
    server.workers.add("docs", artifacts=[{"name": name, **told} for name in names])
    server.workers.add("plain")
    await come_in(server, page, "workers/docs")
    await page.get_by_role("button", name="3 artifacts").press("Enter")
    rows = page.get_by_role("list", name="Artifacts").get_by_role("listitem")
    await expect(rows.first).to_contain_text("report.pdf")
    await expect(rows.first).to_contain_text("application/pdf · 50 KiB")
    await expect(rows.first).to_contain_text("9f" * 32)
    await expect(rows.nth(1)).to_contain_text(SPELLED)
    await expect(rows.nth(2)).to_contain_text(STING)
    assert await page.evaluate("window.stung") is None
    await page.keyboard.press("Escape")
    await page.goto(f"{server.url}#/workers/plain")
    await expect(page.get_by_text("kept for 7d after a stop")).to_be_visible()
    await expect(page.get_by_text("artifact")).to_have_count(0)


async def test_what_a_teardown_removed_and_left_is_said_and_nothing_starts_it_again(
    server: ScriptedServer, page: Page
) -> None:
    later = at(datetime.now(UTC) + timedelta(days=2, minutes=5))
    server.workers.add("kept", **STOPPED, remove_at=later)
    left = {"removed": ["sandbox:sb_1"], "leftovers": [f"volume v: {STING}"]}
    server.workers.add("left", **STOPPED, remove_at=now(), torn_down=left)
    clean = {"removed": ["sandbox:sb_2"], "leftovers": []}
    server.workers.add("clean", **STOPPED, remove_at=now(), torn_down=clean)
    await come_in(server, page)
    rows = page.locator(".worker")
    await expect(rows.filter(has_text="left over")).to_have_count(1)
    await expect(rows.filter(has_text="removed")).to_have_count(1)
    await page.get_by_role("link", name="kept", exact=True).click()
    await expect(page.get_by_text("removed in 2 d")).to_be_visible()
    await expect(page.get_by_role("button", name="Start again")).to_be_visible()
    await page.goto(f"{server.url}#/workers/left")
    await expect(page.get_by_role("alert")).to_contain_text(f"volume v: {STING}")
    await expect(page.get_by_role("button", name="Start again")).to_have_count(0)
    await page.get_by_role("button", name="1 thing left over").click()
    await expect(page.get_by_role("list", name="Removed")).to_have_text("sandbox:sb_1")
    await page.keyboard.press("Escape")
    await page.goto(f"{server.url}#/workers/clean")
    await expect(page.get_by_role("button", name="its sandbox was removed")).to_be_visible()
    assert await page.evaluate("window.stung") is None


async def test_what_an_agent_said_is_deleted_after_a_question(
    server: ScriptedServer, page: Page
) -> None:
    metadata = {"ticket": HIDING}
    server.workers.add("docs", metadata=metadata, repos=[])
    workers = await come_in(server, page, "workers/docs")
    await begun(workers, "docs")
    await expect(log_of(page)).to_contain_text("Write it down")
    await page.get_by_role("button", name="codex, asks first").click()
    await expect(page.locator(".pop-body")).to_contain_text(SPELLED)
    await page.get_by_role("button", name="Delete what it said").click()
    dialog = page.get_by_role("alertdialog", name="Delete what docs said?")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await dialog.get_by_role("button", name="Delete it").click()
    await expect(page.locator(".notice")).to_contain_text("3 events were deleted.")
    await expect(log_of(page)).to_contain_text("What came before is no longer kept.")
    await workers.item("docs", type="agentMessage", id="m2", text="Said after it.")
    await expect(log_of(page)).to_contain_text("Said after it.")


async def test_linked_machines_show_their_lane_their_wall_and_their_workers(
    server: ScriptedServer, page: Page
) -> None:
    workers = await come_in(server, page)
    section = page.get_by_role("region", name="Your own machines")
    await expect(section.get_by_label("To link it, once", exact=True)).to_have_value(
        "atoll desktop link"
    )
    await expect(section.get_by_label("For as long as it takes workers", exact=True)).to_have_value(
        "atoll desktop run"
    )
    silent = {"heartbeat_state": "missing", "heartbeat_age_ms": 95_000}
    workers.add("docs", **silent)
    workers.link("laptop", workers=["docs"])
    workers.link("off", present=False, heard_at=None, isolation=None)
    workers.link("lost", present=False)
    laptop = section.get_by_role("listitem").filter(has_text="laptop")
    await expect(laptop).to_contain_text("takes workers")
    await expect(laptop).to_contain_text("heartbeat missing for 1 min")
    await expect(section.locator("[data-lane='off']")).to_have_text("does not run")
    await expect(section.locator("[data-lane='silent']")).to_have_text("not heard")
    await laptop.get_by_role("button", name="weak isolation").click()
    await expect(page.locator(".pop-body")).to_contain_text("Run nothing in it")
    await page.keyboard.press("Escape")
    await section.get_by_text("Link another machine").click()
    await expect(section.get_by_text("Run on that machine:")).to_be_visible()
    await section.get_by_role("button", name="Unlink laptop").click()
    dialog = page.get_by_role("alertdialog", name="Unlink laptop?")
    await expect(dialog).to_contain_text("What docs still says from there is refused.")
    await dialog.get_by_role("button", name="Unlink it").click()
    await expect(page.locator(".notice")).to_contain_text("laptop is not linked any more.")
    await expect(laptop).to_have_count(0)
    assert set(workers.desktops) == {"off", "lost"}


async def test_viewer_sees_workers_and_nothing_to_change(
    server: ScriptedServer, page: Page
) -> None:
    server.team.found(role="viewer")
    artifacts = [{"name": "a", "type": "a/b", "size": 1, "sha256": "9f" * 32}]
    server.workers.add("docs", artifacts=artifacts)
    server.workers.link("laptop")
    await come_in(server, page)
    await expect(page.get_by_role("link", name="docs", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="New worker")).to_have_count(0)
    await expect(page.get_by_text("Your own machines")).to_have_count(0)
    await page.get_by_role("link", name="docs", exact=True).click()
    await page.get_by_role("button", name="codex, asks first").click()
    await expect(page.locator(".pop-body")).to_contain_text("What it was created with")
    await expect(page.get_by_role("button", name="Delete what it said")).to_have_count(0)


async def test_administrator_sees_every_worker_and_filters_those_in_trouble(
    server: ScriptedServer, browser: Browser
) -> None:
    server.team.found(role="admin")
    server.team.add(BOB, "Bob Ray")
    workers = server.workers
    workers.add("fine")
    workers.add("broken", status="failed", heartbeat_state="failed", reason=f"no room {STING}")
    torn_down = {"removed": [], "leftovers": ["volume v: it is busy"]}
    workers.add("left", **STOPPED, backend="docker", torn_down=torn_down, remove_at=now())
    workers.owners["broken"] = BOB
    health = {"attempts": 4, "success": 0.75, "p50_ms": 310, "p95_ms": 1_200}
    workers.backends = [
        {"placement": placed("docker"), **NO_HEALTH, "workers": 2, "lost": 0},
        {"placement": placed("extension", "ext.mine", "box"), **health}
        | {"breaker": "half_open", "workers": 0, "lost": 1},
    ]
    context = await browser.new_context(**CALM, **PHONE_SCREEN)
    page = await context.new_page()
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.locator(".stage")).to_be_visible()
    await page.goto(f"{server.url}#/admin/workers")
    rows = page.locator(".worker-overseen")
    await expect(rows).to_have_count(3)
    broken = rows.filter(has_text="broken")
    await expect(broken).to_contain_text("codex of Bob Ray")
    await expect(broken).to_contain_text(f"no room {STING}")
    await expect(broken).to_contain_text("ext.ssh at box-2: draining, no room for 2 cores")
    backends = page.get_by_role("list", name="Workers by backend").get_by_role("listitem")
    await expect(backends).to_have_text(
        ["docker: 0 run, 1 in trouble", "namespaces: 1 runs, 1 in trouble"]
    )
    places = page.get_by_role("group", name="Backends in the last day").get_by_role("row")
    await expect(places.filter(has_text="ext.mine at box")).to_have_text(
        "ext.mine at boxtried once more75 %310 ms1200 ms01"
    )
    await expect(places.filter(has_text="docker")).to_have_text("docker at local––––20")
    await page.get_by_text("In trouble", exact=True).tap()
    await expect(rows).to_have_count(2)
    await broken.get_by_role("button", name="namespaces at local").tap()
    await expect(page.get_by_text("the first machine of ours that fits")).to_be_visible()
    await page.keyboard.press("Escape")
    assert await page.evaluate(NARROW)
    workers.backends = [one | NO_HEALTH for one in workers.backends]
    await page.reload()
    await expect(places.filter(has_text="docker")).to_have_text("docker at local20")
    await expect(page.get_by_text("Nearly all within")).to_have_count(0)
    assert await page.evaluate(NARROW)
    assert await page.evaluate("window.stung") is None
    await context.close()
