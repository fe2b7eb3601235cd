"""From an empty installation to an agent's merged work with two people, by a mouse alone and by
keys alone.

`ATOLL_TOUR=docs/tour` makes the walk by mouse keep its pictures there; else they lie in the test's
folder.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from atoll.testing.server import TestServer
from tests.e2e.page.test_people import person
from tests.e2e.page.test_real_page import LINK
from tests.e2e.page.test_second_person import CONFIG
from tests.e2e.tour.board_hands import WATCH, BoardHand, BoardKeys, Mouse
from tests.e2e.tour.hand import fits, picture
from tests.e2e.tour.stage import Stage, known_repository, stage
from tests.e2e.tour.story import TERMINAL, Task, call
from tests.peers.api import api_of
from tests.peers.browsers import chromium, needs_chromium
from tests.peers.identity.oidc_provider import OidcProcess, oidc_provider

pytestmark = [
    pytest.mark.browser,
    pytest.mark.agents,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    needs_chromium,
]

SCREEN = {"width": 1440, "height": 900}
TASK = Task(
    "asks", "codex", TERMINAL,
    "Refuse an empty password",
    "refuse-empty-password",
    "sed -i 's/not in PEOPLE/not in PEOPLE or not password/' harbour/login.py && "
    "git commit -qam 'Refuse an empty password'",
    "An empty password is refused now.",
)  # fmt: skip
ASKING = """
id: profile.asking
version: "1.0.0"
extension: ext.namespaces
safety: {operator: [[git, commit]]}
"""
"""A profile in which a person allows each commit."""
COMMENT = "Say in a comment why."
REVISED = (
    "sed -i '2i\\    # An empty password would match an unset one.' harbour/login.py && "
    "git commit -qam 'Say why an empty password is refused'"
)
expect.set_options(timeout=60_000)


@dataclass
class Seat:
    """One of the two people: how they use the page, and what they see of the dashboard."""

    hand: BoardHand
    pictures: Path | None
    """None: no picture is kept. To take one moves the keyboard, as it opens a tab."""

    @property
    def page(self) -> Page:
        return self.hand.page

    def item(self, kind: str) -> Locator:
        return self.page.locator(f'[data-kind="{kind}"]')

    async def keep(self, name: str) -> None:
        """Keep a picture; nothing lies beside the screen."""
        await fits(self.page)
        if self.pictures is not None:
            await picture(self.page, self.pictures / f"together-{name}.webp")


@pytest.mark.parametrize("how", ["mouse", "keys"])
async def test_two_people_and_an_agent_from_nothing_to_merged_work(
    how: str, tmp_path: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    kept = Path(os.environ.get("ATOLL_TOUR", "") or tmp_path / "pictures")
    pictures = kept if how == "mouse" else None
    with oidc_provider({"sub": "bob", "name": "Bob Ray"}) as provider:
        config = CONFIG.format(issuer=provider.issuer)
        async with stage(tmp_path, config) as here, chromium(whole=True) as browser:
            await asyncio.to_thread(provide_agent, here.world.server, TASK.agent)
            await prepared(here)
            link = LINK.findall(here.world.server.log.read_text())[0]
            async with seat(browser, link, how, pictures) as ada:
                invitation = await invited(ada)
                async with seat(browser, invitation, how, pictures) as bob:
                    await joined(bob, provider)
                    await together(here, ada, bob)
    assert "not password" in here.git("log", "-p", "main")
    assert "unset one" in here.git("log", "-p", "main")


async def prepared(here: Stage) -> None:
    """An organization of one person, whose checkout waits for pulls and is at work elsewhere."""
    here.git("switch", "-qc", "elsewhere")
    with api_of(here.world.server) as api:
        api.call("PATCH", "/v1/me", json={"name": "Ada"})
        api.call("POST", "/v1/organizations", json={"slug": "harbour", "name": "Harbour"})
    folder = here.world.server.home / "profiles"
    folder.mkdir(exist_ok=True)
    (folder / "asking.yaml").write_text(ASKING)
    await known_repository(here)
    here.world.model.scripts = {
        TASK.sentence: TASK.script,
        COMMENT: f"{call(TASK, REVISED)}[[say The reason is in a comment.]]",
    }


@asynccontextmanager
async def seat(
    browser: Browser, address: str, how: str, pictures: Path | None
) -> AsyncIterator[Seat]:
    """Somebody at this address with one kind of hand."""
    async with person(browser, address, viewport=SCREEN, color_scheme="light") as page:
        await page.evaluate(WATCH)
        await page.context.add_init_script(WATCH)
        made = Seat(Mouse(page) if how == "mouse" else BoardKeys(page), pictures)
        try:
            yield made
            await made.hand.check()
        except BaseException:
            if pictures is not None:
                await picture(page, pictures / f"failed-{id(page)}.webp")
            raise


async def invited(ada: Seat) -> str:
    """Ada makes an invitation on the team's page."""
    page, hand = ada.page, ada.hand
    await hand.press(page.get_by_role("button", name="Harbour · Owner"))
    await hand.press(page.get_by_role("button", name="Harbour: team and quotas"))
    await hand.press(page.get_by_role("button", name="Invite somebody"))
    dialog = page.get_by_role("dialog")
    await hand.press(dialog.get_by_role("button", name="Make a link"))
    link = await dialog.get_by_role("textbox", name="Invitation link").input_value()
    await hand.press(dialog.get_by_role("button", name="Done"))
    return link


