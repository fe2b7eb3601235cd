"""Programs by their three streams: 8-bit data, both half-closes, signals, and who leaves."""

import asyncio
import contextlib
import json
import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType

from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.domain.errors import Conflict, LimitReached, Unavailable
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import Reachability
from atoll.ports.runtime import ExecPipe, Output, RuntimeClient
from atoll.runtime.api import exec_pipe as route
from atoll.runtime.execs import execs as bounds
from atoll.runtime.execs import piped
from atoll.wire.contract.exec_pipe import (
    MAX_FRAME_BYTES,
    PATH,
    OutputEnd,
    PipeBody,
    ProgramExit,
    Stream,
)
from atoll.wire.contract.terminals import End
from atoll.wire.words.walls import IsolationLevel
from tests.peers.api import Pauses
from tests.runtime.stage import Runtime, abort, runtime

PATIENCE_SECONDS = 60
WALL = Isolation(IsolationLevel.NONE, "none")
EVERY_BYTE = bytes(range(256))


@pytest.fixture
async def rt() -> AsyncIterator[Runtime]:
    async with asyncio.timeout(PATIENCE_SECONDS), runtime() as made:
        yield made


@pytest.fixture
async def client(rt: Runtime) -> AsyncIterator[RuntimeClient]:
    clients = HttpRuntimeClients()
    yield clients.client(Reachability(f"unix:{rt.socket_path}", WALL))
    await clients.close()


@asynccontextmanager
async def raw(rt: Runtime, first: object = None) -> AsyncIterator[ClientWebSocketResponse]:
    """A WebSocket of our own, after its first frame where there is one."""
    async with rt.client.ws_connect(f"http://runtime{PATH}", max_msg_size=0) as ws:
        if first is not None:
            await ws.send_str(json.dumps(first))
        yield ws


async def started(ws: ClientWebSocketResponse) -> None:
    assert json.loads((await ws.receive()).data)["type"] == "started"


async def to_close(ws: ClientWebSocketResponse) -> list[Any]:
    """What comes until the close: bytes, or decoded texts."""
    return [
        each.data if each.type is WSMsgType.BINARY else json.loads(each.data)
        async for each in ws
        if each.type in (WSMsgType.BINARY, WSMsgType.TEXT)
    ]


class Seen:
    """What a program wrote, and how it ended."""

    def __init__(self) -> None:
        self.data = {Stream.STDOUT: bytearray(), Stream.STDERR: bytearray()}
        self.ends: list[str] = []
        self.exit: End | None = None

    async def read(self, pipe: ExecPipe) -> "Seen":
        async for event in pipe:
            match event:
                case Output(stream, data):
                    self.data[stream] += data
                case OutputEnd(stream=name):
                    self.ends.append(name)
                case ProgramExit(exit=end):
                    self.exit = end
        return self

    @property
    def out(self) -> bytes:
        return bytes(self.data[Stream.STDOUT])

    @property
    def err(self) -> bytes:
        return bytes(self.data[Stream.STDERR])


async def run(client: RuntimeClient, body: PipeBody, stdin: bytes = b"") -> Seen:
    """Run a program to its end with this input."""

    async def write() -> None:
        try:
            await pipe.write(stdin)
            await pipe.write_eof()
        except Conflict:
            pass  # it ended before it read all

    async with client.pipe(body) as pipe, asyncio.TaskGroup() as tasks:
        tasks.create_task(write())
        return await Seen().read(pipe)


async def until_idle(rt: Runtime) -> None:
    """Until no program runs."""
    pauses = Pauses()
    while (await rt.call("GET", "/health"))[1]["execs"]:
        await pauses.wait()


async def until_file(path: Path, has: Callable[[str], bool] = bool) -> None:
    """Until a program has written this."""
    pauses = Pauses()
    while not (path.exists() and has(path.read_text())):
        await pauses.wait()


# Streams.


async def test_every_byte_goes_through_and_the_streams_stay_apart(client: RuntimeClient) -> None:
    data = EVERY_BYTE * 5000
    seen = await run(client, PipeBody(shell="tee /dev/stderr; exit 7"), data)
    assert (seen.out, seen.err, seen.exit) == (data, data, End(code=7))
    assert sorted(seen.ends) == ["stderr", "stdout"]


