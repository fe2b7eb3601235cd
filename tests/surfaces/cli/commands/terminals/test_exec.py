"""`atoll exec`: streams, codes, input, broken lines, signals."""

import base64
import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, problem

OUTPUT = "/v1/sandboxes/box/exec/ex_1/output"


@pytest.fixture(autouse=True)
def box(server: Scripted) -> None:
    server.add("box")
    server.output = [chunk("stdout", 0, b"out\n"), chunk("stderr", 0, b"err\n"), ended(0)]


def chunk(stream: str, offset: int, data: bytes) -> dict[str, Any]:
    return {"stream": stream, "offset": offset, "data": base64.b64encode(data).decode()}


def ended(code: int | None, **fields: Any) -> dict[str, Any]:
    return {"exit": {"exec_id": "ex_1", "exit_code": code, "signal": None, **fields}}


def test_exec_keeps_the_streams_apart_and_returns_the_code(cli: Cli, server: Scripted) -> None:
    server.output[-1] = ended(3)
    ran = cli("exec", "box", "--cwd", "/workspace/a", "--env", "K=v", "--", "ls", "-l", "--x")
    assert (ran.code, ran.out, ran.err) == (3, "out\n", "err\n")
    assert server.requests("POST", "/v1/sandboxes/box/exec")[0].json == {
        "background": True,
        "max_output_bytes": 64 * 1024 * 1024,
        "argv": ["ls", "-l", "--x"],
        "cwd": "/workspace/a",
        "env": {"K": "v"},
        "stdin": "",
    }
    assert server.requests("DELETE", "/v1/sandboxes/box/exec/ex_1")


def test_exec_with_reap_asks_that_nothing_be_left(cli: Cli, server: Scripted) -> None:
    assert cli("exec", "box", "--reap", "--", "make").code == 0
    assert server.requests("POST", "/v1/sandboxes/box/exec")[0].json["reap"] is True
    assert not server.requests("DELETE", "/v1/sandboxes/box/processes")


def test_exec_with_reap_alone_ends_what_was_left(cli: Cli, server: Scripted) -> None:
    assert cli("exec", "box", "--reap").code == 0
    assert server.requests("DELETE", "/v1/sandboxes/box/processes")
    assert cli("exec", "box", "--reap", "--follow", "ex_1").code == 2


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (ended(None, signal="KILL"), 137),
        (ended(None, signal="SIGTERM"), 143),
        (ended(None, signal="KILL", timed_out=True), 124),
        (ended(5, truncated=True), 5),
    ],
)
def test_exec_that_ends_otherwise_says_so_in_its_code(
    cli: Cli, server: Scripted, end: dict[str, Any], code: int
) -> None:
    server.output[-1] = end
    assert cli("exec", "box", "--timeout", "5m", "--shell", "sleep 90").code == code
    asked = server.requests("POST", "/v1/sandboxes/box/exec")[0].json
    assert (asked["shell"], asked["timeout"]) == ("sleep 90", 300)


def test_exec_with_binary_output_passes_every_byte(cli: Cli, server: Scripted) -> None:
    data = bytes(range(256)) * 300
    server.output = [chunk("stdout", 0, data), ended(0)]
    assert cli("exec", "box", "--", "cat").raw == data


def test_exec_over_a_broken_line_neither_loses_nor_repeats(cli: Cli, server: Scripted) -> None:
    parts = [os.urandom(1000) for _ in range(9)]
    server.output = [chunk("stdout", n * 1000, part) for n, part in enumerate(parts)] + [ended(0)]
    server.break_output_after = 4
    assert cli("exec", "box", "--", "cat").raw == b"".join(parts)
    assert len(server.requests("GET", OUTPUT)) == 2


def test_exec_in_the_background_prints_its_id_and_can_be_followed(
    cli: Cli, server: Scripted
) -> None:
    assert cli("exec", "box", "--background", "--", "make").out == "ex_1\n"
    server.answers["GET /v1/sandboxes/box/exec/ex_1"] = lambda _: json_of({"exec_id": "ex_1"})
    ran = cli("exec", "box", "--follow", "ex_1")
    assert (ran.code, ran.out) == (0, "out\n")
    assert not server.requests("DELETE", "/v1/sandboxes/box/exec/ex_1")


def test_exec_with_json_prints_the_whole_exec(cli: Cli, server: Scripted) -> None:
    shown = json.loads(cli("exec", "box", "--json", "--", "make").out)
    assert base64.b64decode(shown["stdout"]) == b"out\n"
    assert base64.b64decode(shown["stderr"]) == b"err\n"
    assert shown["exit_code"] == 0


def test_exec_passes_a_pipe_on_as_input(environ: dict[str, str], server: Scripted) -> None:
    data = os.urandom(200_000)

    server.output = []
    with spawn(environ, "exec", "box", "--", "cat") as process:
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.close()
        assert server.stdin_closed.wait(15)
        # As `cat > file` does, the command ends once it has read everything.
        server.output = [ended(0)]
        assert process.wait(15) == 0
    assert bytes(server.stdin) == data
    assert "stdin" not in server.requests("POST", "/v1/sandboxes/box/exec")[0].json


def test_interrupt_is_passed_on_to_the_command(environ: dict[str, str], server: Scripted) -> None:
    server.output = [chunk("stdout", 0, b"going\n")]
    arguments = ("exec", "box", "--", "sleep", "9")
    with spawn(environ, *arguments, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"going\n"
        process.send_signal(signal.SIGINT)
        while not server.requests("POST", "/v1/sandboxes/box/exec/ex_1/signal"):
            assert process.poll() is None
        server.output.append(ended(None, signal="INT"))
        assert process.wait(15) == 130
    sent = server.requests("POST", "/v1/sandboxes/box/exec/ex_1/signal")[0]
    assert sent.json == {"signal": "INT"}


def test_exec_in_a_sandbox_that_does_not_run_is_a_conflict(cli: Cli, server: Scripted) -> None:
    server.answers["POST /v1/sandboxes/box/exec"] = lambda _: problem(
        409, "conflict", "box is stopped: start it"
    )
    ran = cli("exec", "box", "--", "ls")
    assert (ran.code, ran.err) == (4, "atoll: box is stopped: start it\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("box",),
        ("box", "--shell", "a", "--", "b"),
        ("box", "--env", "novalue", "--", "b"),
        ("box", "--timeout", "soon", "--", "b"),
    ],
)
def test_exec_with_wrong_words_is_a_usage_error(
    cli: Cli, server: Scripted, arguments: tuple[str, ...]
) -> None:
    assert cli("exec", *arguments).code == 2
    assert server.seen == []


def json_of(value: Any) -> Any:
    from aiohttp import web

    return web.json_response(value)


def spawn(
    environ: dict[str, str], *arguments: str, stdin: int = subprocess.PIPE
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "atoll.wiring.command", *arguments],
        env={**os.environ, **environ},
        stdin=stdin,
        stdout=subprocess.PIPE,
    )
