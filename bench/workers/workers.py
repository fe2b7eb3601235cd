"""`workers`: a worker beside what its agent costs alone, each figure with its floor in one run.

The agent is a scripted app-server (`app_server`), so no model and no agent of a vendor is measured.
"""

import itertools
import json
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from bench.figures import Series, table, verdict
from bench.server import Server, server
from bench.terminals import OwnAtoll
from bench.workers import app_server
from bench.workers.deltas import deltas, pss

STARTS: Final = 12
REQUESTS: Final = 150
LINES: Final = 60
WARM: Final = 3
CROWD: Final = 6
SETTLE_SECONDS: Final = 20
"""Until idle runtimes have given back what they do not need."""

SYNCED: Final = {"ATOLL_DATABASE_SYNCED": "true"}
"""Every commit is on disk before it is answered, on both sides."""

AGENT: Final = "#!/usr/bin/python3 -ESs\n"
MACHINE: Final = {"agent": "codex", "mode": "machine"}
_numbers = itertools.count()


def workers() -> None:
    """Starts, requests, lines, deltas and memory of workers."""
    with server(SYNCED) as atoll:
        provide(atoll)
        _starts(atoll)
        with worker(atoll) as name:
            _requests(atoll, name)
            _lines(atoll, name)
        with worker(atoll) as name:
            deltas(atoll, name)
        _memory(atoll)


def provide(atoll: Server) -> None:
    """Install the scripted app-server as Codex."""
    programs = atoll.host.home / "agents" / "codex" / "0.171.0" / "bin"
    programs.mkdir(parents=True)
    (programs / "codex").write_text(AGENT + Path(app_server.__file__).read_text())
    (programs / "codex").chmod(0o755)


@contextmanager
def worker(atoll: Server) -> Iterator[str]:
    """A worker that runs; it is removed at the end."""
    name = _create(atoll)
    yield name
    _remove(atoll, name)


def ask(atoll: Server, worker_id: str, method: str, **params: str) -> None:
    """Send a request, and wait for its receipt."""
    request = {"request_id": f"r{next(_numbers)}", "method": method, "params": params}
    answer = atoll.api.post(
        f"/v1/workers/{worker_id}/requests", json={"request": request, "wait_ms": 30_000}
    )
    if "response" not in answer.raise_for_status().json():
        raise RuntimeError(f"the request has no response: {answer.text}")


def _create(atoll: Server) -> str:
    """Create a worker. Returns once its stream has `worker.started`."""
    name = f"w{next(_numbers)}"
    body = {"worker_id": name, "teardown": {"policy": "immediate"}}
    atoll.api.post("/v1/workers", json=body).raise_for_status()
    _heard(atoll, name, "worker.started")
    return name


def _remove(atoll: Server, name: str) -> None:
    atoll.api.post(f"/v1/workers/{name}/stop").raise_for_status()
    _heard(atoll, name, "worker.torn_down")


def _heard(atoll: Server, name: str, kind: str) -> None:
    with atoll.api.stream("GET", f"/v1/workers/{name}/stream") as stream:
        for line in stream.iter_lines():
            if line == f"event: {kind}":
                return
            if line == "event: worker.stopped" and kind == "worker.started":
                raise RuntimeError(f"the worker failed: {_reason(atoll, name)}")


def _reason(atoll: Server, name: str) -> str:
    return str(atoll.api.get(f"/v1/workers/{name}/snapshot").json()["reason"])


def _agent(atoll: Server) -> tuple[str, str]:
    """Create a sandbox with the agent in its machine mode, through the API."""
    sandbox = atoll.create(profile="codex", agent="codex")
    made = atoll.api.post(f"/v1/sandboxes/{sandbox}/agents", json=MACHINE)
    return sandbox, str(made.raise_for_status().json()["id"])


def _starts(atoll: Server) -> None:
    ours, floor = Series("create → worker.started"), Series("sandbox, then machine agent")
    for turn in range(STARTS + WARM):
        began = time.perf_counter()
        sandbox, _ = _agent(atoll)
        alone = time.perf_counter()
        atoll.api.delete(f"/v1/sandboxes/{sandbox}", params={"wait": "true"})
        again = time.perf_counter()
        name = _create(atoll)
        started = time.perf_counter()
        _remove(atoll, name)
        if turn >= WARM:
            floor.samples.append((alone - began) * 1000)
            ours.samples.append((started - again) * 1000)
    table("start of a worker", floor, ours)
    verdict("times a sandbox and a machine agent", ours.median / floor.median, 1.15)