@pytest.mark.parametrize("code", [0, 1, 77, 126, 127, 128, 254, 255])
async def test_exit_code_is_the_programs(client: RuntimeClient, code: int) -> None:
    assert (await run(client, PipeBody(shell=f"exit {code}"))).exit == End(code=code)


async def test_program_killed_by_a_signal_names_it(client: RuntimeClient) -> None:
    assert (await run(client, PipeBody(shell="kill -SEGV $$"))).exit == End(signal="SEGV")


async def test_cwd_environment_and_actor_are_the_programs(
    rt: Runtime, client: RuntimeClient
) -> None:
    body = PipeBody(shell="pwd; echo $X", cwd="/usr", env={"X": "é"}, actor="user:u_1")
    assert (await run(client, body)).out == "/usr\né\n".encode()
    entries = rt.journal.read(0, 10).entries
    assert [entry.kind for entry in entries] == ["exec.started", "exec.exited"]
    assert all(entry.payload["actor"] == "user:u_1" for entry in entries)
    assert entries[1].payload["exit"] == {"code": 0}


async def test_program_that_reads_to_the_end_answers_after_the_half_close(
    client: RuntimeClient,
) -> None:
    async with client.pipe(PipeBody(argv=["wc", "-c"])) as pipe:
        await pipe.write(b"x" * 1000)
        await pipe.write_eof()
        await pipe.write_eof()
        with pytest.raises(Conflict):
            await pipe.write(b"late")
        assert (await Seen().read(pipe)).out.strip() == b"1000"


async def test_output_that_ends_first_is_told_while_the_program_reads_on(
    client: RuntimeClient,
) -> None:
    async with client.pipe(PipeBody(shell="exec >&-; wc -c >&2")) as pipe:
        events = aiter(pipe)
        assert await anext(events) == OutputEnd("stdout")
        await pipe.write(b"four")
        await pipe.write_eof()
        seen = await Seen().read(pipe)
    assert (seen.err.strip(), seen.exit) == (b"4", End(code=0))


async def test_program_that_closes_its_input_lets_its_writer_go_on(client: RuntimeClient) -> None:
    body = PipeBody(shell="exec <&-; echo closed; exec sleep 1000")
    async with client.pipe(body) as pipe, asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(Seen().read(pipe))
        await pipe.write(bytes(8 * piped.WINDOW_BYTES))
        await pipe.signal("TERM")
        seen = await reading
    assert (seen.out, seen.exit) == (b"closed\n", End(signal="TERM"))


async def test_megabytes_go_there_and_back_unchanged(client: RuntimeClient) -> None:
    data = random.Random(7).randbytes(24 * 2**20)
    seen = await run(client, PipeBody(argv=["cat"]), data)
    assert (seen.out == data, seen.exit) == (True, End(code=0))


async def test_what_it_left_running_holds_the_end_up_no_longer_than_the_grace(
    rt: Runtime, client: RuntimeClient
) -> None:
    left = "(while sleep 0.05; do echo noise || exit; echo x >> alive; done) & echo done"
    seen = await run(client, PipeBody(shell=left))
    assert (seen.out.startswith(b"done\n"), seen.exit) == (True, End(code=0))
    lines = (rt.home / "w/alive").read_text().count("x")
    # A closed pipe would end it at its next line.
    await until_file(rt.home / "w/alive", lambda text: text.count("x") > lines + 5)
    assert (await rt.call("DELETE", "/processes"))[0] == 204


# Flow control.


async def test_reader_that_stops_stops_the_program_and_loses_nothing(
    rt: Runtime, client: RuntimeClient
) -> None:
    count = 48 * 2**20
    counter = rt.home / "w/count"
    script = (
        "import os\n"
        "for n in range(768):\n"
        "    os.write(1, bytes([n % 251]) * 65536)\n"
        "    open('count', 'w').write(str(n))\n"
    )
    async with client.pipe(PipeBody(argv=["python3", "-c", script])) as pipe:
        events = aiter(pipe)
        first = await anext(events)
        assert isinstance(first, Output)
        stopped = await _until_still(counter)
        assert stopped * 65536 < 16 * 2**20
        total, last = len(first.data), first.data[-1]
        async for event in pipe:
            if isinstance(event, Output):
                total, last = total + len(event.data), event.data[-1]
    assert (total, last) == (count, 767 % 251)


