"""Merges over the API and the client, in a real box; how the result comes home."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atoll.client.made.sandboxes.works import MergeResult
from atoll.surfaces.cli.transfer.pulled_branch import BranchRequest
from tests.peers.git_tree import new_tree
from tests.surfaces.repository_world import RepositoryWorld, repository_world
from tests.surfaces.test_repositories import pulled, sent
from tests.surfaces.test_syncs import Synced


@pytest.fixture
async def atoll() -> AsyncIterator[RepositoryWorld]:
    async with repository_world() as world:
        yield world


@pytest.fixture
async def synced(atoll: RepositoryWorld, tmp_path: Path) -> Synced:
    tree = new_tree(tmp_path / "work")
    tree.commit("shared", "a\n")
    return Synced(atoll, tree, await sent(atoll, tree))


async def merge(synced: Synced, **body: object) -> MergeResult:
    name = str(synced.made["name"])
    return await asyncio.to_thread(synced.atoll.api.sandboxes.merge, name, body)  # type: ignore[arg-type]


async def test_merge_over_the_api_becomes_a_branch_inside(synced: Synced) -> None:
    box = await synced.make()
    merged = await merge(synced, repo=0, into="main", agent=False, now=True)
    assert (merged.outcome, merged.into, merged.way, merged.commits) == (
        "merged", "main", "squash", 1
    )  # fmt: skip
    assert box.run("git rev-parse main") == merged.commit
    # It comes home as any branch does.
    synced.tree.git("checkout", "-qb", "elsewhere")
    got = await pulled(synced.atoll, synced.made, synced.tree, wanted=BranchRequest(branch="main"))
    assert (got.branch, got.commit) == ("main", merged.commit)


async def test_branch_that_a_sync_rewrote_is_pulled_again_without_force(synced: Synced) -> None:
    await synced.make()
    await pulled(synced.atoll, synced.made, synced.tree)
    synced.tree.commit("theirs", "theirs\n")
    await synced.send()
    assert (await synced.sync()).outcome == "updated"
    again = await pulled(synced.atoll, synced.made, synced.tree)
    assert again.branch == "fix" and again.kept is not None
