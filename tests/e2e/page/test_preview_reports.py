"""What a page in a preview reports to its pane, in Chromium: honest pages, and hostile ones."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from atoll.testing.server import TestServer
from tests.e2e.page.test_preview_pane import SHOP, Shop, shop_of
from tests.peers.browsers import needs_chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    needs_chromium,
]

ERRORS = """<!doctype html><html lang="en"><head><title>errors</title><script>
const heard = [];
addEventListener('message', ({ data }) => heard.push(data));
console.error('no %s in %d shops', 'pears', 3, { at: 'home' });
setTimeout(() => { throw new TypeError('apples are out'); });
Promise.reject(new Error('the till refused'));
</script></head><body><h1>Errors</h1></body></html>"""

PRESSED = (
    "<script>let pressed = 0; addEventListener('click', () => { pressed += 1; }, true)</script>"
)

HOSTILE = """<!doctype html><html lang="en"><head><title>hostile</title></head><body>
<h1>Hostile</h1>
<iframe sandbox="allow-scripts" srcdoc="<script>
  top.postMessage({ atoll: 'preview', kind: 'ready' }, '*');
  top.postMessage({ atoll: 'preview', kind: 'error', source: 'console', text: 'nested' }, '*');
</script>"></iframe><script>
const say = (text, more) => parent.postMessage(
  { atoll: 'preview', kind: 'error', source: 'console', text, ...more }, '*');