async def _until_still(counter: Path) -> int:
    """The number in a file once it stands still for half a second."""
    seen, since, loop = "", 0.0, asyncio.get_running_loop()
    while True:
        now = counter.read_text() if counter.exists() else ""
        if now != seen or not now:
            seen, since = now, loop.time()
        elif loop.time() - since > 0.5:
            return int(now)
        await asyncio.sleep(0.02)


async def test_output_of_a_program_that_ended_waits_for_its_reader(client: RuntimeClient) -> None:
    async with client.pipe(PipeBody(shell="head -c 200000 /dev/zero; echo end >&2")) as pipe:
        # Long past the grace after the exit.
        await asyncio.sleep(3 * 0.5)
        seen = await Seen().read(pipe)
    assert (len(seen.out), seen.err, seen.exit) == (200000, b"end\n", End(code=0))


async def test_signal_overtakes_input_that_nobody_reads(client: RuntimeClient) -> None:
    async with client.pipe(PipeBody(argv=["sleep", "1000"])) as pipe, asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(Seen().read(pipe))
        writing = tasks.create_task(_dropped_or_refused(pipe))
        assert not (await asyncio.wait({writing}, timeout=0.3))[0]
        await pipe.signal("TERM")
        assert (await reading).exit == End(signal="TERM")


async def _dropped_or_refused(pipe: ExecPipe) -> None:
    """What nobody will read is dropped until the exit is told, and refused from then on."""
    with suppress(Conflict):
        await pipe.write(bytes(8 * piped.WINDOW_BYTES))


@pytest.mark.parametrize("name", ["INT", "USR1", "KILL", "ALRM"])
async def test_signal_reaches_the_programs_group(client: RuntimeClient, name: str) -> None:
    # Not a child of the shell's: one between its fork and its exec may lose an INT.
    async with client.pipe(PipeBody(shell="echo ready; exec sleep 1000")) as pipe:
        assert isinstance(await anext(aiter(pipe)), Output)
        await pipe.signal(name)
        assert (await Seen().read(pipe)).exit == End(signal=name)
        await pipe.signal(name)


# Who leaves.


async def test_program_is_hung_up_when_its_client_leaves(
    rt: Runtime, client: RuntimeClient
) -> None:
    script = "trap 'echo hup > gone; exit' HUP; echo ready; while :; do sleep 0.05; done"
    async with client.pipe(PipeBody(shell=script)) as pipe:
        await anext(aiter(pipe))
    await until_file(rt.home / "w/gone")
    await until_idle(rt)


