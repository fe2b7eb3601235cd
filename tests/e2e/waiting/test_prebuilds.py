"""What a set-up left is the beginning of the next sandbox: whose, of which files, and when not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.terminals.test_project_setup import approve
from tests.e2e.waiting.test_saved_work import ok
from tests.peers.api import Api, until
from tests.peers.git_tree import Tree, new_tree

SETUP = "echo ran >> log; mkdir -p node_modules/x && cp package-lock.json node_modules/x/lock"
FILE = f"setup: ['{SETUP}']\nenv: {{MODE: dev}}\n"
KEPT = "The set-up is kept"


@pytest.fixture(autouse=True)
def alone(api: Api) -> Iterator[None]:
    """Each test leaves no sandbox."""
    yield
    for sandbox in api.call("GET", "/v1/sandboxes")["sandboxes"]:
        api.act(sandbox["sandbox_id"], "destroy")


@pytest.fixture
def tree(server: TestServer, tmp_path: Path, request: pytest.FixtureRequest) -> Tree:
    """A checkout whose set-up is approved. Each test has a repository of its own."""
    made = new_tree(tmp_path / "work", text=f"{request.node.name}\n")
    made.commit(".gitignore", "node_modules\nlog\n")
    made.commit("package-lock.json", "one\n")
    made.commit(".atoll.yaml", FILE)
    approve(server, made.path)
    return made


def new(api: Api, tree: Tree, name: str, *more: str) -> dict[str, Any]:
    """Make a sandbox of the checkout, and wait until its set-up is over and settled."""
    ok(api.server, "new", str(tree.path), f"work-{name}", "--detach", "--name", name, *more)
    return settled(api, name)


def settled(api: Api, name: str) -> dict[str, Any]:
    """Wait until a set-up is over, and until it is known whether it is kept."""

    def over(sandbox: dict[str, Any]) -> bool:
        project = sandbox["project"]
        if project["state"] not in ("done", "failed"):
            return False
        return (
            project["prebuilt_at"] is not None
            or project["state"] == "failed"
            or "set-up is " in lines(api, name)
        )

    return until(lambda: api.sandbox(name), over)


def lines(api: Api, name: str) -> str:
    return json.dumps(api.call("GET", f"/v1/sandboxes/{name}/logs"))


def runs(api: Api, name: str) -> int:
    """How often the set-up ran over these files."""
    return int(api.run(name, "wc -l < log"))


def kept(api: Api) -> set[str]:
    return {path.name for path in (api.server.home / "boxes" / "snapshots").iterdir()}


def test_second_sandbox_begins_with_what_the_setup_left(api: Api, tree: Tree) -> None:
    first = new(api, tree, "first")
    assert first["project"]["prebuilt_at"] is None
    assert KEPT in lines(api, "first"), lines(api, "first")
    api.run(
        "first", "echo mine > mine; echo state > ~/.codex/mine; git commit -q --allow-empty -m x"
    )
    tree.commit("README.md", "newer\n")
    tree.git("rm", "-q", ".gitignore")
    tree.git("commit", "-qm", "without")
    second = new(api, tree, "second")
    assert second["project"]["prebuilt_at"] is not None, lines(api, "second")
    assert second["project"]["state"] == "done" and runs(api, "second") == 1
    assert api.run("second", "cat node_modules/x/lock README.md; ls ~/.codex") == "one\nnewer\n"
    assert api.run("second", "git branch --show-current; git log -1 --format=%s; git branch") == (
        "work-second\nwithout\n* work-second\n"
    )
    assert api.run("second", "git status --porcelain; echo $MODE") == (
        "?? log\n?? node_modules/\ndev\n"
    )
    assert api.run("second", "hostname") == "second\n"
    info = ok(api.server, "info", "second").stdout
    assert "from a snapshot of" in info


def test_changed_lock_file_runs_the_setup_and_is_kept_beside_the_other(
    api: Api, tree: Tree
) -> None:
    before = kept(api)
    new(api, tree, "first")
    tree.commit("package-lock.json", "two\n")
    second = new(api, tree, "second")
    assert second["project"]["prebuilt_at"] is None and KEPT in lines(api, "second")
    assert api.run("second", "cat node_modules/x/lock") == "two\n"
    assert len(kept(api) - before) == 2
    tree.commit("package-lock.json", "one\n")
    third = new(api, tree, "third")
    assert third["project"]["prebuilt_at"] is not None
    assert api.run("third", "cat node_modules/x/lock") == "one\n"


def test_other_approval_runs_its_own_setup(api: Api, tree: Tree) -> None:
    new(api, tree, "first")
    tree.commit(".atoll.yaml", FILE.replace("echo ran", "echo changed"))
    approve(api.server, tree.path)
    second = new(api, tree, "second")
    assert second["project"]["prebuilt_at"] is None
    assert api.run("second", "cat log") == "changed\n"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo changed >> README.md", "changed files of the repository"),
        ("git commit -q --allow-empty -m mine", "made commits"),
        ("git checkout -q -b other", "changed the branch"),
        ("touch ~/.tool", "which is beside the workspace"),
        ("mkdir -p ~/.codex && touch ~/.codex/skill", "which is beside the workspace"),
    ],
)
def test_setup_that_leaves_more_than_files_of_its_own_is_not_kept(
    api: Api, tree: Tree, command: str, why: str
) -> None:
    before = kept(api)
    tree.commit(".atoll.yaml", f"setup: ['{SETUP}', '{command}']\n")
    approve(api.server, tree.path)
    new(api, tree, "first")
    assert why in lines(api, "first")
    assert new(api, tree, "second")["project"]["prebuilt_at"] is None
    assert runs(api, "second") == 1 and kept(api) == before


def test_caches_of_package_managers_are_left_behind(api: Api, tree: Tree) -> None:
    cache = "mkdir -p ~/.npm/_cacache ~/.cache/pip && touch ~/.npm/_cacache/x ~/.cache/pip/x"
    tree.commit(".atoll.yaml", f"setup: ['{SETUP}', '{cache}']\n")
    approve(api.server, tree.path)
    new(api, tree, "first")
    assert new(api, tree, "second")["project"]["prebuilt_at"] is not None
    assert api.run("second", "ls -d ~/.npm/_cacache ~/.cache/pip 2> /dev/null || true") == ""


def test_branch_of_somebody_else_leaves_nothing_to_other_branches(api: Api, tree: Tree) -> None:
    tree.commit("part.sh", "echo plain > node_modules/x/part\n")
    tree.commit(".atoll.yaml", f"setup: ['{SETUP}', 'for each in part*; do sh \"$each\"; done']\n")
    approve(api.server, tree.path)
    tree.git("checkout", "-qb", "theirs")
    tree.commit("part.sh", "echo planted > node_modules/x/part\n")
    tree.git("checkout", "-q", "main")
    for name, branch, part in (("one", "theirs", "planted"), ("two", "main", "plain")):
        first = new(api, tree, name, branch)
        assert first["project"]["prebuilt_at"] is None and KEPT in lines(api, name)
        second = new(api, tree, f"{name}-again", branch)
        assert second["project"]["prebuilt_at"] is not None
        assert api.run(f"{name}-again", "cat node_modules/x/part") == f"{part}\n"


def test_what_a_person_brings_is_never_kept_and_is_no_part_of_what_was(
    api: Api, tree: Tree
) -> None:
    before = kept(api)
    secret = {"name": "TOKEN", "env": "A_TOKEN", "value": "s3cret-value-of-a-person"}
    inside = []
    for protected in (True, False):
        body = {**secret, "broker_protected": protected}
        held = api.call("POST", "/v1/secrets", json=body)["secret_id"]
        inside.append(new(api, tree, f"secret-{protected}".lower()))
        api.call("DELETE", f"/v1/secrets/{held}")
    assert [each["exposed_secrets"] for each in inside] == [[], ["TOKEN"]]
    own = new(api, tree, "own", "--env", "MINE=value")
    shared = new(api, tree, "shared", "--scope", "shared")
    assert kept(api) == before
    for sandbox in (*inside, own, shared):
        assert sandbox["project"]["prebuilt_at"] is None
    new(api, tree, "plain")
    assert len(kept(api)) == len(before) + 1
    assert new(api, tree, "again", "--env", "MINE=value")["project"]["prebuilt_at"] is None
    assert new(api, tree, "last")["project"]["prebuilt_at"] is not None


def test_broken_snapshot_costs_the_setup_and_nothing_else(api: Api, tree: Tree) -> None:
    before = kept(api)
    new(api, tree, "first")
    (broken,) = kept(api) - before
    folder = api.server.home / "boxes" / "snapshots" / broken
    for file in folder.iterdir():
        file.unlink()
    second = new(api, tree, "second")
    assert second["state"] in ("ready", "active") and second["project"]["prebuilt_at"] is None
    assert runs(api, "second") == 1 and KEPT in lines(api, "second")
    assert new(api, tree, "third")["project"]["prebuilt_at"] is not None


def test_prebuild_is_hidden_and_goes_with_its_approval(api: Api, tree: Tree) -> None:
    before = kept(api)
    first = new(api, tree, "first")
    (hidden,) = kept(api) - before
    assert api.call("GET", "/v1/snapshots")["snapshots"] == []
    for method in ("GET", "DELETE"):
        assert api.client.request(method, f"/v1/snapshots/{hidden}").status_code == 404
    body = {"seed": {"snapshot": hidden}}
    assert api.client.post("/v1/sandboxes", json=body).status_code == 404
    second = new(api, tree, "second")
    api.act("second", "recreate")
    again = until(lambda: api.sandbox("second"), lambda box: box["project"]["state"] == "done")
    assert again["project"]["prebuilt_at"] is None and again["generation"] == 2
    assert runs(api, "second") == 1 and "mine" not in api.run("second", "ls")
    repository = first["project"]["repository"]
    assert second["project"]["repository"] == repository
    api.client.request("DELETE", "/v1/projects/decision", params={"repository": repository})
    until(lambda: kept(api), lambda there: hidden not in there)