async def joined(bob: Seat, provider: OidcProcess) -> None:
    """Bob logs in at the provider and joins."""
    page, hand = bob.page, bob.hand
    await hand.press(page.get_by_role("link", name="Continue with Example Corp"))
    await page.wait_for_url(f"{provider.issuer}/**")
    await hand.write(page.locator("input[name=sub]"), "bob")
    await hand.press(page.get_by_role("button").first)
    await hand.press(page.get_by_role("button", name="Join Harbour"))
    await expect(page.get_by_text("You are a member of Harbour.")).to_be_visible()


async def together(here: Stage, ada: Seat, bob: Seat) -> None:
    """The whole work on one dashboard."""
    await made_dashboard(ada)
    await wrote_todo(ada)
    await came(ada, bob)
    await handed_over(ada, bob)
    await watched(ada, bob)
    await here.release(TASK)
    await answered(ada, "answer")
    await commented(ada, bob)
    await merged(ada, bob)


async def made_dashboard(ada: Seat) -> None:
    page, hand = ada.page, ada.hand
    await hand.dashboards()
    await hand.press(page.get_by_role("button", name="New dashboard"))
    dialog = page.get_by_role("dialog", name="New dashboard")
    await hand.write(dialog.get_by_label("Name"), "Release 2")
    await hand.pick(dialog.get_by_role("radio", name="The team"))
    await ada.keep("new")
    await hand.press(dialog.get_by_role("button", name="Make it"))
    await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    await ada.keep("empty")


async def wrote_todo(ada: Seat) -> None:
    await ada.hand.make("todo")
    await expect(ada.page.get_by_role("textbox", name="Text of Todo")).to_be_focused()
    await ada.page.keyboard.type(TASK.sentence)
    await ada.hand.leave()
    await ada.keep("todo")


async def came(ada: Seat, bob: Seat) -> None:
    """Bob finds the dashboard in his list; each sees that the other is here."""
    await bob.hand.dashboards()
    await bob.hand.press(bob.page.get_by_role("link", name="Release 2"))
    await expect(bob.item("todo")).to_contain_text(TASK.sentence)
    for one in (ada, bob):
        await expect(one.page.locator(".board-person")).to_have_count(1)


