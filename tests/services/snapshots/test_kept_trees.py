"""Where a tree begins, and whose prebuilds it may begin as."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from atoll.domain.ids import OrgId
from atoll.domain.sandboxes.sandbox import SandboxRepo
from atoll.ports.repositories import Ref, RepositoryShelf, StoredRepository
from atoll.services.library.workspaces import Workspaces
from atoll.services.snapshots.kept_trees import KeptTrees
from atoll.testing import samples
from atoll.testing.fakes.clock import VirtualClock
from atoll.testing.samples import NOW

REMOTE = SandboxRepo("https://example.org/o/r", "mine", None, "/workspace")
LOCAL = replace(REMOTE, repo_url="", key="a" * 16)


@dataclass
class ScriptedShelf:
    """A shelf whose repository has `main`, which is its own branch, and `theirs`."""

    refs_there: tuple[Ref, ...] = (Ref("refs/heads/main", "1"), Ref("refs/heads/theirs", "2"))

    async def find(self, key: str, org_id: OrgId) -> StoredRepository:
        return StoredRepository(key, "r", "", Path("/r.git"), 0, NOW)

    async def refs(self, stored: StoredRepository) -> tuple[Ref, ...]:
        return self.refs_there

    async def file_ids(
        self, stored: StoredRepository, commit: str, paths: Sequence[str]
    ) -> dict[str, str]:
        return dict.fromkeys(paths, commit)


@pytest.mark.parametrize(
    ("repo", "more", "commit", "branch", "trusted"),
    [
        (REMOTE, {}, "1", "main", ()),
        (REMOTE, {"branch": "main"}, "1", "main", ()),
        (REMOTE, {"from_branch": "main"}, "1", "main", ()),
        (REMOTE, {"from_branch": "theirs"}, "2", "theirs", ("main",)),
        (REMOTE, {"branch": "theirs"}, "2", "theirs", ("main",)),
        (LOCAL, {}, "1", "main", ()),
        (LOCAL, {"from_branch": "theirs"}, "2", "theirs", ()),
    ],
)
async def test_remotes_own_branch_is_trusted_by_the_others(
    repo: SandboxRepo, more: dict[str, Any], commit: str, branch: str, trusted: tuple[str, ...]
) -> None:
    shelf = cast(RepositoryShelf, ScriptedShelf())
    trees = KeptTrees(Workspaces(shelf, VirtualClock()), shelf)
    sandbox = replace(samples.sandbox("box"), repos=(replace(repo, **more),))
    start = await trees.beginning(sandbox, ("go.sum",))
    assert (start.files, start.branch, start.trusted) == ({"go.sum": commit}, branch, trusted)


async def test_repository_without_a_commit_has_no_files() -> None:
    shelf = cast(RepositoryShelf, ScriptedShelf(()))
    trees = KeptTrees(Workspaces(shelf, VirtualClock()), shelf)
    start = await trees.beginning(replace(samples.sandbox("box"), repos=(REMOTE,)), ("go.sum",))
    assert (start.files, start.branch, start.trusted) == ({}, "", ())
