"""Evacuation of a drained host: two real sshds, real files, and SIGKILL at every step of a move."""

import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.walls.test_ssh import PROFILE, places
from tests.peers.api import Api, api_of, until
from tests.peers.machines.ssh_server import SshServer, missing, throwaway_ssh_server

NOT_HERE = missing() or ("" if os.geteuid() == 0 else "needs root")
pytestmark = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)

AWKWARD = r"""
set -e
printf kept > file; ln file twin; ln -s /etc/passwd link; ln -s nowhere dangling
mkdir closed; printf secret > closed/inner; chmod 000 closed/inner closed
printf x > "$(printf 'line\nbreak')"; printf x > '-rf'; printf x > "$(printf '\377\376')"
mkfifo pipe; truncate -s 64M sparse; printf end >> sparse; chmod 0751 twin
mkdir -p deep/er; touch -d 2001-02-03 deep/er; head -c 3000000 /dev/urandom > random
printf state > "$HOME/.codex/of-an-agent"
"""
BIG = "head -c 60000000 /dev/urandom > big; sha256sum big"


@pytest.fixture(scope="module")
def boxes() -> Iterator[dict[str, SshServer]]:
    with throwaway_ssh_server() as first, throwaway_ssh_server() as second:
        yield {"box": first, "two": second}


@pytest.fixture(scope="module")
def server(boxes: dict[str, SshServer]) -> Iterator[TestServer]:
    with test_server({"ATOLL_EXTENSIONS": "namespaces,ssh"}) as running:
        with api_of(running) as api:
            for name, box in boxes.items():
                added = api.call("POST", "/v1/hosts", json={"address": box.address, "name": name})
                box.authorize(added["authorized_key"])
            api.call("PUT", "/v1/profiles/profile.far", json=PROFILE)
        yield running


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    with api_of(server) as made:
        for name in ("box", "two"):
            made.call("POST", f"/v1/hosts/{name}/undrain")
        yield made


def kept(box: SshServer, sandbox: str) -> dict[bytes, Any]:
    """All that is kept there of a sandbox: kind, mode and content by name."""
    found: dict[bytes, Any] = {}
    (folder,) = places(box, sandbox)
    for path in (*folder.glob("workspace/**/*"), *folder.glob("state/**/*")):
        what = path.lstat()
        content: Any = None
        if stat.S_ISREG(what.st_mode):
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
            content = digest, what.st_nlink, int(what.st_mtime)
        elif stat.S_ISLNK(what.st_mode):
            content = path.readlink()
        found[bytes(path.relative_to(folder))] = (what.st_mode, content)
    return found


def host_of(server: TestServer, sandbox: str) -> str:
    """The one place of its files, as it is stored while no control plane runs."""
    (file,) = server.home.rglob("*.db")
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        rows = database.execute("select host from sandboxes where id = ?", (sandbox,))
        return str(rows.fetchone()[0])


def kinds(api: Api, sandbox: str) -> list[str]:
    found = [one["event_type"] for one in api.events(sandbox)]
    return [kind for kind in found if "reloc" in kind]


def settled(api: Api, sandbox: str, ends: int) -> list[str]:
    """The kinds of its relocations' events, once as many have ended."""

    def enough(found: list[str]) -> bool:
        over = ("sandbox.relocation_ended", "sandbox.relocation_failed")
        return sum(kind in over for kind in found) >= ends

    return until(lambda: kinds(api, sandbox), enough)


def test_evacuation_moves_every_file_and_says_what_stays(
    server: TestServer, api: Api, boxes: dict[str, SshServer]
) -> None:
    moved = api.create(profile="far", name="moved")["sandbox_id"]
    api.run(moved, AWKWARD)
    api.act(moved, "stop")
    running = api.create(profile="far", name="running")["sandbox_id"]
    chosen = api.create(profile="far", name="chosen", host="box")["sandbox_id"]
    api.act(chosen, "stop")
    before = kept(boxes["box"], moved)
    assert before[b"workspace/closed"][0] & 0o777 == 0
    done = server.run("host", "drain", "box", "--evacuate")
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert "moved moves to two" in said, said
    assert "running stays: it runs: stop it first" in said
    assert any(line.startswith("chosen stays: host box was chosen") for line in said)
    assert settled(api, moved, 1)[-1] == "sandbox.relocation_ended"
    assert kept(boxes["two"], moved) == before
    assert places(boxes["box"], moved) == []
    assert api.run(running, "echo on") == "on\n"
    api.act(moved, "start")
    assert api.run(moved, "cat file; stat -c %a twin; cat ~/.codex/of-an-agent") == "kept751\nstate"
    assert api.sandbox(moved)["host"] == "two"
    shown = server.run("route", "show", moved)
    assert shown.stdout.endswith("evacuated from host box to host two\n"), shown.stdout
    for sandbox in (moved, running, chosen):
        api.act(sandbox, "destroy")
    for box in boxes.values():
        assert places(box, moved) == []
        assert list(box.home.glob(".atoll/*/arriving/*")) == []


