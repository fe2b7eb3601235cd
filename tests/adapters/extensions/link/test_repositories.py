"""Repositories on each kind of foreign machine: the preparer's own suite, over a link."""

from collections.abc import Iterator

import pytest

from tests.adapters.extensions.link.suites import suite_of
from tests.peers.far.repositories import FarRuntimes
from tests.peers.far.sides import FarSide
from tests.services.library import test_workspaces
from tests.services.library.test_workspaces import TestWorkspaces, World, world

__all__ = ["TestWorkspaces", "world"]

pytestmark = pytest.mark.timeout(300)
globals().update(suite_of(test_workspaces))

IN_EVERY_RUN = frozenset({
    "TestWorkspaces",
    "test_commits_leave_as_a_small_checked_bundle",
    "test_file_is_read_where_its_tree_begins",
    "test_second_sandbox_sees_a_fetch_while_it_runs",
    "test_shared_repository_cannot_be_written_from_inside",
    "test_submodules_that_are_here_come_along_and_the_others_are_named",
    "test_tree_begun_and_not_finished_is_made_good",
    "test_tree_of_a_new_branch_starts_at_head_and_borrows_every_object",
    "test_trees_of_two_repositories_lie_side_by_side",
})  # fmt: skip
"""What a link carries in a way of its own. The others have `pytest.mark.slow` here (`conftest.py`):
what they prove is proven on this machine's own wall."""

FETCH = "git fetch -q atoll; git rev-parse atoll/main"


@pytest.fixture(scope="module")
def runtimes(side: FarSide) -> Iterator[FarRuntimes]:
    made = FarRuntimes(side)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def far(world: World, runtimes: FarRuntimes, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the suite's sandboxes provisioned there, and told what their repositories get."""
    monkeypatch.setattr(test_workspaces, "BoxedRuntime", runtimes.boxed)
    world.shelf.changed = runtimes.refresh
    yield
    runtimes.end_sandboxes()


async def test_shared_repository_cannot_be_written_from_inside(world: World, side: FarSide) -> None:
    """Behind a policy, a program can write into the copy on its machine, which nobody else has."""
    if side.walled:
        await test_workspaces.test_shared_repository_cannot_be_written_from_inside(world)
        return
    _, box = await world.laid_out(world.repo())
    box.run("echo wrong > /.atoll/repos/0.git/config; rm -rf /.atoll/repos/0.git/objects")
    _, later = await world.laid_out(world.repo(), number=2)
    assert later.run(FETCH) == world.tree.git("rev-parse", "main").strip()
