"""Pull orders: asked for over the API, taken by a checkout that waits, over a real git."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from atoll.client.transport import Call, api_path, get, post
from atoll.domain.errors import Conflict, Invalid, LimitReached, NotFound
from atoll.surfaces.cli.transfer.ordered_pulls import watch_pulls
from tests.peers.boxed_runtime import BoxedRuntime
from tests.peers.git_tree import Tree, new_tree
from tests.surfaces.repository_world import RepositoryWorld, repository_world
from tests.surfaces.test_repositories import asked, sent

WORK = "echo mine > mine; git add mine; git commit -qm mine; echo new > untracked"


class Ordered:
    """A sandbox of a checkout, with a commit and an untracked file."""

    def __init__(self, atoll: RepositoryWorld, tree: Tree, made: dict[str, object]) -> None:
        self.atoll, self.tree, self.made = atoll, tree, made

    @property
    def box(self) -> BoxedRuntime:
        return self.atoll.box(str(self.made["sandbox_id"]))

    async def call(self, call: Any) -> Any:
        return (await asyncio.to_thread(self.atoll.api.transport.call, call)).value

    async def order(self, **body: object) -> Any:
        return await self.call(post("sandboxes", str(self.made["name"]), "pulls", value=body))

    async def list(self) -> Any:
        return await self.call(get("sandboxes", str(self.made["name"]), "pulls"))

    async def watch(self) -> None:
        await asyncio.to_thread(watch_pulls, self.atoll.api, self.tree.path, once=True)


@pytest.fixture
async def ordered(tmp_path: Path) -> AsyncIterator[Ordered]:
    async with repository_world() as atoll:
        tree = new_tree(tmp_path / "work")
        repos = [{"key": await sent(atoll, tree), "branch": "fix"}]
        made = Ordered(atoll, tree, await asked(atoll, repos=repos))
        made.box.run(WORK)
        yield made


async def test_order_is_taken_once_pulled_and_told(ordered: Ordered) -> None:
    asked_for = await ordered.order(branch="fix", into="review", uncommitted=True)
    assert (asked_for["state"], (await ordered.list())["watched"]) == ("waiting", False)
    await ordered.watch()
    told = await ordered.list()
    (one,) = told["pulls"]
    assert (one["state"], one["written"], told["watched"]) == ("done", "review", True)
    assert (one["commit"], one["commits"]) == (ordered.tree.git("rev-parse", "review"), 2)
    assert ordered.tree.git("show", "review:untracked") == "new"
    with pytest.raises(Conflict, match="not taken"):
        await ordered.call(post("pulls", one["order_id"], "result", value={"done": True}))
    taking = post("pulls", "take", value={"key": "0" * 24})
    assert await ordered.call(taking) == {}


async def test_order_of_a_held_push_brings_it(ordered: Ordered) -> None:
    ordered.box.run("git push -q origin fix:shown")
    await ordered.order(branch="shown", pushed=True)
    await ordered.watch()
    assert (await ordered.list())["pulls"][0]["written"] == "shown"
    assert ordered.tree.git("log", "-1", "--format=%s", "shown") == "mine"
    found = await ordered.call(get("sandboxes", str(ordered.made["name"]), "pushes"))
    assert found["pushes"] == []


async def test_ordered_push_that_was_pushed_again_is_not_brought(ordered: Ordered) -> None:
    name = str(ordered.made["name"])
    ordered.box.run("git push -q origin fix:shown")
    (seen,) = (await ordered.call(get("sandboxes", name, "pushes")))["pushes"]
    await ordered.order(branch="shown", pushed=True, expects=seen["commit"])
    ordered.box.run(
        "echo evil > evil; git add evil; git commit -qm evil; git push -q origin fix:shown"
    )
    await ordered.watch()
    (one,) = (await ordered.list())["pulls"]
    assert one["state"] == "failed" and "was pushed again" in one["said"]
    assert ordered.tree.git("branch", "--list", "shown") == ""
    (newer,) = (await ordered.call(get("sandboxes", name, "pushes")))["pushes"]
    await ordered.order(branch="shown", pushed=True, expects=newer["commit"])
    await ordered.watch()
    assert ordered.tree.git("rev-parse", "shown") == newer["commit"] != seen["commit"]
    with pytest.raises(Invalid, match="expected"):
        await ordered.order(branch="fix", expects="a" * 40)


async def test_pull_that_fails_says_why(ordered: Ordered) -> None:
    await ordered.order(into="main")
    await ordered.watch()
    (one,) = (await ordered.list())["pulls"]
    assert one["state"] == "failed" and "checked out here" in one["said"]


async def test_order_waits_for_its_own_checkout(ordered: Ordered) -> None:
    await ordered.order()
    for place in ({"key": "0" * 24}, {"key": "0" * 24, "repo_url": "https://h.invalid/o/r"}):
        assert await ordered.call(post("pulls", "take", value=place)) == {}
    assert (await ordered.list())["pulls"][0]["state"] == "waiting"


async def test_order_that_cannot_be_is_refused(ordered: Ordered) -> None:
    refused: tuple[dict[str, object], ...] = (
        {"repo": 3},
        {"into": "a..b"},
        {"branch": "-x"},
        {"pushed": True},
    )
    for body in refused:
        with pytest.raises(Invalid):
            await ordered.order(**body)
    with pytest.raises(NotFound):
        await ordered.call(post("pulls", "pull_0", "result", value={"done": True}))
    for number in range(16):
        await ordered.order(into=f"b{number}")
    with pytest.raises(LimitReached, match="16 pulls wait"):
        await ordered.order(into="more")


async def test_same_pull_that_waits_is_ordered_once(ordered: Ordered) -> None:
    assert (await ordered.order())["order_id"] == (await ordered.order())["order_id"]


async def test_order_that_waits_is_cancelled(ordered: Ordered) -> None:
    order_id = (await ordered.order())["order_id"]
    await ordered.call(Call("DELETE", api_path("pulls", order_id)))
    assert [one["state"] for one in (await ordered.list())["pulls"]] == ["cancelled"]
    await ordered.watch()
    assert "fix" not in ordered.tree.git("branch")
    with pytest.raises(Conflict, match="cancelled"):
        await ordered.call(Call("DELETE", api_path("pulls", order_id)))
    with pytest.raises(NotFound):
        await ordered.call(Call("DELETE", api_path("pulls", "pull_0")))
