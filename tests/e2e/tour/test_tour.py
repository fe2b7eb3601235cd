"""A morning with five agents on five branches, by keyboard alone and by phone.

`ATOLL_TOUR=docs/tour` makes the run keep its pictures there; else they lie in the test's folder.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from atoll.testing.server import TestServer
from tests.e2e.page.test_people import PHONE_SCREEN, person
from tests.e2e.page.test_real_page import LINK
from tests.e2e.tour.hand import (
    Hand,
    Keys,
    Touch,
    fits,
    picture,
    used_pointers,
    watch_pointers,
)
from tests.e2e.tour.stage import Stage, known_repository, stage
from tests.e2e.tour.story import COMMENTS, TERMINAL, Task, cast, revision
from tests.peers.browsers import chromium, needs_chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.agents,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    needs_chromium,
]
FEW = cast(asks="claude-code", done="codex", fails="codex", works="claude-code", thinks="codex")
ALL = cast(
    asks="claude-code", done="codex", fails="gemini-cli", works="qwen-code", thinks="opencode"
)
WORDS = {"asks": "Needs you", "done": "To review", "fails": "Needs you", "works": "Working",
         "thinks": "Working"}  # fmt: skip
SHOWS = """words => document.body.innerText.includes(words) ||
  [...window.__atollTerms?.values() ?? []].some(({buffer: {active}}) => {
    for (let y = 0; y < active.length; y += 1)
      if (active.getLine(y)?.translateToString(true).includes(words)) return true;
    return false;
  })"""
"""Whether the cards or a terminal show words."""
DISPATCH_SECONDS = 180
"""So slow is no machine: something hangs then."""
PICTURED = ("asks", "done")
"""The roles of which one picture each is enough: the others look the same."""
expect.set_options(timeout=150_000)
"""An agent takes half a minute to start on a busy machine."""


class Tour:
    """One walk through the page, and its pictures."""

    def __init__(self, hand: Hand, stage: Stage, pictures: Path) -> None:
        self.hand, self.page, self.stage, self.pictures = hand, hand.page, stage, pictures
        self.names: dict[str, str] = {}
        """The sandbox of each task's branch."""

    async def keep(self, name: str) -> None:
        """Keep a picture; nothing lies beside the screen."""
        await fits(self.page)
        await picture(self.page, self.pictures / f"{name}-{self.hand.name}.webp")

    def card(self, task: Task) -> Locator:
        """The task's card on home."""
        return self.page.locator(".home .card", has_text=task.branch)

    async def home(self, tasks: Iterable[Task], changed: Mapping[str, str]) -> None:
        """Home says what each task's agent does."""
        await self.hand.go("home")
        for task in tasks:
            words = changed.get(task.role, WORDS[task.role])
            await expect(self.card(task)).to_contain_text(words)

    async def open(self, task: Task) -> None:
        name = self.names[task.branch]
        await self.hand.go("sandbox", name)
        await expect(self.page.get_by_role("heading", name=name, level=1)).to_be_visible()

    async def dispatch(self, task: Task) -> None:
        page, hand = self.page, self.hand
        await hand.go("home")
        form = page.get_by_role("form", name="New task")
        await hand.write(form.get_by_label("What is to be done"), task.sentence)
        await hand.press(form.get_by_role("button", name="Repository"))
        repositories = page.get_by_role("list", name="Repositories")
        await hand.press(repositories.get_by_role("button", name="harbour"))
        agents = form.get_by_role("group", name="Agents")
        await expect(agents.get_by_role("checkbox", name=task.agent)).to_be_visible()
        for box in await agents.get_by_role("checkbox").all():
            chosen = await box.evaluate("one => one.parentElement.textContent") == task.agent
            if await box.is_checked() != chosen:
                await hand.press(box)
        if task.mode != TERMINAL:
            if not await form.get_by_label("The agent works").is_visible():
                await hand.press(form.get_by_role("button", name="More", exact=True))
            await hand.choose(form.get_by_label("The agent works"), task.mode)
        await expect(form.get_by_role("button", name=f"Branch: {task.branch}")).to_be_visible()
        if task.role in PICTURED:
            await self.keep(f"task-{task.role}")
        await hand.press(form.get_by_role("button", name=f"Start {task.agent}"))
        head = page.locator(".sandbox h1")
        await expect(head).to_be_visible()
        self.names[task.branch] = await head.inner_text()

    async def answer(self, task: Task) -> None:
        """Allow what the task's agent asks, from the inbox."""
        await self.hand.go("inbox")
        items = self.page.get_by_role("list", name="Waiting for you").get_by_role("listitem")
        await expect(items).to_have_count(1)
        item = items.filter(has_text=self.names[task.branch]).filter(has_text=f"{task.agent} asks")
        await expect(item).to_be_visible()
        await self.keep(f"inbox-{task.role}")
        await self.hand.allow(item)
        await expect(self.page.get_by_text("Nothing waits for you.")).to_be_visible()

    async def review(self, task: Task) -> None:
        """Two comments, which the agent takes up, and back to before that turn."""
        page, hand = self.page, self.hand
        await self.open(task)
        await hand.tab(task.agent)
        await self.page.wait_for_function(SHOWS, arg=task.says, polling=100)
        await self.keep("terminal")
        await hand.tab("Changes")
        diff = page.get_by_role("group", name="Changes of harbour/health.py")
        await expect(diff).to_contain_text('"bad"')
        for word, words in COMMENTS:
            await hand.comment(diff, word, words)
            await expect(diff.locator(".diff-thread").last).to_contain_text(words)
        await self.keep("comments")
        await hand.press(page.get_by_role("button", name=f"Send to {task.agent}"))
        await self.stage.release(task, turn=2)
        await expect(diff).to_contain_text("store.count()")
        asked = "\n".join(self.stage.world.model.bodies)
        assert all("harbour/health.py" in asked and words in asked for _, words in COMMENTS)
        await hand.choose(page.get_by_label("Compared with"), "Since a turn began")
        await expect(page.get_by_role("button", name="Back to before it")).to_be_visible()
        await expect(diff).to_contain_text("store.count()")
        await self.keep("turn")
        await hand.press(page.get_by_role("button", name="Back to before it"))
        await hand.press(page.get_by_role("button", name="Bring the files back"))
        await hand.choose(page.get_by_label("Compared with"), "Since its branch began")
        await expect(diff).to_contain_text('"bad"')
        await expect(diff).not_to_contain_text("store.count()")

    async def pull(self, task: Task) -> None:
        """The branch comes to the person's checkout, which waits for it."""
        page, hand = self.page, self.hand
        await self.open(task)
        await hand.bring_home()
        dialog = page.get_by_role("dialog", name=f"Pull from {self.names[task.branch]}")
        await expect(dialog.get_by_text("A checkout of this repository waits")).to_be_visible()
        await hand.press(dialog.get_by_role("button", name="Pull into my checkout"))
        pulls = dialog.get_by_role("list", name="Pulls")
        await expect(pulls).to_contain_text("in your checkout")
        await expect(pulls).to_contain_text("is at")
        if task.role == "done":
            await self.keep("pulled")
        await hand.press(dialog.get_by_role("button", name="Close"))