async def test_program_is_hung_up_when_its_client_vanishes_while_it_reads_nothing(
    rt: Runtime,
) -> None:
    script = "trap 'echo hup > gone; exit' HUP; echo ready; while :; do sleep 0.05; done"
    async with raw(rt, {"shell": script}) as ws:
        await started(ws)
        for _ in range(piped.WINDOW_BYTES // 65536):
            await ws.send_bytes(bytes(65537))
        abort(ws)
    await until_file(rt.home / "w/gone")
    await until_idle(rt)


async def test_program_that_ignores_the_hangup_is_killed_after_a_grace(
    rt: Runtime, client: RuntimeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped, "HANG_UP_SECONDS", 0.2)
    script = "trap '' HUP; yes & echo $$ $! > pids; wait; :"
    async with client.pipe(PipeBody(shell=script)) as pipe:
        await anext(aiter(pipe))
        await until_file(rt.home / "w/pids")
    await until_idle(rt)
    exits = [entry.payload for entry in rt.journal.read(0, 10).entries]
    assert exits[-1]["exit"] == {"signal": "KILL"}
    assert (await rt.call("GET", "/processes"))[1]["processes"] == []


async def test_process_that_detached_itself_outlives_the_client(
    rt: Runtime, client: RuntimeClient
) -> None:
    script = (
        "setsid sh -c 'while sleep 0.05; do echo noise; echo x >> alive; done' & "
        "echo ready; sleep 1000"
    )
    async with client.pipe(PipeBody(shell=script)) as pipe:
        await anext(aiter(pipe))
        await until_file(rt.home / "w/alive")
    await until_idle(rt)
    lines = (rt.home / "w/alive").read_text().count("x")
    await until_file(rt.home / "w/alive", lambda text: text.count("x") > lines + 5)
    assert (await rt.call("DELETE", "/processes"))[0] == 204


async def test_runtime_that_ends_breaks_the_pipe_off() -> None:
    clients = HttpRuntimeClients()
    async with asyncio.timeout(PATIENCE_SECONDS), AsyncExitStack() as served:
        rt = await served.enter_async_context(runtime())
        client = clients.client(Reachability(f"unix:{rt.socket_path}", WALL))
        async with client.pipe(PipeBody(argv=["sleep", "1000"])) as pipe:
            await served.aclose()
            with pytest.raises(Unavailable):
                await Seen().read(pipe)
            with pytest.raises(Unavailable):
                await pipe.write(b"x")
        await clients.close()


async def test_end_is_not_told_once_the_sandboxs_end_was_announced(
    rt: Runtime, client: RuntimeClient
) -> None:
    async with client.pipe(PipeBody(argv=["cat"])) as pipe:
        assert (await rt.call("POST", "/farewell", {"reason": "r", "guest_reason": "g"}))[0] == 204
        await pipe.write_eof()
        with pytest.raises(Unavailable):
            await Seen().read(pipe)
    with pytest.raises(Conflict) as refused:
        async with client.pipe(PipeBody(argv=["true"])):
            pass
    assert refused.value.code == "not_running"


async def test_sandbox_that_falls_asleep_starts_nothing(rt: Runtime, client: RuntimeClient) -> None:
    assert (await rt.call("POST", "/rest", {"idle_seconds": 0}))[0] == 200
    with pytest.raises(Conflict) as refused:
        async with client.pipe(PipeBody(argv=["true"])):
            pass
    assert refused.value.code == "falling_asleep"


async def test_program_beyond_the_bound_is_refused(
    client: RuntimeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MAX_RUNNING", 1)
    async with client.pipe(PipeBody(argv=["cat"])):
        with pytest.raises(LimitReached):
            async with client.pipe(PipeBody(argv=["cat"])):
                pass


# Attacks.


@pytest.mark.parametrize(
    ("first", "field"),
    [
        ({}, "argv"),
        ({"argv": ["true"], "shell": "true"}, "argv"),
        ({"argv": []}, "argv"),
        ({"argv": [""]}, "argv"),
        ({"argv": ["a\0b"]}, "argv"),
        ({"argv": ["true", "\ud800"]}, None),
        ({"argv": ["x"] * 5000}, "argv"),
        ({"argv": ["true"], "cwd": "usr"}, "cwd"),
        ({"argv": ["true"], "cwd": "/u\0"}, "cwd"),
        ({"argv": ["true"], "cwd": "/nowhere"}, "cwd"),
        ({"argv": ["true"], "env": {"A=B": "x"}}, "env"),
        ({"argv": ["true"], "env": {"A": "\0"}}, "env"),
        ({"argv": ["true"], "actor": "a" * 300}, "actor"),
        ({"argv": ["no-such-program"]}, "argv"),
        ({"tool": ["remove"]}, "tool"),
        ({"tool": ["../bin/sh"]}, "tool"),
        ({"tool": ["sftp"], "env": {"LD_PRELOAD": "x"}}, "tool"),
        ({"tool": ["sftp"], "argv": ["true"]}, "argv"),
        ({"argv": ["true"], "stdin": "x"}, None),
        ({"argv": ["true"], "secrets": "please"}, None),
        ({"argv": "true"}, None),
        ([], None),
        ("text", None),
    ],
)
async def test_first_frame_that_says_nothing_to_run_is_refused(
    rt: Runtime, first: object, field: str | None
) -> None:
    async with raw(rt, first) as ws:
        (failure,) = await to_close(ws)
        assert (failure["type"], failure["error"]["status"]) == ("error", 422)
        assert failure["error"].get("field") == field
        assert ws.close_code == route.REFUSED
    assert rt.execs.running == 0


async def test_client_that_says_nothing_is_let_go(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route, "FIRST_SECONDS", 0.05)
    async with raw(rt) as ws:
        (failure,) = await to_close(ws)
        assert failure["error"]["code"] == "invalid"


async def test_binary_first_frame_is_refused(rt: Runtime) -> None:
    async with raw(rt) as ws:
        await ws.send_bytes(b'\0{"argv":["true"]}')
        (failure,) = await to_close(ws)
        assert failure["error"]["code"] == "invalid"


async def test_request_without_an_upgrade_is_refused(rt: Runtime) -> None:
    assert (await rt.call("GET", PATH))[0] == 422


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\1stdout",
        b"\3",
        b"\xff" * 10,
        "",
        "end",
        "{}",
        '{"type":"exit","exit":{"code":0}}',
        '{"type":"signal","signal":"STKFLT"}',
        '{"type":"signal","signal":"9"}',
        '{"type":"signal","signal":9}',
        "[" * 5000,
    ],
)
async def test_frame_outside_the_contract_ends_the_pipe_and_its_program(
    rt: Runtime, frame: bytes | str
) -> None:
    async with raw(rt, {"argv": ["sleep", "1000"]}) as ws:
        await started(ws)
        await (ws.send_str(frame) if isinstance(frame, str) else ws.send_bytes(frame))
        (failure,) = await to_close(ws)
        assert (failure["type"], failure["error"]["code"]) == ("error", "invalid")
        assert ws.close_code == route.REFUSED
    await until_idle(rt)


