"""Pools on the real wall: who takes what waits, and what they find in it."""

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer
from atoll.wire.zygote import messages as wire
from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import Home
from tests.e2e.waiting.test_saved_work import mine, ok
from tests.e2e.waiting.test_snapshots import names_of
from tests.peers.api import Api, until
from tests.peers.remains import await_forgotten, pids_of, uids_of

__all__ = ["mine"]

POOL = "/v1/pools/shell"
TAKERS = 6


@pytest.fixture(autouse=True)
def alone(api: Api) -> Iterator[None]:
    """Each test leaves no pool and no sandbox."""
    yield
    api.client.delete(POOL)
    for sandbox in api.call("GET", "/v1/sandboxes")["sandboxes"]:
        api.act(sandbox["sandbox_id"], "destroy")
    until(lambda: boxes(api), lambda left: not left)


def fill(api: Api, count: int) -> set[str]:
    """Have a pool of so many, and return their ids once all wait."""
    api.call("PUT", POOL, json={"min": count, "max": count})
    return full(api, count)


def full(api: Api, count: int) -> set[str]:
    until(lambda: api.call("GET", POOL), lambda pool: pool["ready"] == count)
    taken = {each["sandbox_id"] for each in api.call("GET", "/v1/sandboxes")["sandboxes"]}
    return set(boxes(api)) - taken


def end(pid: int) -> None:
    """Kill a process and wait for its end; it may end with another before."""
    with suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(process, signal.SIGKILL)
            select.select([process], [], [])
        finally:
            os.close(process)


def boxes(api: Api) -> dict[str, wire.Box]:
    answer = zygote_process.ask(Home(api.server.home), wire.ListBoxes())
    assert isinstance(answer, wire.Listed)
    return {box.sandbox_id: box for box in answer.boxes}


def test_new_takes_what_waits_with_its_repository_and_settings(
    server: TestServer, api: Api, mine: Path
) -> None:
    (waiting,) = fill(api, 1)
    uid = api.box(waiting).host_uid
    ok(server, "new", str(mine), "fix", "--detach", "--name", "taken", "--env", "WHO=somebody")
    sandbox = api.sandbox("taken")
    assert sandbox["sandbox_id"] == waiting
    assert api.box(waiting).host_uid == uid
    assert api.run(waiting, "hostname; echo $WHO; git branch --show-current") == (
        "taken\nsomebody\nfix\n"
    )
    api.run(waiting, "echo more > more; git add . && git commit -qm work")
    ok(server, "pull", "taken", "-C", str(mine))
    words = ("git", "-c", "safe.directory=*", "-C", str(mine), "log", "-1", "--format=%s", "fix")
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "work\n"
    # It is a sandbox like any other from here on.
    api.act(waiting, "stop")
    api.act(waiting, "start")
    assert api.run(waiting, "cat more") == "more\n"
    assert api.act(waiting, "recreate")["state"] == "ready"
    assert not full(api, 1) & {waiting}
    api.act(waiting, "destroy")
    await_forgotten(server.home, waiting)


def test_takers_at_once_find_nothing_of_each_other(api: Api) -> None:
    waiting = fill(api, TAKERS // 2)

    def create(number: int) -> dict[str, Any]:
        return api.create(name=f"taker-{number}", env={"NUMBER": str(number)})

    with ThreadPoolExecutor(TAKERS) as threads:
        made = list(threads.map(create, range(TAKERS)))
    ids = [each["sandbox_id"] for each in made]
    assert waiting <= set(ids)
    assert len(set(ids)) == TAKERS
    for number, sandbox in enumerate(ids):
        told = api.run(sandbox, f"echo $NUMBER; hostname; ls -A . /tmp; echo {number} > mine")
        assert told.split() == [str(number), f"taker-{number}", ".:", "/tmp:"]
    assert len({api.box(sandbox).host_uid for sandbox in ids}) == TAKERS
    names = [names_of(api, sandbox) for sandbox in ids]
    assert len({each.machine_id for each in names}) == TAKERS
    assert len({each.generation for each in names}) == TAKERS


def test_nobody_reaches_what_waits(api: Api) -> None:
    (waiting,) = fill(api, 1)
    for method, path, body in (
        ("GET", f"/v1/sandboxes/{waiting}", None),
        ("POST", f"/v1/sandboxes/{waiting}/exec", {"shell": "id"}),
        ("POST", f"/v1/sandboxes/{waiting}/terminals", {}),
        ("POST", f"/v1/sandboxes/{waiting}/snapshots", {}),
        ("POST", f"/v1/sandboxes/{waiting}/destroy", None),
    ):
        answer = api.client.request(method, path, json=body)
        assert answer.status_code == 404, (path, answer.text)
    assert api.create()["sandbox_id"] == waiting


def test_what_died_waiting_is_replaced_and_given_to_nobody(api: Api) -> None:
    waiting = fill(api, 2)
    for pid in pids_of(uids_of(api.server.home)):
        end(pid)
    # The next create comes at once, whoever has seen it by then.
    sandbox = api.create()["sandbox_id"]
    assert api.run(sandbox, "echo here") == "here\n"
    until(lambda: full(api, 2), lambda now: not now & waiting)
