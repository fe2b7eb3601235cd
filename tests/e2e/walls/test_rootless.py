"""The same Atoll for a person without rights: it works, and says truly what is missing.

As root, the tests become a throw-away uid first; it has no entry in /etc/passwd.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from atoll.testing.server import TestServer
from atoll.testing.stranger import Stranger
from atoll.testing.subordinate_ids import range_of, why_not
from tests.claims import claim_far_uid
from tests.e2e.waiting.test_snapshots import (
    ready,
    refused,
    take,
    test_copies_are_told_apart_inside_and_told_that_they_began_anew,
)
from tests.peers.api import WAIT_SECONDS, Api, api_of, until
from tests.peers.remains import await_forgotten, pids_of, remains
from tests.peers.terminal_client import attached

__all__ = ["test_copies_are_told_apart_inside_and_told_that_they_began_anew"]

STRANGER = claim_far_uid()
SMALL = """\
id: profile.small
version: "1.0.0"
extension: ext.namespaces
resources: {pids: 40, ptys: 5}
"""
TAKE_PTYS = "import os, time\nfor n in range(9): print(n, os.openpty(), flush=True)"
FORK = """
import os, signal
children = []
try:
    for n in range(80):
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError as err:
    print(len(children), err.strerror)
for child in children:
    os.kill(child, signal.SIGKILL)