async def test_input_after_its_end_ends_the_pipe(rt: Runtime) -> None:
    async with raw(rt, {"argv": ["sleep", "1000"]}) as ws:
        await started(ws)
        await ws.send_str('{"type":"eof"}')
        await ws.send_bytes(b"\0late")
        (failure,) = await to_close(ws)
        assert failure["error"]["field"] == "stream"
    await until_idle(rt)


@pytest.mark.parametrize("when", ["first", "later"])
async def test_giant_frame_ends_the_pipe(rt: Runtime, when: str) -> None:
    async with raw(rt, None if when == "first" else {"argv": ["sleep", "1000"]}) as ws:
        if when == "later":
            await started(ws)
        giant = b"\0" * (MAX_FRAME_BYTES + 1)
        # The runtime does not read all of it before it closes.
        with contextlib.suppress(ConnectionError):
            await (ws.send_bytes(giant) if when == "later" else ws.send_str(giant.decode()))
        assert not [each for each in await to_close(ws) if each["type"] != "error"]
        assert ws.closed
    await until_idle(rt)


async def test_many_tiny_frames_are_taken_in_order(rt: Runtime) -> None:
    count = 100_000
    async with raw(rt, {"argv": ["cat"]}) as ws:
        await started(ws)

        async def send() -> None:
            for number in range(count):
                await ws.send_bytes(b"\0%c" % (number % 256))
            await ws.send_str('{"type":"eof"}')

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(send())
            frames = await to_close(ws)
    data = b"".join(frame[1:] for frame in frames if isinstance(frame, bytes))
    assert data == bytes(number % 256 for number in range(count))
    assert frames[-1] == {"type": "exit", "exit": {"code": 0}}