async def handed_over(ada: Seat, bob: Seat) -> None:
    page, hand = ada.page, ada.hand
    await hand.within(ada.item("todo"), "Do this")
    form = page.get_by_role("dialog", name="Hand it to an agent")
    await expect(form.get_by_label("What is to be done")).to_have_value(TASK.sentence)
    await hand.press(form.get_by_role("button", name="Repository"))
    repositories = page.get_by_role("list", name="Repositories")
    await hand.press(repositories.get_by_role("button", name="harbour"))
    await hand.press(form.get_by_role("button", name="More", exact=True))
    await hand.choose(form.get_by_label("Profile", exact=True), "asking")
    await ada.keep("give")
    await hand.press(form.get_by_role("button", name=f"Start {TASK.agent}"))
    for one in (ada, bob):
        await expect(one.item("todo")).to_contain_text("Working")


async def watched(ada: Seat, bob: Seat) -> None:
    """Both are in the terminal of the agent; one drives, and gives it to the other."""
    for one in (ada, bob):
        await expect(one.item("agent").locator(".xterm")).to_be_visible()
        await one.hand.within(one.item("todo"), "Agent")
    await expect(ada.item("agent").locator(".pane-role")).to_contain_text("You drive")
    await expect(bob.item("agent").locator(".pane-role")).to_contain_text("Ada drives")
    await bob.keep("watch")
    await bob.hand.tool(bob.item("agent"), "Ask for control")
    asks = ada.page.get_by_role("alert").filter(has_text="Bob Ray asks for control")
    await expect(asks).to_be_visible()
    await ada.keep("asks")
    await ada.hand.reply(ada.item("agent"), "Give control")
    await expect(bob.item("agent").locator(".pane-role")).to_contain_text("You drive")
    for one in (ada, bob):
        await one.hand.leave()


async def answered(ada: Seat, name: str = "") -> None:
    """Ada allows the command that the agent asks for."""
    page, hand = ada.page, ada.hand
    await hand.within(ada.item("todo"), "Answer")
    dialog = page.get_by_role("dialog", name="It waits for you")
    await expect(dialog).to_contain_text("Run this command, word by word")
    if name:
        await ada.keep(name)
    await hand.press(dialog.get_by_role("button", name="Allow").first)
    await expect(dialog).to_have_count(0)
    await expect(ada.item("todo")).to_contain_text("Done")


async def commented(ada: Seat, bob: Seat) -> None:
    """Bob comments on a line, and the agent takes it up."""
    page, hand = bob.page, bob.hand
    await hand.within(bob.item("todo"), "Changes")
    diff = page.get_by_role("group", name="Changes of harbour/login.py")
    await hand.comment(diff, "not password", COMMENT)
    await expect(diff.locator(".diff-thread")).to_contain_text(COMMENT)
    await bob.keep("comment")
    await hand.press(page.get_by_role("button", name=f"Send to {TASK.agent}"))
    told = page.locator(".notice", has_text="The comments were")
    # It is shown for seconds only: a refusal must not look like silence.
    await expect(told).to_be_visible()
    assert f"were sent to {TASK.agent}." in await told.inner_text()
    await answered(ada)
    await expect(diff).to_contain_text("unset one")
    await hand.leave()


async def merged(ada: Seat, bob: Seat) -> None:
    """Ada brings the branch into `main` of her checkout, and ticks the todo that is proposed."""
    page, hand = ada.page, ada.hand
    await expect(ada.item("todo")).to_contain_text("Done")
    await hand.within(ada.item("todo"), "Pull")
    dialog = page.get_by_role("dialog", name="Pull from")
    await hand.write(dialog.get_by_label("Branch of your repository"), "main")
    await hand.press(dialog.get_by_role("button", name="Pull into my checkout"))
    await expect(dialog.get_by_role("list", name="Pulls")).to_contain_text("in your checkout")
    await ada.keep("home")
    await hand.press(dialog.get_by_role("button", name="Close"))
    await expect(ada.item("todo")).to_contain_text("Taken over")
    await ada.keep("proposed")
    await hand.within(ada.item("todo"), "It is done")
    for one in (ada, bob):
        await expect(one.item("todo").get_by_role("checkbox")).to_be_checked()
    await ada.keep("done")