class _Commits:
    """Commits of one row into a database beside Atoll's, on disk as `SYNCED` has its own."""

    def __init__(self, folder: Path) -> None:
        self._link = sqlite3.connect(folder / "bench.db", isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self._link.execute(f"PRAGMA {pragma}")
        self._link.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY, text TEXT)")

    def commit(self) -> None:
        """Commit one row."""
        self._link.execute("INSERT INTO plain (text) VALUES (?)", ("x" * 200,))

    def close(self) -> None:
        """Close the database."""
        self._link.close()


@contextmanager
def _commits(atoll: Server) -> Iterator[_Commits]:
    folder = atoll.host.home.parent / "bench"
    folder.mkdir()
    made = _Commits(folder)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder)


class _Pipe:
    """The app-server on a pipe of our own."""

    def __init__(self) -> None:
        argv = ("/usr/bin/python3", "-ESs", app_server.__file__)
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def write(self, line: str) -> None:
        """Write a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def read(self) -> str:
        """Read a line."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        """End the program."""
        with self._process:
            self._process.kill()


def _requests(atoll: Server, name: str) -> None:
    ours = Series("request of a worker, with its receipt")
    floor = Series("the line on the app-server's pipe, two commits")
    with closing(_Pipe()) as process, _commits(atoll) as plain:
        for turn in range(REQUESTS + WARM):
            began = time.perf_counter()
            plain.commit()
            line = {"method": "thread/list", "id": f"w:{turn}", "params": {}}
            process.write(json.dumps(line))
            json.loads(process.read())
            plain.commit()
            alone = time.perf_counter()
            ask(atoll, name, "thread/list")
            answered = time.perf_counter()
            if turn >= WARM:
                floor.samples.append((alone - began) * 1000)
                ours.samples.append((answered - alone) * 1000)
    table("a request", floor, ours)
    verdict("times the pipe and two commits", ours.median / floor.median, 3)


def _lines(atoll: Server, name: str) -> None:
    ours = Series("agent's line → follower")
    floor = Series("a commit, then a write over loopback")
    address = f"{atoll.host.url}/v1/workers/{name}/stream"
    headers = {"Authorization": f"Bearer {atoll.host.token}"}
    with (
        _commits(atoll) as plain,
        _loopback() as cross,
        httpx.stream("GET", address, headers=headers, timeout=60) as stream,
    ):
        lines = stream.iter_lines()
        for turn in range(LINES + WARM):
            began = time.perf_counter()
            plain.commit()
            arrived = cross()
            ask(atoll, name, "thread/name/set", threadId="th", name="say")
            written, came = _next(lines)
            if turn >= WARM:
                floor.samples.append((arrived - began) * 1000)
                ours.samples.append((came - written) * 1000)
    table("a line of the agent", floor, ours)
    verdict("times a commit and a loopback write", ours.median / floor.median, 3)


def _next(lines: Iterator[str]) -> tuple[float, float]:
    """Return when the agent wrote its next line, and when it came."""
    for line in lines:
        if line.startswith("data: ") and app_server.SAID in line:
            came = time.perf_counter()
            event: dict[str, Any] = json.loads(line.removeprefix("data: "))
            return float(json.loads(event["payload"]["event"]["params"])["at"]), came
    raise RuntimeError("the stream ended")


@contextmanager
def _loopback() -> Iterator[Any]:
    """Yield a function that writes over loopback, and returns when another thread had it."""
    arrived: list[float] = []
    came = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()

    def read() -> None:
        while far.recv(4096):
            arrived.append(time.perf_counter())
            came.set()

    def cross() -> float:
        came.clear()
        near.sendall(b"x" * 300)
        came.wait()
        return arrived[-1]

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield cross
    finally:
        near.close()
        reader.join()
        far.close()


def _memory(atoll: Server) -> None:
    """Measure runtimes whose agent was asked once, with a worker and without."""
    alone, served = Series("runtime with a machine agent", "MiB"), Series("… and a worker", "MiB")
    agents = [_agent(atoll) for _ in range(CROWD)]
    for sandbox, agent in agents:
        path = f"/v1/sandboxes/{sandbox}/terminals/{agent}/ask"
        atoll.api.post(path, json={"prompt": "go"}).raise_for_status()
    names = [_create(atoll) for _ in range(CROWD)]
    for name in names:
        ask(atoll, name, "thread/list")
    time.sleep(SETTLE_SECONDS)
    alone.samples += [_runtime_pss(atoll, one) for one, _ in agents]
    for name in names:
        shown = atoll.api.get(f"/v1/workers/{name}/snapshot").json()
        served.samples.append(_runtime_pss(atoll, shown["sandbox"]["id"]))
    table("memory of a runtime", alone, served)
    verdict("MiB that a worker adds", served.median - alone.median, 1)
    for name in names:
        _remove(atoll, name)


def _runtime_pss(atoll: Server, sandbox: str) -> float:
    return pss(OwnAtoll(atoll, sandbox).pids[1])
