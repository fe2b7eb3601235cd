"""A morning with five agents on five branches, by keyboard alone and by phone.

`ATOLL_TOUR=docs/tour` makes the run keep its pictures there; else they lie in the test's folder.
"""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from atoll.testing.server import TestServer
from tests.e2e.page.test_people import PHONE_SCREEN, person
from tests.e2e.page.test_real_page import CHROMIUM, LINK, chromium
from tests.e2e.tour.hand import Hand, Keys, Touch, fits, picture
from tests.e2e.tour.stage import Stage, known_repository, stage
from tests.e2e.tour.story import TERMINAL, Task, cast

pytestmark = [
    pytest.mark.browser,
    pytest.mark.agents,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not CHROMIUM.exists(), reason="no Chromium: install the package `chromium`"),
]
FEW = cast(asks="claude-code", done="codex", fails="codex", works="claude-code", thinks="codex")
ALL = cast(
    asks="claude-code", done="codex", fails="gemini-cli", works="qwen-code", thinks="opencode"
)
WORDS = {"asks": "Needs you", "done": "Done", "fails": "Failed", "works": "Working",
         "thinks": "Working"}  # fmt: skip
DISPATCH_SECONDS = 60


class Tour:
    """One walk through the page, and its pictures."""

    def __init__(self, hand: Hand, stage: Stage, pictures: Path) -> None:
        self.hand, self.page, self.stage, self.pictures = hand, hand.page, stage, pictures

    async def keep(self, name: str) -> None:
        """Keep a picture; nothing lies beside the screen."""
        await fits(self.page)
        await picture(self.page, self.pictures / f"{name}-{self.hand.name}.png")

    def card(self, task: Task) -> Locator:
        """The task's card on home."""
        return self.page.locator(".home .card", has_text=task.branch)

    async def dispatch(self, task: Task) -> None:
        page, hand = self.page, self.hand
        await hand.go("home")
        form = page.get_by_role("form", name="New task")
        await hand.write(form.get_by_label("What is to be done"), task.sentence)
        await hand.choose(form.get_by_label("Repository"), "harbour")
        for box in await form.locator(".composer-agent").all():
            name = (await box.inner_text()).strip()
            if await box.get_by_role("checkbox").is_checked() != (name == task.agent):
                await hand.press(box.get_by_role("checkbox"))
        if task.mode != TERMINAL:
            more = form.locator("summary", has_text="More")
            if not await form.get_by_label("The agent works").is_visible():
                await hand.press(more)
            await hand.choose(form.get_by_label("The agent works"), task.mode)
        await expect(form.get_by_label("Branch", exact=True)).to_have_value(task.branch)
        await hand.press(form.get_by_role("button", name=f"Start {task.agent}"))
        await expect(page.locator(".sandbox h1")).to_be_visible()


@pytest.mark.parametrize(
    ("tasks", "how"),
    [
        pytest.param(FEW, "desk", id="two-agents-desk"),
        pytest.param(FEW, "phone", id="two-agents-phone", marks=pytest.mark.slow),
        pytest.param(ALL, "desk", id="five-agents-desk", marks=pytest.mark.slow),
        pytest.param(ALL, "phone", id="five-agents-phone", marks=pytest.mark.slow),
    ],
)
async def test_morning_with_five_agents_on_five_branches(
    tasks: tuple[Task, ...],
    how: str,
    tmp_path: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    pictures = Path(os.environ.get("ATOLL_TOUR", "") or tmp_path / "pictures")
    more = PHONE_SCREEN if how == "phone" else {}
    async with stage(tmp_path) as here, chromium() as browser:
        for agent in {task.agent for task in tasks}:
            await asyncio.to_thread(provide_agent, here.world.server, agent)
        here.world.model.scripts = {task.sentence: task.script for task in tasks}
        await known_repository(here)
        link = LINK.findall(here.world.server.log.read_text())[0]
        async with person(browser, link, color_scheme="light", **more) as page:
            hand: Hand = Touch(page) if how == "phone" else Keys(page)
            tour = Tour(hand, here, pictures)
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
            began = time.monotonic()
            for task in tasks:
                await tour.dispatch(task)
            assert time.monotonic() - began < DISPATCH_SECONDS
            await hand.go("home")
            for task in tasks:
                await expect(tour.card(task)).to_contain_text(WORDS[task.role])
            await tour.keep("home")
