"""The design's page: every part in every state, in all colours, contrasts and densities; and the
states of the page itself, when a part of it cannot be fetched."""

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.page.test_axe import AXE, Survey
from tests.e2e.page.ui.open_page import visit
from tests.peers.browsers import CALM

from ..scripted import TICKET, ScriptedServer
from .test_axe_routes import surveyed

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PLACES = ("", "inbox", "terminals", "workers", "secrets", "notifications", "account", "admin")
_LOOK = """() => {
  const shown = {};
  for (const part of document.querySelectorAll('.design *, .page-head *')) {
    const { display, color, backgroundColor, font, padding, margin, border, gap, borderRadius,
      textAlign, alignItems, cursor } = getComputedStyle(part);
    const name = `${part.localName}.${part.getAttribute('class') ?? ''}`;
    (shown[name] ??= []).push([display, color, backgroundColor, font, padding, margin, border, gap,
      borderRadius, textAlign, alignItems, cursor].join(' | '));
  }
  return shown;
}"""


@pytest.mark.slow
@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: run `npm ci` in ui/")
async def test_every_part_holds_to_axe_in_all_colours_contrasts_and_densities(
    server: ScriptedServer, browser: Browser
) -> None:
    async with surveyed(browser, f"{server.url}#login={TICKET}", "desktop") as found:
        page, root = found.page, found.page.locator("html")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await page.goto(f"{server.url}#/design")
        await expect(page.get_by_role("heading", name="Over the page")).to_be_visible()
        await found.check("parts")
        await page.emulate_media(contrast="more")
        await expect(root).to_have_attribute("data-contrast", "more")
        await found.check("parts with more contrast")
        await page.get_by_role("radio", name="Standard").check()
        await expect(root).to_have_attribute("data-contrast", "standard")
        for choice in ("Compact", "Less"):
            await page.get_by_role("radio", name=choice).check()
        await page.reload()
        await expect(page.get_by_role("heading", name="Over the page")).to_be_visible()
        await expect(root).to_have_attribute("data-density", "compact")
        await expect(root).to_have_attribute("data-motion", "less")
        await Survey.check(found, "compact parts")


async def test_no_route_leaves_a_look_behind_on_another(
    server: ScriptedServer, browser: Browser
) -> None:
    context = await browser.new_context(**CALM, viewport={"width": 1280, "height": 800})
    page = await context.new_page()
    board = server.boards.add("Together").view["id"]
    sandbox = server.add_sandbox("demo")
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()

    async def look() -> dict[str, list[str]]:
        await page.goto(f"{server.url}#/design")
        await expect(page.get_by_role("heading", name="Over the page")).to_be_visible()
        shown: dict[str, list[str]] = await page.evaluate(_LOOK)
        return shown

    before = await look()
    shown = dict.fromkeys((*PLACES, "dashboards"), "main h1")
    shown |= {f"dashboards/{board}": ".board-tools", f"sandboxes/{sandbox}/files": ".stage .files"}
    shown |= {f"sandboxes/{sandbox}/changes": ".review"}
    for route, part in shown.items():
        await page.goto(f"{server.url}#/{route}")
        await expect(page.locator(part).first).to_be_visible()
    after = await look()
    assert {part: after.get(part) for part in before if after.get(part) != before[part]} == {}
    await context.close()


async def test_part_that_cannot_be_fetched_says_so_and_comes_by_a_reload(
    server: ScriptedServer, browser: Browser
) -> None:
    # Without the worker, which fetches where no route of a test is.
    context = await browser.new_context(service_workers="block")
    page = await context.new_page()
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await page.route("**/assets/SecretsPage-*.js", lambda route: route.abort())
    await visit(page, "Secrets and approvals")
    trouble = page.get_by_role("alert")
    await expect(trouble).to_contain_text("could not be loaded")
    await page.unroute("**/assets/SecretsPage-*.js")
    await trouble.get_by_role("button", name="Reload").click()
    await expect(page.get_by_role("heading", name="Secrets and approvals")).to_be_visible()
    await context.close()
