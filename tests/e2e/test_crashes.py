"""What a crash costs: nothing when the control plane dies, a sentence when a runtime does."""

import asyncio
import base64
import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import httpx
import pytest

from atoll.domain.people.front_end import SECRET
from atoll.domain.terminals.turn import GRACE_SECONDS
from atoll.testing.server import TestServer, test_server
from atoll.wire.contract.terminals import RING_BYTES
from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import Home
from tests.e2e.servers import emptied
from tests.peers.api import Api, api_of, until
from tests.peers.remains import await_forgotten, changed, pids_of, remains, uids_of
from tests.peers.terminal_client import TerminalClient, attached

NUMBERS = 1_000_000
COUNTING = ("/bin/sh", "-c", f"stty -echo; echo go; read line; seq 1 {NUMBERS}")
FEWER = NUMBERS // 2
#: The same numbers, the last of them once a file is there: it is never over before a kill.
HELD = (
    *COUNTING[:2],
    f"stty -echo; echo go; read line; seq 1 {FEWER};"
    f" until [ -e go-on ]; do sleep 0.05; done; seq {FEWER + 1} {NUMBERS}",
)
WATCHERS = 19
#: Of them, those who take nothing until the flood is over.
SLOW_WATCHERS = 4
#: Ample: a machine on which twelve others want the processor, too.
END_SECONDS = 240


@pytest.fixture(scope="module")
def standing() -> Iterator[TestServer]:
    """One for the tests after which it serves as before, killed control plane or not."""
    with test_server() as started:
        yield started


@pytest.fixture
def server(standing: TestServer) -> Iterator[TestServer]:
    yield standing
    emptied(standing)


@pytest.fixture
def lone() -> Iterator[TestServer]:
    """One for a test that leaves nothing of it to go on with."""
    with test_server() as started:
        yield started


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    with api_of(server) as made:
        yield made


@pytest.fixture
def api_of_lone(lone: TestServer) -> Iterator[Api]:
    with api_of(lone) as made:
        yield made


def restart(server: TestServer, gone_seconds: float = 0.0) -> None:
    """SIGKILL the control plane and start it again on its port, after so long an absence."""
    port = int(server.url.rpartition(":")[2])
    server.kill()
    time.sleep(gone_seconds)
    server.start(port)


def counted(numbers: int = NUMBERS) -> str:
    """SHA-256 of what COUNTING prints through a terminal."""
    text = "go\r\n" + "".join(f"{n}\r\n" for n in range(1, numbers + 1))
    return hashlib.sha256(text.encode()).hexdigest()


@asynccontextmanager
async def once_seen(client: TerminalClient, words: bytes) -> AsyncIterator[None]:
    """Once this client sees what the terminal says first."""
    await client.sees(words)
    yield


@pytest.mark.timeout(600)
@pytest.mark.parametrize("gone_seconds", [0.0, GRACE_SECONDS + 4])
async def test_control_plane_killed_while_a_terminal_prints_costs_no_byte(
    server: TestServer, api: Api, gone_seconds: float
) -> None:
    sandbox = api.create()["sandbox_id"]
    url = api.attach_url(sandbox, api.terminal(sandbox, *HELD))
    async with (
        aiohttp.ClientSession(headers=api.headers) as session,
        attached(session, url, "driver") as driver,
        # Only now the other: whoever sits down first at a free terminal drives.
        once_seen(driver, b"go\r\n"),
        attached(session, url, "watcher") as watcher,
    ):
        await watcher.until(lambda client: client.starts == 1)
        await driver.type(b"\r")
        await driver.until(lambda client: len(client.output) > 1_000_000)
        await asyncio.to_thread(restart, server, gone_seconds)
        await asyncio.to_thread(api.run, sandbox, "touch go-on")
        for client in (driver, watcher):
            await client.until(lambda one: one.end is not None, END_SECONDS)
            assert client.starts == 2
        assert driver.exact, driver.gaps
        assert hashlib.sha256(driver.output).hexdigest() == counted()
        # A watcher may fall off the ring, and then is told; it never gets a byte twice.
        lost = sum(gap["to"] - gap["from"] for gap in watcher.resyncs)
        assert len(watcher.output) + lost == len(driver.output)