"""


@contextmanager
def person(
    uid: int = STRANGER, *, keys: str = "", subordinates: bool = False, **settings: str
) -> Iterator[TestServer]:
    """A server of somebody without rights; `keys` is the text of its `keys.toml`, and with
    `subordinates` they have a range of uids."""
    parent = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    parent.chmod(0o711)
    home, own = parent / "h", parent / "own"
    for folder in (home, own):
        folder.mkdir(mode=0o711)
    if keys:
        (home / "keys.toml").write_text(keys)
        (home / "keys.toml").chmod(0o600)
    stranger = None
    if os.geteuid() == 0:
        for path in (home, own, *home.iterdir()):
            os.chown(path, uid, uid)
        stranger = Stranger(uid, str(home), subordinates)
    server = TestServer(home, {"HOME": str(own), **settings}, stranger=stranger)
    try:
        server.start()
        yield server
    finally:
        server.down()
        shutil.rmtree(parent)


@pytest.fixture(scope="module")
def namespaced() -> None:
    if (
        shutil.which("unshare")
        and subprocess.run(unprivileged("unshare", "-Ur", "true")).returncode
    ):
        pytest.skip("this machine lets nobody but root make user namespaces")


@pytest.fixture(scope="module", params=[False, True], ids=["alone", "subordinates"])
def subordinates(request: pytest.FixtureRequest) -> bool:
    if request.param and why_not():
        pytest.skip(why_not())
    return bool(request.param)


@pytest.fixture(scope="module")
def api(namespaced: None, subordinates: bool) -> Iterator[Api]:
    with person(subordinates=subordinates) as server, api_of(server) as made:
        yield made


def unprivileged(*argv: str) -> list[str]:
    if os.geteuid() != 0:
        return list(argv)
    return ["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", *argv]


async def test_person_without_rights_gets_a_sandbox_and_its_terminal(api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    assert api.run(sandbox, "id -u; echo written > file; cat file") == "1000\nwritten\n"
    url = api.attach_url(sandbox, api.terminal(sandbox))
    async with (
        aiohttp.ClientSession(headers=api.headers) as session,
        attached(session, url, "me") as viewer,
    ):
        await viewer.type(b"stty size; echo he''re\r")
        await viewer.sees(b"24 80")
        await viewer.sees(b"here")
    api.act(sandbox, "stop")
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat file") == "written\n"


def test_isolation_without_rights_names_every_limit_that_is_missing(
    api: Api, subordinates: bool
) -> None:
    api.call("PUT", "/v1/profiles/small", content=SMALL)
    made = api.create(profile="small")
    told = made["isolation"]
    missing = {sentence.partition(":")[0] for sentence in told["degraded"]}
    assert {"disk", "uid"} <= missing
    assert missing <= {"disk", "uid", "memory", "cpu", "runtime"}
    owner = api.server.home.stat().st_uid
    assert told["weak"]
    assert told["host_uid"] in (range_of(owner) if subordinates else [owner])
    shown = api.server.run("info", made["name"]).stdout
    assert "WEAK" in shown and "uid: rootless" in shown
    safety = api.call("GET", f"/v1/sandboxes/{made['sandbox_id']}/safety")
    assert next(part for part in safety["wall"] if part["name"] == "wall")["weakened"]
    # What a profile names of that makes no sandbox: nothing would keep it.
    for words in ("safety: {sudo: [[id]]}", "resources: {workspace_mb: 64}"):
        named = SMALL.replace("resources: {pids: 40, ptys: 5}", words).replace("small", "named")
        api.call("PUT", "/v1/profiles/named", content=named)
        refused = api.client.post("/v1/sandboxes", json={"profile": "named"})
        assert (refused.status_code, refused.json()["code"]) == (409, "no_route")
        assert f"it cannot act on {words.split(':')[0]}." in refused.json()["detail"]
    # What is not said to be missing holds.
    sandbox = made["sandbox_id"]
    said = json.dumps(api.run(sandbox, f"python3 -c '{FORK}'"))
    assert "Resource temporarily unavailable" in said and int(said.strip('"').split()[0]) < 40
    taken = api.run(sandbox, f"python3 -c '{TAKE_PTYS}' 2>&1 || true")
    assert taken.count("\n") >= 5 and "No space left" in taken and "\n5 " not in taken
    assert "Operation not permitted" in api.run(sandbox, "unshare -Ur true 2>&1 || true")


def test_snapshots_without_rights_are_of_the_files_as_they_were(api: Api) -> None:
    folder = api.server.home / "boxes" / "snapshots"
    before = set(folder.iterdir())
    sandbox = api.create(name="stem")["sandbox_id"]
    api.run(sandbox, "echo one > file; git init -q . && git add . && ln -s /etc/passwd link")
    taken = take(api, sandbox, name="first")
    assert (taken["disk"], 0 < taken["size"] < 10 << 20) == ("crash", True)
    exported = refused(api, "POST", "/v1/snapshots/first/export")
    assert (exported.status_code, exported.json()["code"]) == (409, "conflict")
    assert "cannot be exported: that needs an Atoll that runs as root" in exported.json()["detail"]
    assert not api.call("GET", "/v1/snapshots/first")["exported"]
    assert not list((folder.parent / "loans").iterdir())
    api.run(sandbox, "echo two > file; rm link")
    body = {"count": 2, "name": "twig"}
    made = api.call("POST", f"/v1/sandboxes/{sandbox}/fork", json=body)["sandboxes"]
    copies = [ready(api, each["sandbox_id"])["sandbox_id"] for each in made]
    assert [api.run(copy, "cat file; git status -s") for copy in copies] == ["two\nAM file\n"] * 2
    path = f"/v1/sandboxes/{sandbox}/restore?wait=true&timeout={WAIT_SECONDS}"
    assert api.call("POST", path, json={"snapshot": "first"})["state"] == "ready"
    assert api.run(sandbox, "cat file; readlink link") == "one\n/etc/passwd\n"
    assert api.run(copies[0], "cat file") == "two\n"
    api.call("DELETE", "/v1/snapshots/first")
    for each in (sandbox, *copies):
        api.act(each, "destroy")
        await_forgotten(api.server.home, each)
    until(lambda: set(folder.iterdir()), lambda kept: kept <= before)


def test_destroy_without_rights_leaves_nothing(api: Api) -> None:
    home, first = api.server.home, api.create()["sandbox_id"]
    api.act(first, "destroy")
    await_forgotten(home, first)
    before = remains(home)
    sandbox = api.create()["sandbox_id"]
    api.run(sandbox, "mkdir -p a/b && chmod 0 a && (setsid sleep 600 >&- 2>&- &)")
    api.act(sandbox, "destroy")
    await_forgotten(home, sandbox)
    assert remains(home) == before


def test_down_without_rights_ends_every_process_of_the_person() -> None:
    with person(claim_far_uid()) as server:
        with api_of(server) as api:
            api.create()
        owner = frozenset({server.home.stat().st_uid})
        assert pids_of(owner)
        server.down()
        if os.geteuid() == 0:
            until(lambda: pids_of(owner), lambda pids: not pids)


@pytest.mark.usefixtures("namespaced")
def test_installation_that_requires_isolation_runs_nothing_behind_a_weak_wall() -> None:
    with person(ATOLL_REQUIRE_ISOLATION="container") as server, api_of(server) as strict:
        made = strict.call("POST", "/v1/sandboxes", json={"profile": "shell"})
        told = strict.until(
            made["sandbox_id"], lambda one: one["state"] not in ("requested", "provisioning"), 60
        )
        assert told["state"] == "failed", told
        assert "requires isolation container" in told["reason"]
        assert "uid: rootless" in told["reason"]
        refused = strict.client.post(
            f"/v1/sandboxes/{made['sandbox_id']}/exec", json={"shell": ":"}
        )
        assert refused.status_code == 409
