"""A repository's own file, from a checkout to a decision, over the real server and real git."""

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import click
import httpx
import pytest

from atoll.client.made.library.projects import Project
from atoll.client.made.sandboxes.requests import RepoBody
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.projects import Projects
from atoll.domain.errors import Conflict, Forbidden, Invalid, NotFound
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.create.project import ProjectUse, apply_project, copy_files
from atoll.surfaces.cli.transfer.origin import origins
from atoll.surfaces.cli.transfer.upload import upload
from tests.peers.git_tree import Tree, new_tree
from tests.surfaces.cli.scripted import sandbox
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


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What a person at a terminal answers to the questions, in order."""
    given: list[bool] = []
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(click, "confirm", lambda *_words, **_more: given.pop(0))
    return given


async def asked(
    atoll: RepositoryWorld, tree: Tree, *, ask: bool = True
) -> tuple[SandboxPlan, ProjectUse | None]:
    def act() -> tuple[SandboxPlan, ProjectUse | None]:
        plan = SandboxPlan(repo=str(tree.path))
        return apply_project(atoll.api, plan, origins(atoll.api, plan), ask=ask, sends=True)

    return await asyncio.to_thread(act)


async def test_new_asks_once_and_uses_what_was_approved(
    atoll: RepositoryWorld, tmp_path: Path, answers: list[bool], capsys: pytest.CaptureFixture[str]
) -> None:
    tree = new_tree(tmp_path / "work")
    tree.commit(".atoll.yaml", "copy: [dev.json, .env, out, gone]\nagent: codex\nprofile: absent\n")
    (tree.path / "dev.json").write_text("{}")
    (tree.path / ".env").write_text("API_TOKEN=hunter2-hunter2\n")
    (tree.path / "out").symlink_to("/etc/passwd")
    plan, use = await asked(atoll, tree, ask=False)
    assert (plan.agent, plan.profile, use) == ("codex", None, None)
    answers += [False]
    assert (await asked(atoll, tree))[1] is None
    # A decision is remembered: declined, then approved by hand.
    repository = await sent(atoll, tree)
    found = await read(atoll, repository)
    assert found.decision == "declined" and (await asked(atoll, tree))[1] is None
    await decide(atoll, repository, found.digest)
    answers += [True]
    _, use = await asked(atoll, tree)
    assert use is not None and use.digest == found.digest and answers == []
    assert [one.path for one in use.copies] == ["dev.json"]
    (secret,) = (await asyncio.to_thread(atoll.api.secrets.list)).secrets
    assert (secret.name, secret.env, secret.broker_protected) == ("api-token", "API_TOKEN", True)
    said = capsys.readouterr().err
    assert "out is not copied" in said and "hunter2" not in said


async def test_new_asks_again_after_a_change_and_shows_no_control_character(
    atoll: RepositoryWorld, tmp_path: Path, answers: list[bool], capsys: pytest.CaptureFixture[str]
) -> None:
    tree = new_tree(tmp_path / "work")
    tree.commit(".atoll.yaml", "setup: [make]\n")
    answers += [True]
    assert (await asked(atoll, tree))[1] is not None
    tree.commit(".atoll.yaml", "setup: [make, make install]\n")
    capsys.readouterr()
    assert (await asked(atoll, tree, ask=False))[1] is None
    assert "+ run in the sandbox: make install" in capsys.readouterr().err
    tree.commit(".atoll.yaml", 'setup: ["\\e[2J"]\n')
    assert (await asked(atoll, tree))[1] is None
    tree.commit(".atoll.yaml", '"\\e]0;x\\a": 1\n')
    assert (await asked(atoll, tree))[1] is None
    assert "\x1b" not in capsys.readouterr().err


async def test_schema_is_served(atoll: RepositoryWorld) -> None:
    headers = {"Authorization": f"Bearer {atoll.token}"}
    async with httpx.AsyncClient(base_url=atoll.url, headers=headers) as client:
        answer = await client.get("/v1/projects/schema.json")
    assert answer.headers["content-type"] == "application/schema+json"
    assert answer.json()["additionalProperties"] is False


async def test_files_are_sent_to_a_sandbox_made_on_the_page_after_a_yes(
    atoll: RepositoryWorld,
    tmp_path: Path,
    answers: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = new_tree(tmp_path / "work")
    tree.commit(".atoll.yaml", "copy: [conf/dev.json, out]\n")
    tree.commit("conf/dev.json", "{}")
    (tree.path / "out").symlink_to("/etc/passwd")
    key = (await read(atoll, await sent(atoll, tree))).repository
    written: list[str] = []
    monkeypatch.setattr(atoll.api.files, "make_directory", lambda _box, path: None)
    monkeypatch.setattr(
        atoll.api.files, "write", lambda _box, path, _data, mode: written.append(path)
    )

    def act(copies: list[str], repository: str) -> int:
        project = {"repository": repository, "copies": copies, "state": "none"}
        box = sandbox("box", project=project, repos=[{"path": "/workspace"}])
        origin = origins(atoll.api, SandboxPlan(repo=str(tree.path)))[0]
        return copy_files(atoll.api, Sandbox(box), origin)

    names = ["conf/dev.json", "out"]
    answers += [False, True]
    assert await asyncio.to_thread(act, names, key) == 0 and written == []
    assert await asyncio.to_thread(act, names, key) == 1
    assert written == ["/workspace/conf/dev.json"]
    assert await asyncio.to_thread(act, ["out"], key) == 0
    for copies, repository in (([], key), (names, "other")):
        with pytest.raises(Conflict):
            await asyncio.to_thread(act, copies, repository)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(Forbidden):
        await asyncio.to_thread(act, names, key)