@pytest.mark.timeout(600)
async def test_twenty_viewers_of_a_flood_come_back_after_a_killed_control_plane(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    program = (*COUNTING[:2], COUNTING[2].replace(str(NUMBERS), str(FEWER)))
    url = api.attach_url(sandbox, api.terminal(sandbox, *program))
    async with aiohttp.ClientSession(headers=api.headers) as session, AsyncExitStack() as stack:
        driver = await stack.enter_async_context(attached(session, url, "driver"))
        await driver.sees(b"go\r\n")
        watchers = [
            await stack.enter_async_context(attached(session, url, f"w{n}"))
            for n in range(WATCHERS)
        ]
        for watcher in watchers:
            await watcher.sees(b"go\r\n")
        slow = watchers[:SLOW_WATCHERS]
        for watcher in slow:
            watcher.reads.clear()
        await driver.type(b"\r")
        await driver.until(lambda client: len(client.output) > 300_000)
        await asyncio.to_thread(restart, server)
        assert len(driver.output) < FEWER * 6, "it was over before the kill"
        await driver.until(lambda one: one.end is not None, END_SECONDS)
        # The ring holds the last 256 KiB only: it has passed them, however fast the machine is.
        for watcher in slow:
            assert watcher.place < len(driver.output) - RING_BYTES
            watcher.reads.set()
        for watcher in watchers:
            await watcher.until(lambda one: one.end is not None, END_SECONDS)
        assert all(watcher.resyncs for watcher in slow)
        assert driver.exact, driver.gaps
        assert hashlib.sha256(driver.output).hexdigest() == counted(FEWER)
        for watcher in watchers:
            placed = whole(watcher)
            # Every byte stands where the driver has it, and each gap was said.
            assert all(driver.output[at : at + len(run)] == run for at, run in placed)
            assert placed[-1][0] + len(placed[-1][1]) == len(driver.output)
            assert watcher.starts == 2


def whole(client: TerminalClient) -> list[tuple[int, bytes]]:
    """The runs of bytes a client has, each with the offset it was told for it."""
    runs, place, taken = [], 0, 0
    for gap in client.resyncs:
        length = gap["from"] - place
        assert length >= 0 and gap["to"] > gap["from"]
        runs.append((place, bytes(client.output[taken : taken + length])))
        place, taken = gap["to"], taken + length
    return [*runs, (place, bytes(client.output[taken:]))]


def output(api: Api, sandbox: str, execution: str, *, since: int) -> Iterator[dict[str, object]]:
    path = f"/v1/sandboxes/{sandbox}/exec/{execution}/output?stdout={since}"
    with api.client.stream("GET", path) as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            yield json.loads(line)


def test_exec_running_over_a_killed_control_plane_resumes_by_offset(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    line = "echo before; read line; echo after; seq 1 20000"
    body = {"shell": line, "background": True}
    execution = api.call("POST", f"/v1/sandboxes/{sandbox}/exec", json=body)["exec_id"]
    first = next(output(api, sandbox, execution, since=0))
    assert base64.b64decode(str(first["data"])) == b"before\n"
    restart(server)
    path = f"/v1/sandboxes/{sandbox}/exec/{execution}/stdin?close=true"
    api.call("POST", path, content=b"on\n")
    said = b""
    end: object = None
    for part in output(api, sandbox, execution, since=7):
        if "exit" in part:
            end = part["exit"]
        else:
            assert part["offset"] == 7 + len(said)
            said += base64.b64decode(str(part["data"]))
    assert said == b"after\n" + b"".join(b"%d\n" % n for n in range(1, 20001))
    assert isinstance(end, dict) and end["exit_code"] == 0


def test_what_happened_while_no_control_plane_was_there_is_logged_once(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    port = int(server.url.rpartition(":")[2])
    socket = api.box(sandbox).socket
    server.kill()
    with httpx.Client(transport=httpx.HTTPTransport(uds=socket)) as runtime:
        told = runtime.post("http://runtime/execs", json={"argv": ["true"]}).json()
    server.start(port)
    mine = [told["exec_id"]]

    def kinds() -> list[str]:
        found = [one for one in api.events(sandbox) if one["payload"].get("id") in mine]
        return [one["event_type"] for one in found]

    until(kinds, lambda seen: "exec.exited" in seen)
    restart(server)
    api.run(sandbox, "true")  # makes the new control plane read the journal
    until(
        lambda: [one["event_type"] for one in api.events(sandbox)].count("exec.exited"), (2).__eq__
    )
    assert kinds() == ["exec.started", "exec.exited"]


def test_status_of_an_agent_is_right_after_a_killed_control_plane_and_a_killed_agent(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create(name="watched")["sandbox_id"]
    agents = f"/v1/sandboxes/{sandbox}/agents"
    agent = api.call("POST", agents, json={"agent": "shell"})["id"]
    act = f"/v1/sandboxes/{sandbox}/terminals/{agent}/agent"

    def status() -> str:
        found = api.call("GET", "/v1/agents")["agents"]
        mine = [one for one in found if (one["id"], one["sandbox_name"]) == (agent, "watched")]
        return str(mine[0]["status"]["status"]) if mine else ""

    api.call("POST", act, json={"action": "start"})
    until(status, "working".__eq__, 10)
    assert "working" in server.run("list").stdout
    port = int(server.url.rpartition(":")[2])
    socket = api.box(sandbox).socket
    server.kill()
    with httpx.Client(transport=httpx.HTTPTransport(uds=socket)) as runtime:
        runtime.post(f"http://runtime/sessions/{agent}/agent", json={"action": "yield"})
    server.start(port)
    until(status, "done".__eq__, 10)
    api.run(sandbox, "kill -KILL $(pgrep -o bash)")
    until(status, "failed".__eq__, 10)
    shown = api.sandbox(sandbox)["agents"][0]["status"]
    assert shown["reason"] == "Signal KILL ended it."
    assert api.call("GET", "/v1/inbox") == {"items": [], "next": None}


def test_killed_runtime_fails_its_sandbox_within_two_seconds_and_leaves_nothing(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    other = api.create()["sandbox_id"]
    api.terminal(sandbox)
    api.run(sandbox, "echo kept > file")
    before = api.box(sandbox)
    uids = frozenset({before.host_uid}) if os.geteuid() == 0 else frozenset()
    with InsideNetwork(before.host_uid) as network:
        assert connects(network, 8082)
        began = time.monotonic()
        os.kill(before.runtime_pid, signal.SIGKILL)
        failed = api.until(sandbox, lambda told: told["state"] == "failed", seconds=10)
        assert time.monotonic() - began < 2
        assert "SIGKILL" in failed["reason"]
        until(lambda: pids_of(uids), lambda pids: not pids)
        assert not connects(network, 8082) and not connects(network, 3128)
    assert api.run(other, "echo unharmed") == "unharmed\n"
    answer = api.client.post(f"/v1/sandboxes/{sandbox}/exec", json={"argv": ["true"]})
    assert answer.status_code == 409
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat file") == "kept\n"


def test_runtime_killed_while_no_control_plane_was_there_is_told_by_its_reason(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    port = int(server.url.rpartition(":")[2])
    runtime = api.box(sandbox).runtime_pid
    server.kill()
    os.kill(runtime, signal.SIGKILL)
    server.start(port)
    assert "SIGKILL" in api.until(sandbox, lambda told: told["state"] == "failed")["reason"]


class InsideNetwork:
    """A descriptor of the network a sandbox has, which outlives it."""

    def __init__(self, uid: int) -> None:
        if os.geteuid() != 0:
            pytest.skip("only root may look into another uid's network")
        mine = Path("/proc/self/ns/net").readlink()
        spaces = [Path(f"/proc/{pid}/ns/net") for pid in pids_of(frozenset({uid}))]
        self.path = next(space for space in spaces if space.readlink() != mine)

    def __enter__(self) -> int:
        self.fd = os.open(self.path, os.O_RDONLY)
        return self.fd

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def connects(network: int, port: int) -> bool:
    """Whether anything accepts on this port of the sandbox's loopback."""
    code = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
    done = subprocess.run(
        ["nsenter", f"--net=/proc/self/fd/{network}", "/usr/bin/python3", "-c", code],
        pass_fds=(network,),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 or "ConnectionRefusedError" in done.stderr, done.stderr
    return done.returncode == 0


def test_killed_zygote_is_said_and_the_next_start_cleans_up(
    lone: TestServer, api_of_lone: Api
) -> None:
    server, api = lone, api_of_lone
    empty = remains(server.home)
    sandbox = api.create()["sandbox_id"]
    api.run(sandbox, "echo kept > file")
    api.call("PUT", "/v1/pools/shell", json={"min": 2, "max": 2})
    pool_of(api, ready=2)
    uids = uids_of(server.home)
    zygote = zygote_process.zygote_pid(Home(server.home))
    assert zygote is not None
    os.kill(zygote, signal.SIGKILL)
    refused = api.client.post("/v1/sandboxes?wait=ready", json={"profile": "shell"}).json()
    said = refused.get("reason") or refused.get("detail")
    assert "zygote" in said and "atoll up" in said, refused
    assert api.run(sandbox, "echo still there") == "still there\n"
    again = server.run("up", "--home", str(server.home), "--no-browser")
    assert (again.returncode, again.stderr) == (0, "")
    assert "runs again" in again.stdout
    failed = api.until(sandbox, lambda told: told["state"] == "failed")
    assert "zygote" in failed["reason"]
    until(lambda: pids_of(uids), lambda pids: not pids)
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat file") == "kept\n"
    # What waited in a pool ended with it, too, and was replaced.
    before = pool_of(api, ready=2)
    assert api.run(api.create(profile="shell")["sandbox_id"], "echo taken") == "taken\n"
    assert pool_of(api, ready=2)["taken"] == before["taken"] + 1
    api.call("DELETE", "/v1/pools/shell")
    emptied(server)
    uids |= uids_of(server.home)
    until(lambda: changed(server.home, empty, uids), lambda left: left == {})


def pool_of(api: Api, *, ready: int) -> dict[str, int]:
    """The pool of the shell's profile, once so many wait in it."""
    return until(lambda: api.call("GET", "/v1/pools/shell"), lambda pool: pool["ready"] == ready)


def test_stop_and_start_keep_workspace_and_agent_state(server: TestServer, api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    api.run(sandbox, "echo work > file; echo login > ~/.codex/auth.json; echo x > ~/forgotten")
    uids = uids_of(server.home)
    assert api.act(sandbox, "stop")["state"] == "stopped"
    assert not pids_of(uids)
    assert api.act(sandbox, "start")["state"] in ("ready", "active")
    assert api.run(sandbox, "cat file ~/.codex/auth.json; ls ~") == "work\nlogin\n"


def test_destroyed_sandbox_leaves_nothing_on_the_machine(server: TestServer, api: Api) -> None:
    first = api.create()["sandbox_id"]
    api.act(first, "destroy")  # what is made once is made
    await_forgotten(server.home, first)
    before = remains(server.home)
    sandbox = api.create()["sandbox_id"]
    api.terminal(sandbox)
    api.run(sandbox, "head -c 1M /dev/urandom > file; (sleep 600 &) ; setsid sleep 600 >&- 2>&- &")
    uids = uids_of(server.home)
    assert remains(server.home, uids) != before
    api.act(sandbox, "destroy")
    assert changed(server.home, before, uids) == {}


def test_sandboxes_nobody_has_written_down_are_ended_at_the_start(
    lone: TestServer, api_of_lone: Api
) -> None:
    server = lone
    before = remains(server.home)
    api_of_lone.create()
    uids = uids_of(server.home)
    server.kill()
    for path in server.home.glob("atoll.db*"):
        path.unlink()
    server.start()
    assert changed(server.home, before, uids) == {}


FRONT_END = {SECRET: "s" * 40, "x-oa-guest-scope": "g-1"}


def _trust_a_front_end(server: TestServer) -> None:
    """Restart the server with a front end on loopback, which names guests."""
    secret, token = server.home / "front-end-secret", (server.home / "token").stat()
    secret.write_text("s" * 40)
    secret.chmod(0o600)
    os.chown(secret, token.st_uid, token.st_gid)
    words = f'front_end_ranges = ["127.0.0.0/8"]\nfront_end_secret_file = "{secret}"\n'
    (server.home / "config.toml").write_text(words)
    restart(server)


def test_whole_atoll_ends_and_leaves_no_process_mount_or_socket(
    lone: TestServer, api_of_lone: Api
) -> None:
    """Whoever owns a sandbox, and also where it was being made: it is stopped, in order."""
    _trust_a_front_end(lone)
    with httpx.Client(base_url=lone.url, headers=FRONT_END, timeout=60) as guest:
        made = guest.post("/v1/sandboxes?wait=true", json={}).json()["sandbox_id"]
    api_of_lone.create()
    api_of_lone.call("POST", "/v1/sandboxes", json={})
    uids = uids_of(lone.home)
    lone.down()
    left = remains(lone.home, uids)
    assert (left.processes, left.mounts, left.loops) == (frozenset(), frozenset(), frozenset())
    assert not left.cgroups and not left.sockets
    lone.start(int(api_of_lone.client.base_url.port or 0))
    listed = api_of_lone.call("GET", "/v1/sandboxes")["sandboxes"]
    assert [one["state"] for one in listed] == ["stopped"] * 2
    with httpx.Client(base_url=lone.url, headers=FRONT_END, timeout=60) as guest:
        seen = guest.get(f"/v1/sandboxes/{made}").json()
        assert (seen["state"], seen["reason"]) == ("stopped", None)