async def test_client_beyond_its_window_is_cut_off(rt: Runtime) -> None:
    async with raw(rt, {"argv": ["sleep", "1000"]}) as ws:
        await started(ws)
        with contextlib.suppress(ConnectionError):
            for _ in range(2 * piped.WINDOW_BYTES // 65536):
                await ws.send_bytes(bytes(65537))
        failure = (await to_close(ws))[-1]
        assert failure["error"]["field"] == "stream"
    await until_idle(rt)


async def test_refusal_does_not_repeat_a_secret() -> None:
    secret = f"sk-{os.urandom(12).hex()}"
    async with runtime(secrets=(secret,)) as rt, raw(rt, {"argv": [secret]}) as ws:
        (failure,) = await to_close(ws)
    assert failure["error"]["code"] == "no_such_program"
    assert secret not in failure["error"]["message"]


# Secrets.

SECRET = "hunter2-hunter2-hunter2"


@asynccontextmanager
async def with_secret() -> AsyncIterator[tuple[Runtime, RuntimeClient]]:
    """A runtime that knows `SECRET`, and a client of it."""
    clients = HttpRuntimeClients()
    async with asyncio.timeout(PATIENCE_SECONDS), runtime(secrets=(SECRET,)) as rt:
        yield rt, clients.client(Reachability(f"unix:{rt.socket_path}", WALL))
        await clients.close()


@pytest.mark.parametrize("around", [b"text ", b"\0binary\xff"])
async def test_secret_in_output_is_masked_in_text_and_in_binary(around: bytes) -> None:
    data = around * 9000 + SECRET.encode() + around * 9000
    async with with_secret() as (_, client):
        seen = await run(client, PipeBody(shell="tee /dev/stderr"), data)
    assert seen.out == seen.err == data.replace(SECRET.encode(), b"*" * len(SECRET))


async def test_coloured_secret_in_text_is_masked() -> None:
    coloured = b"\x1b[1m".join((b"hunter2-", b"hunter2-", b"hunter2"))
    async with with_secret() as (_, client):
        seen = await run(client, PipeBody(argv=["cat"]), coloured)
    assert b"hunter2" not in seen.out


async def test_beginning_of_a_secret_is_not_held_for_ever() -> None:
    async with (
        with_secret() as (_, client),
        client.pipe(PipeBody(shell="printf hunter; exec sleep 1000")) as pipe,
    ):
        assert await anext(aiter(pipe)) == Output(Stream.STDOUT, b"hunter")


def sftp_message(kind: int, body: bytes) -> bytes:
    return (len(body) + 1).to_bytes(4, "big") + bytes([kind]) + body


def sftp_text(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


async def read_by_sftp(client: RuntimeClient, name: str, secrets: Any) -> bytes:
    """What an SFTP server sends for a file of 64 bytes that is read in two halves."""
    opening = (b"\0\0\0\1", sftp_text(name.encode()), b"\0\0\0\1", bytes(4))
    async with client.pipe(PipeBody(tool=["sftp"], secrets=secrets)) as pipe:
        await pipe.write(sftp_message(1, b"\0\0\0\3") + sftp_message(3, b"".join(opening)))
        opened, handle = b"", None
        async for event in pipe:
            assert isinstance(event, Output), event
            opened += event.data
            if (handle := _handle_of(opened)) is not None:
                break
        for at in (0, 32):
            span = at.to_bytes(8, "big") + (32).to_bytes(4, "big")
            await pipe.write(sftp_message(5, b"\0\0\0\2" + sftp_text(handle or b"") + span))
        await pipe.write_eof()
        return (await Seen().read(pipe)).out


def _handle_of(data: bytes) -> bytes | None:
    """The handle in a server's messages, where it is there."""
    at = 0
    while len(data) >= at + 5:
        size = int.from_bytes(data[at : at + 4], "big")
        message = data[at + 4 : at + 4 + size]
        if len(message) == size and message[0] == 102:
            return message[9:]
        at += 4 + size
    return None


@pytest.mark.parametrize("secrets", ["refuse", "allow"])
async def test_file_that_holds_a_secret_leaves_by_sftp_only_where_allowed(secrets: str) -> None:
    content = b"x" * 20 + SECRET.encode() + b"y" * (44 - len(SECRET))
    async with with_secret() as (rt, client):
        (rt.home / "w" / "plain").write_bytes(b"z" * 64)
        (rt.home / "w" / "secret").write_bytes(content)
        assert b"z" * 32 in await read_by_sftp(client, f"{rt.home}/w/plain", secrets)
        assert rt.journal.read(0, 10).entries == []
        if secrets == "allow":
            out = await read_by_sftp(client, f"{rt.home}/w/secret", secrets)
            assert content[:32] in out and content[32:] in out
        else:
            with pytest.raises(Conflict) as refused:
                await read_by_sftp(client, f"{rt.home}/w/secret", secrets)
            assert refused.value.code == "holds_secret"
        (entry,) = rt.journal.read(0, 10).entries
        kind = {"refuse": "secret.withheld", "allow": "secret.exported"}[secrets]
        assert (entry.kind, entry.payload) == (kind, {"path": "sftp"})
