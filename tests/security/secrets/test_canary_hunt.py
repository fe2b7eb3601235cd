"""The hunt for canaries finds what is there: a value hidden by hand in each place is seen.

Without this a hunt that looks past a place would say that no key is there.
"""

import base64
import os
from collections.abc import Iterator

import pytest

from atoll.testing.server import test_server
from tests.peers.api import Api, api_of, until
from tests.peers.canary import HUNT, answers_with, files_with, memory_holds, pids_of

MARK = "mark-hidden-4c81d07a95e6"
PLACES = ("/workspace", "/home/agent", "/tmp", "/run", "/var/tmp", "/dev/shm")
# The value is put together in memory: neither the command line nor the code holds it.
HIDE = """
import os, sys
whole = sys.argv[1] + sys.argv[2]
for place in sys.argv[3:]:
    with open(place + "/kept", "w") as file:
        file.write("x" * 5000 + whole)
if os.fork() == 0:
    os.setsid()
    os.execve("/usr/bin/sleep", ["sleep", "600"], {"HIDDEN": whole})
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    import time
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with test_server() as server, api_of(server) as made:
        yield made


@pytest.fixture(scope="module")
def sandbox(api: Api) -> str:
    box = str(api.create()["sandbox_id"])
    argv = ["python3", "-c", HIDE, MARK[:9], MARK[9:], *PLACES]
    done = api.call("POST", f"/v1/sandboxes/{box}/exec", json={"argv": argv})
    assert done["exit_code"] == 0, base64.b64decode(done["stderr"])
    return box


def test_hunt_inside_names_every_file_and_environment(api: Api, sandbox: str) -> None:
    argv = ["/bin/sh", "-c", HUNT, "sh", MARK]
    done = api.call("POST", f"/v1/sandboxes/{sandbox}/exec", json={"argv": argv})
    found = base64.b64decode(done["stdout"]).decode().splitlines()
    assert {f"{place}/kept" for place in PLACES} <= set(found)
    assert sum(name.endswith("/environ") for name in found) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the memory of others")
def test_hunt_in_memory_finds_the_process_that_holds_it(api: Api, sandbox: str) -> None:
    inside = pids_of(api.sandbox(sandbox)["isolation"]["host_uid"])
    holders = [pid for pid in inside if memory_holds(pid, MARK.encode())]
    assert 1 <= len(holders) < len(inside)


def test_hunt_on_the_host_finds_every_kind_of_file_and_answer(api: Api, sandbox: str) -> None:
    waits = "while [ ! -e /workspace/go ]; do sleep 0.1; done; cat /workspace/kept; exec cat"
    terminal = api.terminal(sandbox, "sh", "-c", waits)
    api.call("POST", f"/v1/sandboxes/{sandbox}/terminals/{terminal}/recording")
    api.run(sandbox, "touch /workspace/go")
    api.call("POST", "/v1/sandboxes?wait=ready", json={"profile": "shell", "name": MARK})
    with api.server.log.open("a") as log:
        log.write(MARK)
    os.sync()
    wanted = {"atoll.db", "up.log", "recordings", "image"}
    if os.geteuid() != 0:
        wanted = wanted - {"image"} | {"kept"}
    until(lambda: _kinds(api), lambda kinds: wanted <= kinds)
    assert answers_with(api.client, MARK, sandbox=MARK)


def _kinds(api: Api) -> set[str]:
    """The names of files that hold it, and of their folders."""
    found = files_with(api.server.home.parent, MARK.encode())
    names = {file.name.removesuffix("-wal") for file in found}
    return names | {file.parent.name for file in found}