def test_one_that_fits_nowhere_stays_with_the_reasons(
    api: Api, boxes: dict[str, SshServer]
) -> None:
    sandbox = api.create(profile="far")["sandbox_id"]
    api.act(sandbox, "stop")
    api.call("POST", "/v1/hosts/two/drain")
    told = api.call("POST", "/v1/hosts/box/drain", json={"evacuate": True})["evacuation"]
    assert told["moving"] == []
    (staying,) = told["staying"]
    assert "two: it is drained" in staying["reason"]
    assert kinds(api, sandbox) == []
    api.act(sandbox, "destroy")


def test_move_that_cannot_be_made_leaves_the_files_where_they_were(
    api: Api, boxes: dict[str, SshServer]
) -> None:
    sandbox = api.create(profile="far")["sandbox_id"]
    api.run(sandbox, "echo kept > file")
    api.act(sandbox, "stop")
    before = kept(boxes["box"], sandbox)
    boxes["two"].stop()
    try:
        told = api.call("POST", "/v1/hosts/box/drain", json={"evacuate": True})["evacuation"]
        assert [one["to"] for one in told["moving"]] == ["two"]
        assert settled(api, sandbox, 1)[-1] == "sandbox.relocation_failed"
    finally:
        boxes["two"].start()
    assert kept(boxes["box"], sandbox) == before
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat file") == "kept\n"
    api.act(sandbox, "destroy")


def test_start_waits_for_the_files_and_destroy_leaves_none_anywhere(
    api: Api, boxes: dict[str, SshServer]
) -> None:
    sandbox = api.create(profile="far")["sandbox_id"]
    api.run(sandbox, BIG)
    api.act(sandbox, "stop")
    api.call("POST", "/v1/hosts/box/drain", json={"evacuate": True})
    refused = api.client.post(f"/v1/sandboxes/{sandbox}/start")
    if "sandbox.relocated" not in kinds(api, sandbox):
        assert refused.status_code == 409
        assert "its files go to host two;" in refused.json()["detail"]
    api.act(sandbox, "destroy")
    for box in boxes.values():
        assert places(box, sandbox) == []
        assert list(box.home.glob(".atoll/*/arriving/*")) == []


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(slice(None), id="every", marks=pytest.mark.slow),
        # While files arrive, and once they are named at their new place.
        pytest.param(slice(2, 5, 2), id="two"),
    ],
)
def test_killed_at_a_step_the_files_are_whole_at_the_one_named_place(
    server: TestServer, boxes: dict[str, SshServer], chosen: slice
) -> None:
    with api_of(server) as api:
        for name in boxes:
            api.call("POST", f"/v1/hosts/{name}/undrain")
        sandbox = api.create(profile="far")["sandbox_id"]
        api.run(sandbox, BIG + "; mkdir shut; echo x > shut/x; chmod 000 shut/x shut")
        api.act(sandbox, "stop")
    whole = kept(boxes["box"], sandbox)
    here, there = "box", "two"

    def arrives() -> bool:
        return bool(list(boxes[there].home.glob(f".atoll/*/arriving/{sandbox}.*/workspace/*")))

    steps: list[Callable[[], bool]] = [
        lambda: True,
        lambda: bool(list(boxes[there].home.glob(f".atoll/*/arriving/{sandbox}.*"))),
        arrives,
        lambda: bool(places(boxes[there], sandbox)),
        lambda: host_of(server, sandbox) == there,
        lambda: not places(boxes[here], sandbox),
        *(_after(seconds) for seconds in (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)),
    ]
    for number, reached in enumerate(steps[chosen], 1):
        with api_of(server) as api:
            api.call("POST", f"/v1/hosts/{there}/undrain")
            api.call("POST", f"/v1/hosts/{here}/drain", json={"evacuate": True})
        until(reached, bool)
        server.kill()
        named = host_of(server, sandbox)
        assert kept(boxes[named], sandbox) == whole, f"step {number}: not whole at {named}"
        server.start()
        with api_of(server) as api:
            settled(api, sandbox, number)
            assert host_of(server, sandbox) == there, kinds(api, sandbox)
        assert kept(boxes[there], sandbox) == whole
        assert places(boxes[here], sandbox) == []
        here, there = there, here
    with api_of(server) as api:
        api.act(sandbox, "start")
        assert api.run(sandbox, "stat -c %a shut") == "0\n"
        api.act(sandbox, "destroy")


def _after(seconds: float) -> Callable[[], bool]:
    """What holds this long after it was first asked."""
    began: list[float] = []

    def over() -> bool:
        began.append(time.monotonic())
        return began[-1] - began[0] >= seconds

    return over
