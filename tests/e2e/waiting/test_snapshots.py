"""Snapshots, restores and forks on the real wall: what comes back, and whose it is."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.testing.server import TestServer
from tests.e2e.servers import emptied
from tests.e2e.waiting.test_saved_work import mine, ok
from tests.peers.api import WAIT_SECONDS, Api, until

__all__ = ["mine"]

KEEPING = """\
id: profile.keeping
version: "1.0.0"
extension: ext.namespaces
checkpoint: {on: [stop], keep: 2}
"""
PROFILES = {"keeping": KEEPING}
UNPROMISED = [
    ({"mode": "full"}, 409, "no backend of this installation can"),
    ({"memory": "required"}, 409, "what runs in a sandbox"),
    ({"name": "No Name"}, 422, "cannot name"),
]


@pytest.fixture(autouse=True)
def alone(server: TestServer) -> Iterator[None]:
    """Each test leaves no sandbox and no snapshot."""
    yield
    emptied(server)


def take(api: Api, sandbox: str, **body: Any) -> dict[str, Any]:
    taken: dict[str, Any] = api.call("POST", f"/v1/sandboxes/{sandbox}/snapshots", json=body)
    assert taken["state"] == "ready"
    return taken


def ready(api: Api, sandbox: str) -> dict[str, Any]:
    path = f"/v1/sandboxes/{sandbox}?wait=ready&timeout={WAIT_SECONDS}"
    told: dict[str, Any] = api.call("GET", path)
    assert told["state"] == "ready", told
    return told


def git(folder: Path, *words: str) -> str:
    argv = ["git", "-c", "safe.directory=*", "-C", str(folder), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def refused(api: Api, method: str, path: str, **more: Any) -> httpx.Response:
    answer = api.client.request(method, path, **more)
    assert answer.status_code >= 400, answer.text
    return answer


def kept_of(api: Api) -> set[str]:
    """The names of what is kept on the machine. Those of forks go by themselves."""
    return {path.name for path in (api.server.home / "boxes" / "snapshots").iterdir()}


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


@dataclass(frozen=True)
class Names:
    """What names a sandbox inside."""

    machine_id: str
    generation: str


def names_of(api: Api, sandbox: str) -> Names:
    """The names as programs inside find them, and what they may not do with them."""
    for file in ("/etc/machine-id", "/run/atoll/generation"):
        said = api.run(sandbox, f"(echo forged > {file}) 2>&1 || true")
        assert "Read-only file system" in said, said
    told = Names(*api.run(sandbox, "cat /etc/machine-id /run/atoll/generation").split())
    assert all(len(each) == 32 for each in (told.machine_id, told.generation))
    return told


def kinds(api: Api, sandbox: str) -> list[str]:
    return [event["event_type"] for event in api.events(sandbox)]


def test_sandbox_comes_back_as_it_was(api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    api.run(sandbox, "echo one > file; mkdir -p ~/.codex && echo state > ~/.codex/mine")
    taken = take(api, sandbox, name="first", ttl="2h")
    assert seconds_between(taken["created_at"], taken["expires_at"]) == 7200
    assert taken["disk"] == "quiesced"
    assert 0 < taken["size"] < 10 << 20
    api.run(sandbox, "echo two > file; rm ~/.codex/mine; echo more > other")
    before = api.box(sandbox).host_uid
    told = api.call(
        "POST",
        f"/v1/sandboxes/{sandbox}/restore?wait=true&timeout={WAIT_SECONDS}",
        json={"snapshot": "first"},
    )
    assert (told["state"], told["generation"]) == ("ready", 2)
    assert api.run(sandbox, "cat file ~/.codex/mine; ls") == "one\nstate\nfile\n"
    assert api.box(sandbox).host_uid != before
    # What is made of it is its own: the snapshot is what it was, again and again.
    api.run(sandbox, "echo three > file")
    api.act(sandbox, "stop")
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat file") == "three\n"
    api.act(sandbox, "recreate")
    assert api.run(sandbox, "cat file") == "one\n"
    api.call("DELETE", "/v1/snapshots/first")
    assert api.run(sandbox, "cat file") == "one\n"
    api.act(sandbox, "recreate")
    assert api.run(sandbox, "ls") == ""
    assert [kind for kind in kinds(api, sandbox) if kind.startswith("snapshot")] == [
        "snapshot.taken",
        "snapshot.removed",
    ]


def test_forks_have_the_files_and_are_somebody_else(api: Api) -> None:
    sandbox = api.create(env={"MINE": "yes"}, name="trunk")["sandbox_id"]
    api.run(sandbox, "echo one > file; git init -q . && git config user.email a@b && git add . ")
    body = {"count": 3, "name": "twig"}
    made = api.call("POST", f"/v1/sandboxes/{sandbox}/fork", json=body)["sandboxes"]
    assert [each["name"] for each in made] == ["twig-1", "twig-2", "twig-3"]
    api.run(sandbox, "echo two > file")
    copies = [ready(api, each["sandbox_id"])["sandbox_id"] for each in made]
    assert [api.run(copy, "cat file; echo $MINE; hostname") for copy in copies] == [
        f"one\nyes\ntwig-{number}\n" for number in (1, 2, 3)
    ]
    for number, copy in enumerate(copies):
        api.run(copy, f"echo {number} > file && git add file && git status --porcelain")
    assert [api.run(copy, "cat file") for copy in (*copies, sandbox)] == [
        *("0\n", "1\n", "2\n"),
        "two\n",
    ]
    assert len({api.box(each).host_uid for each in (sandbox, *copies)}) == 4
    assert api.call("GET", "/v1/snapshots")["snapshots"] == []


def test_copies_are_told_apart_inside_and_told_that_they_began_anew(api: Api) -> None:
    sandbox = api.create(name="trunk")["sandbox_id"]
    first = names_of(api, sandbox)
    take(api, sandbox, name="kept")
    made = api.call("POST", f"/v1/sandboxes/{sandbox}/fork", json={"count": 2})["sandboxes"]
    copies = [names_of(api, ready(api, each["sandbox_id"])["sandbox_id"]) for each in made]
    begun = names_of(api, api.create(seed={"snapshot": "kept"})["sandbox_id"])
    assert len({each.machine_id for each in (first, *copies, begun)}) == 4
    assert names_of(api, sandbox) == first
    assert api.act(sandbox, "sleep")["asleep"]
    woken = names_of(api, sandbox)
    path = f"/v1/sandboxes/{sandbox}/restore?wait=true&timeout={WAIT_SECONDS}"
    api.call("POST", path, json={"snapshot": "kept"})
    restored = names_of(api, sandbox)
    assert {each.machine_id for each in (first, woken, restored)} == {first.machine_id}
    every = (first, *copies, begun, woken, restored)
    assert len({each.generation for each in every}) == len(every)


def test_forks_go_on_in_branches_of_their_own(server: TestServer, api: Api, mine: Path) -> None:
    ok(server, "new", str(mine), "fix", "--detach", "--name", "trunk")
    trunk = api.sandbox("trunk")["sandbox_id"]
    api.run(trunk, "echo more > committed; git add . && git commit -qm work; echo left > left")
    body = {"count": 2, "branch": "try", "name": "twig", "ttl": "3h"}
    made = api.call("POST", f"/v1/sandboxes/{trunk}/fork", json=body)["sandboxes"]
    for number, each in enumerate(made, 1):
        copy = ready(api, each["sandbox_id"])
        assert [repo["branch"] for repo in copy["repos"]] == [f"try-{number}"]
        assert seconds_between(copy["created_at"], copy["expires_at"]) == 3 * 3600
        said = api.run(copy["sandbox_id"], "git branch --show-current; git status --porcelain")
        assert said == f"try-{number}\n?? left\n"
        assert api.run(copy["sandbox_id"], "git log -1 --format=%s fix") == "work\n"
        api.run(copy["sandbox_id"], "git add . && git commit -qm mine")
    ok(server, "pull", "twig-1", "-C", str(mine))
    assert git(mine, "log", "-1", "--format=%s", "try-1") == "mine\n"
    assert api.run(trunk, "git branch --show-current; git log -1 --format=%s") == "fix\nwork\n"


def test_pushes_that_were_held_are_no_matter_of_a_copy(
    server: TestServer, api: Api, mine: Path
) -> None:
    ok(server, "new", str(mine), "fix", "--detach", "--name", "trunk")
    trunk = api.sandbox("trunk")["sandbox_id"]
    api.run(trunk, "echo more > more; git add . && git commit -qm work && git push -q origin fix")
    assert len(api.call("GET", f"/v1/sandboxes/{trunk}/pushes")["pushes"]) == 1
    body = {"name": "twig"}
    made = api.call("POST", f"/v1/sandboxes/{trunk}/fork", json=body)["sandboxes"]
    copy = ready(api, made[0]["sandbox_id"])["sandbox_id"]
    assert api.call("GET", f"/v1/sandboxes/{copy}/pushes")["pushes"] == []
    assert api.run(copy, "git log -1 --format=%s held/fix") == "work\n"
    assert "atoll pull twig --pushed" in api.run(copy, "git push origin HEAD 2>&1")
    assert len(api.call("GET", f"/v1/sandboxes/{trunk}/pushes")["pushes"]) == 1


def test_new_sandbox_begins_as_a_snapshot_whose_sandbox_is_gone(api: Api) -> None:
    sandbox = api.create(env={"MINE": "yes"})["sandbox_id"]
    api.run(sandbox, "echo one > file")
    api.act(sandbox, "stop")
    taken = take(api, sandbox, name="kept")
    assert taken["still_ms"] == 0
    api.act(sandbox, "destroy")
    listed = api.call("GET", f"/v1/snapshots?sandbox={sandbox}")["snapshots"]
    assert [each["snapshot_id"] for each in listed] == [taken["snapshot_id"]]
    seed = {"snapshot": "kept", "conversation": "none", "branch": "other"}
    copy = api.create(seed=seed)
    assert api.run(copy["sandbox_id"], "cat file; echo $MINE") == "one\nyes\n"
    # Its own sandbox is another one: a restore would have nothing to come back to.
    path = f"/v1/sandboxes/{copy['sandbox_id']}/restore"
    answer = refused(api, "POST", path, json={"snapshot": "kept"})
    assert (answer.status_code, answer.json()["field"]) == (422, "snapshot")


@pytest.mark.parametrize(("body", "status", "words"), UNPROMISED)
def test_what_is_not_promised_is_refused_and_nothing_is_kept(
    api: Api, body: dict[str, str], status: int, words: str
) -> None:
    sandbox, before = api.create()["sandbox_id"], kept_of(api)
    answer = refused(api, "POST", f"/v1/sandboxes/{sandbox}/snapshots", json=body)
    assert answer.status_code == status
    assert words in answer.json()["detail"]
    assert api.call("GET", f"/v1/snapshots?sandbox={sandbox}")["snapshots"] == []
    assert kept_of(api) == before


def test_what_is_unknown_answers_like_what_is_foreign(api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    for method, path, body in (
        ("GET", "/v1/snapshots/snap_none", None),
        ("DELETE", "/v1/snapshots/snap_none", None),
        ("POST", f"/v1/sandboxes/{sandbox}/restore", {"snapshot": "none"}),
        ("POST", "/v1/sandboxes", {"seed": {"snapshot": "none"}}),
        ("POST", "/v1/sandboxes/sb_none/fork", {}),
    ):
        assert refused(api, method, path, json=body).status_code == 404


def test_fork_that_cannot_be_made_whole_leaves_nothing(api: Api) -> None:
    sandbox = api.create(name="trunk")["sandbox_id"]
    taken = api.create(name="twig-2")["sandbox_id"]
    many, before = len(api.call("GET", "/v1/sandboxes")["sandboxes"]), kept_of(api)
    path = f"/v1/sandboxes/{sandbox}/fork"
    assert refused(api, "POST", path, json={"count": 3, "name": "twig"}).status_code == 409
    assert api.sandbox("twig-2")["sandbox_id"] == taken
    listed = api.call("GET", "/v1/sandboxes")["sandboxes"]
    assert len([one for one in listed if one["state"] != "destroying"]) == many
    assert kept_of(api) == before


def test_profile_has_snapshots_taken_and_the_newest_kept(api: Api) -> None:
    sandbox = api.create(profile="keeping")["sandbox_id"]
    path = f"/v1/snapshots?sandbox={sandbox}"
    newest: list[str] = []
    for number in range(3):
        api.run(sandbox, f"echo {number} > file")
        api.act(sandbox, "stop")
        newest.append(ready_after(api, path, newest))
        api.act(sandbox, "start")
    kept = until(lambda: api.call("GET", path)["snapshots"], lambda told: len(told) == 2)
    assert all(one["automatic"] for one in kept)
    copy = api.create(seed={"snapshot": kept[0]["snapshot_id"]})
    assert api.run(copy["sandbox_id"], "cat file") == "2\n"


def ready_after(api: Api, path: str, seen: list[str]) -> str:
    """The first snapshot that was not seen before and is ready."""
    listed = until(
        lambda: [one for one in api.call("GET", path)["snapshots"] if one["state"] == "ready"],
        lambda told: bool(told) and told[0]["snapshot_id"] not in seen,
    )
    return str(listed[0]["snapshot_id"])


def test_exported_snapshot_comes_back_after_the_servers_disk_is_gone(api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    api.run(sandbox, "head -c 300000 /dev/urandom > noise; mkdir -p ~/.codex; echo s > ~/.codex/x")
    before = api.run(sandbox, "sha256sum noise ~/.codex/x; stat -c '%A %s' noise")
    snapshot = take(api, sandbox, name="far")["snapshot_id"]
    path = f"/v1/snapshots/{snapshot}"
    assert refused(api, "POST", f"{path}/import").json()["code"] == "not_exported"
    assert api.call("POST", f"{path}/export")["exported"] is True
    assert api.call("POST", f"{path}/verify")["whole"] is True
    api.act(sandbox, "destroy")
    shutil.rmtree(api.server.home / "boxes" / "snapshots" / snapshot)
    assert api.call("POST", f"{path}/import")["snapshot_id"] == snapshot
    shutil.rmtree(api.server.home / "boxes" / "snapshots" / snapshot)
    # What is not brought back is fetched where it is needed.
    for _ in range(2):
        copy = ready(api, api.create(seed={"snapshot": "far"})["sandbox_id"])["sandbox_id"]
        assert api.run(copy, "sha256sum noise ~/.codex/x; stat -c '%A %s' noise") == before
    for left in ("imports", "boxes/loans"):
        assert list((api.server.home / left).iterdir()) == []