console.error('begun');
window.forge = () => {
  say('<img src=x onerror="top.hacked=1"> \\u202e forged');
  say('x'.repeat(1e6));
  say({ text: 'object' });
  say('foreign', { source: 'atoll' });
  say('b', { kind: 'picked', path: '/', selector: 'b' });
  say('b', { kind: 'picture', png: new ArrayBuffer(64) });
  for (let i = 0; i < 5000; i += 1) say('flood ' + i);
};
</script></body></html>"""

LOOKS = """<style>.buy::after{content:" !"}</style>
<form><input class="secret" value="of the page" style="color:#00f;background:#0f0"></form>"""

COLOURS = """image => {
  const canvas = document.createElement('canvas');
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const pen = canvas.getContext('2d');
  pen.drawImage(image, 0, 0);
  const counts = {};
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4) {
    const colour = [...data.slice(at, at + 3)].join(' ');
    counts[colour] = (counts[colour] ?? 0) + 4 / data.length;
  }
  return counts;
}"""
"""How much of a picture has each colour."""

AGENT = {"id": "term_agent", "agent": "claude", "agent_state": "running", "mode": "tui"}


async def with_agent(page: Page) -> list[Any]:
    """An agent runs in every sandbox; what it is asked is collected."""
    asked: list[Any] = []

    async def agents(route: Route) -> None:
        await route.fulfill(json={"agents": [AGENT], "next": None})

    async def ask(route: Route) -> None:
        asked.append(route.request.post_data_json)
        await route.fulfill(json=AGENT)

    await page.route("**/v1/sandboxes/*/agents*", agents)
    await page.route("**/v1/sandboxes/*/terminals/term_agent/ask", ask)
    return asked


async def show(shop: Shop, path: str) -> None:
    await shop.page.get_by_label("Address").fill(path)
    await shop.page.keyboard.press("Enter")


async def test_errors_go_to_an_agent_once_they_are_sent_and_a_hostile_page_opens_nothing(
    atoll: TestServer,
) -> None:
    async with shop_of(atoll, "errors") as shop:
        page, asked = shop.page, await with_agent(shop.page)
        shop.write("errors.html", ERRORS)
        shop.write("strict.html", ERRORS)
        await shop.serve()
        await shop.show()
        await expect(page.get_by_role("button", name="0 errors of the page")).to_be_visible()
        await show(shop, "/errors.html")
        await page.get_by_role("button", name="3 errors of the page").click()
        listed = page.locator(".preview-error-list")
        await expect(listed).to_contain_text('no pears in 3 shops {"at":"home"}')
        await expect(listed).to_contain_text("TypeError: apples are out")
        await expect(listed).to_contain_text("the till refused")
        assert asked == []
        await page.get_by_role("button", name="Send to the agent").click()
        prompt = page.get_by_label("Prompt")
        quoted = await prompt.input_value()
        assert "> no pears in 3 shops" in quoted and "/errors.html:5" in quoted
        # Addresses are those of the files, without the preview's origin.
        assert shop.box.replace("_", "-") not in quoted
        await page.get_by_role("button", name="Send to claude").click()
        await expect(page.get_by_text("It was sent to claude")).to_be_visible()
        assert asked == [{"prompt": quoted}]
        # The page itself neither heard of it, nor keeps an element of ours.
        root = shop.frame.locator("html")
        assert await root.evaluate("() => heard.length") == 0
        assert ".atoll" not in await root.evaluate("root => root.outerHTML")
        again = "async () => (await fetch(location.href)).text()"
        assert ".atoll" not in await root.evaluate(again)

        # A policy of the page stays in force: then it reports nothing, and the pane says so.
        await show(shop, "/strict.html")
        await expect(shop.frame.get_by_role("heading", name="Errors")).to_be_visible()
        await page.get_by_role("button", name="The page reports nothing").click()
        await expect(page.get_by_text("its policy forbids the script")).to_be_visible()
        await _hostile_page_fills_no_list_and_opens_nothing(shop)
        await show(shop, "/")
        await _tab_of_its_own_gets_the_page_as_the_server_inside_sends_it(shop)


async def _hostile_page_fills_no_list_and_opens_nothing(shop: Shop) -> None:
    page = shop.page
    shop.write("hostile.html", HOSTILE)
    await show(shop, "/hostile.html")
    # The pane reads this document, and no longer the one before it.
    await expect(page.get_by_role("button", name="1 error of the page")).to_be_visible()
    await shop.frame.locator("html").evaluate("() => forge()")
    # The list is open since the page before.
    listed = page.locator(".preview-error-list")
    await expect(listed).to_contain_text("u{202e} forged")
    assert await listed.locator("li").count() <= 50
    text = await listed.inner_text()
    assert not [one for one in ("nested", "xxx", "object", "foreign") if one in text]
    assert await listed.locator("img").count() == 0
    assert await page.evaluate("() => window.hacked") is None
    await expect(page.get_by_role("dialog", name="Ask the agent")).to_have_count(0)


async def _tab_of_its_own_gets_the_page_as_the_server_inside_sends_it(shop: Shop) -> None:
    await expect(shop.frame.get_by_text("Apples")).to_be_visible()
    async with shop.page.context.expect_page() as opened:
        await shop.page.get_by_role("button", name="Open in a tab").click()
    tab = await opened.value
    await expect(tab.get_by_text("Apples")).to_be_visible()
    fetched: list[str] = []
    tab.on("request", lambda request: fetched.append(request.url))
    answer = await tab.reload()
    assert answer is not None
    assert b".atoll" not in await answer.body()
    assert not [url for url in fetched if ".atoll" in url]


async def test_picked_element_is_quoted_in_a_prompt_with_its_picture(atoll: TestServer) -> None:
    async with shop_of(atoll, "picking") as shop:
        page, asked = shop.page, await with_agent(shop.page)
        shop.write("index.html", SHOP.replace("<h1>", PRESSED + LOOKS + "<h1>"))
        shop.write("blind.html", SHOP)
        await shop.serve()
        await shop.show()
        pick = page.get_by_role("button", name="Pick an element")
        buy = shop.frame.locator("button.buy")
        # Escape ends it, here and in the frame; then the page has its clicks again.
        await pick.click()
        await page.keyboard.press("Escape")
        await expect(pick).to_have_attribute("aria-pressed", "false")
        await pick.click()
        await shop.frame.locator("body").press("Escape")
        await expect(pick).to_have_attribute("aria-pressed", "false")
        await buy.click()
        pressed = shop.frame.locator("html")
        assert await pressed.evaluate("() => pressed") == 1

        await pick.click()
        # What the page itself does is no pick, and stays its own.
        await pressed.evaluate("() => document.querySelector('h1').click()")
        await buy.locator("b").hover()
        assert await pressed.evaluate("root => root.lastElementChild.localName") == "div"
        await buy.click(position={"x": 3, "y": 3})
        prompt = page.get_by_label("Prompt")
        await expect(prompt).to_have_value(re.compile("> button.buy\\n> Buy now\\n"))
        assert await pressed.evaluate("() => pressed") == 2
        # Its picture stands beside it: the button's red on the page's own paper.
        picture = page.get_by_role("img", name="The element that was picked")
        colours = await picture.evaluate(COLOURS)
        assert colours["187 51 51"] > 0.2 and colours["255 250 240"] > 0.2, colours
        # A page that loads anew takes nothing from who writes.
        await prompt.fill(f"{await prompt.input_value()}Make it green.")
        async with page.expect_event("framenavigated"):
            await pressed.evaluate("() => location.reload()")
        await page.get_by_role("button", name="Send to claude").click()
        await expect(page.get_by_text("It was sent to claude")).to_be_visible()
        said, _, path = asked[0]["prompt"].rpartition("\n\nA picture of it: /workspace/")
        assert said.endswith("> button.buy\n> Buy now\n\nMake it green.")
        kept = f"/v1/sandboxes/{shop.box}/files/content"
        file = shop.api.client.get(kept, params={"path": path})
        assert file.content.startswith(b"\x89PNG\r\n") and path.startswith(".atoll-uploads/")
        await _pictures_leave_out_fields_and_heed_the_policy(shop, asked)


async def _pictures_leave_out_fields_and_heed_the_policy(shop: Shop, asked: list[Any]) -> None:
    page, frame = shop.page, shop.frame
    pick = page.get_by_role("button", name="Pick an element")
    picture = page.get_by_role("img", name="The element that was picked")
    send = page.get_by_role("button", name="Send to claude")
    dialog = page.get_by_role("dialog", name="Ask the agent")
    # What stands in fields is left out, whoever wrote it there.
    await pick.click()
    await frame.locator(".secret").click()
    colours = await picture.evaluate(COLOURS)
    assert colours["0 255 0"] > 0.2 and "0 0 255" not in colours, colours
    await page.get_by_label("With its picture").uncheck()
    await expect(picture).to_have_count(0)
    await send.click()
    await expect(dialog).to_have_count(0)
    assert "picture" not in asked[1]["prompt"]

    # Where the page forbids pictures there is none, and the rest goes as ever.
    await show(shop, "/blind.html")
    await expect(frame.get_by_role("heading", name="Apples")).to_be_visible()
    await pick.click()
    await frame.locator("button.buy").click(position={"x": 3, "y": 3})
    await expect(page.get_by_text("There is no picture of it")).to_be_visible()
    await send.click()
    await expect(dialog).to_have_count(0)
    assert asked[2]["prompt"].endswith("> button.buy\n> Buy now\n\n")
