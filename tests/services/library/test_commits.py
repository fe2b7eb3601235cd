"""Commits of real repositories in real boxes, also of hostile ones."""

from typing import Any

import pytest

from atoll.domain.errors import Failed, NotFound
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.repository.commits import History
from atoll.services.library import commits as commits_module
from atoll.services.library.commits import Commits, ShownCommit
from atoll.services.scripts import Script
from tests.peers.boxed_runtime import BoxedRuntime
from tests.services.library.test_changes import Reading
from tests.services.library.test_workspaces import World, world

__all__ = ["world"]


class Repository:
    """The commits of one laid out sandbox."""

    def __init__(self, commits: Commits, box: BoxedRuntime) -> None:
        self.commits, self.box = commits, box

    async def history(self, **more: Any) -> History:
        return await self.commits.history(LOCAL_PERSON, "x", **more)

    async def show(self, name: str) -> ShownCommit:
        commit = self.box.run(f"git rev-parse '{name}'")
        return await self.commits.show(LOCAL_PERSON, "x", commit)


@pytest.fixture
async def repository(world: World) -> Repository:
    """A branch with a merge of another one, and a tag."""
    sandbox, box = await world.laid_out(world.repo())
    box.run("git checkout -qb side; echo side > side.txt; git add .; git commit -qm side")
    box.run("git checkout -q fix; echo two > two.txt; git add .; git commit -qm 'two\n\nand why'")
    box.run("git merge -q --no-edit side; git tag -a v2 -m two")
    return Repository(Commits(Reading(sandbox, box)), box)  # type: ignore[arg-type]


async def test_history_has_all_branches_with_children_before_their_parents(
    repository: Repository,
) -> None:
    found = await repository.history()
    assert (found.branch, found.more) == ("fix", False)
    merge = found.commits[0]
    assert (merge.subject, merge.commit, len(merge.parents)) == (
        "Merge branch 'side' into fix",
        found.head,
        2,
    )
    places = {one.commit: at for at, one in enumerate(found.commits)}
    edges = [(one.commit, parent) for one in found.commits for parent in one.parents]
    assert all(places[parent] > places[commit] for commit, parent in edges)
    refs = {(ref.kind.value, ref.name): ref.commit for ref in found.refs}
    assert refs["branch", "fix"] == refs["tag", "v2"] == found.head
    assert {("branch", "side"), ("remote", "origin/other"), ("tag", "v1")} <= refs.keys()
    assert not any("checkpoints" in ref.name for ref in found.refs)


async def test_pages_are_the_history_and_its_digest_tells_when_a_branch_moves(
    repository: Repository,
) -> None:
    whole = await repository.history()
    pages = [await repository.history(skip=at, limit=2) for at in range(0, len(whole.commits), 2)]
    assert tuple(one for page in pages for one in page.commits) == whole.commits
    assert [page.more for page in pages] == [True] * (len(pages) - 1) + [False]
    assert {page.digest for page in pages} == {whole.digest}
    repository.box.run("git branch -f side HEAD")
    assert (await repository.history()).digest != whole.digest
    assert (await repository.history(skip=99_999)).commits == ()


async def test_commit_is_shown_with_its_message_and_what_it_changes(
    repository: Repository,
) -> None:
    two = await repository.show("HEAD^")
    assert (two.message, two.commit.subject, two.commit.author) == (
        "two\n\nand why",
        "two",
        "Atoll agent",
    )
    assert [(file.path, file.hunks[0].lines) for file in two.files] == [("two.txt", ("+two",))]
    merge = await repository.show("HEAD")
    assert [file.path for file in merge.files] == ["side.txt"]
    first = await repository.show("v1~1")
    assert [file.path for file in first.files] == ["README.md"]


async def test_repository_without_commits_has_an_empty_history(world: World) -> None:
    sandbox, box = await world.laid_out()
    commits = Commits(Reading(sandbox, box))  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        await commits.history(LOCAL_PERSON, "x")
    box.run("git init -q --initial-branch=new .")
    found = await commits.history(LOCAL_PERSON, "x")
    assert (found.branch, found.head, found.commits, found.refs) == ("new", None, (), ())
    with pytest.raises(NotFound):
        await commits.show(LOCAL_PERSON, "x", "0" * 40)


async def test_hostile_repository_runs_nothing_and_its_texts_are_data(
    repository: Repository,
) -> None:
    box = repository.box
    for name in ("core.pager", "pager.log", "core.fsmonitor", "diff.external", "gpg.program"):
        box.run(f"git config {name} 'touch /workspace/ran'")
    box.run("git config log.showSignature true; git config format.pretty 'EVIL'")
    box.run(
        "git config diff.x.textconv 'touch /workspace/ran; cat'; echo '* diff=x' > .gitattributes"
    )
    subject = "<img src=x onerror=alert(1)> \x1b[31m\u202e"
    box.run(f"git -c user.name='<b>a' commit -qam '{subject}' --allow-empty")
    box.run("git update-ref refs/heads/-evil HEAD; git update-ref 'refs/heads/<b>' HEAD")
    # What the agent's own git ran is its own affair.
    box.run("rm -f ran")
    found = await repository.history()
    assert found.commits[0].subject == subject
    assert {"<b>", "-evil"} <= {ref.name for ref in found.refs}
    shown = await repository.commits.show(LOCAL_PERSON, "x", str(found.head))
    assert shown.message.startswith("<img") and shown.commit.author == "ba"
    assert not (box.workspace / "ran").exists()


async def test_sandbox_whose_git_lies_is_an_error(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits_module, "HISTORY", Script("list", "printf lies"))
    monkeypatch.setattr(commits_module, "COMMIT", Script("show", "printf lies"))
    with pytest.raises(Failed):
        await repository.history()
    with pytest.raises(Failed):
        await repository.show("HEAD")