@pytest.mark.parametrize(
    ("tasks", "how"),
    [
        pytest.param(FEW, "desk", id="two-agents-desk"),
        pytest.param(FEW, "phone", id="two-agents-phone"),
        pytest.param(ALL, "desk", id="five-agents-desk"),
        pytest.param(ALL, "phone", id="five-agents-phone"),
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
    async with stage(tmp_path) as here, chromium(whole=True) as browser:
        for agent in {task.agent for task in tasks}:
            await asyncio.to_thread(provide_agent, here.world.server, agent)
        await known_repository(here)
        link = LINK.findall(here.world.server.log.read_text())[0]
        async with person(browser, link, color_scheme="light", **more) as page:
            hand: Hand = Touch(page) if how == "phone" else Keys(page)
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
            await watch_pointers(page)
            try:
                await morning(Tour(hand, here, pictures), tasks)
                assert await used_pointers(page) == hand.pointers
            except BaseException:
                await picture(page, tmp_path / "failed.webp")
                raise


async def morning(tour: Tour, tasks: tuple[Task, ...]) -> None:
    """The whole walk."""
    by = {task.role: task for task in tasks}
    done, asks, thinks, works = by["done"], by["asks"], by["thinks"], by["works"]
    model = tour.stage.world.model
    model.scripts = {task.sentence: task.script for task in tasks}
    model.scripts[COMMENTS[-1][1]] = revision(done)
    began = time.monotonic()
    for task in tasks:
        await tour.dispatch(task)
    assert time.monotonic() - began < DISPATCH_SECONDS
    for task in (done, asks):
        await tour.stage.release(task)
    await tour.home(tasks, {})
    await tour.keep("home")
    await tour.answer(asks)
    await tour.home(tasks, {"asks": "To review"})
    await tour.stage.release(thinks)
    await tour.home(tasks, {"asks": "To review", "thinks": "Needs you"})
    await tour.answer(thinks)
    await tour.home(tasks, {"asks": "To review", "thinks": "To review"})
    await tour.review(done)
    await tour.stage.release(works)
    await tour.home(tasks, dict.fromkeys(("asks", "thinks", "works"), "To review"))
    await tour.keep("home-done")
    for task in (done, asks, thinks):
        await tour.pull(task)
    for task, word in ((done, "health"), (asks, "not password"), (thinks, "sorted")):
        assert word in tour.stage.git("log", "-p", task.branch)
