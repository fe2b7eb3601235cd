"""`init ask`: it waits for the door's decision and becomes exactly the command."""

import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

from tests.inside.architectures import every_init

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"),
    reason="the door's port needs a network of its own",
)
INITS = every_init()
Words = tuple[str, ...]

# Answers one caller with the status given, then prints what it got and what the program did.
DOOR = r"""
import json, os, socket, subprocess, sys, threading
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
answer, words = sys.argv[1], json.loads(sys.argv[2])
got = []
if answer:
    door = socket.create_server(("127.0.0.1", 3128))
    def serve():
        global answer
        peer, _ = door.accept()
        said = b""
        while said.count(b"\0") < int(sys.argv[3]):
            said += peer.recv(65536)
        got.append(said.decode())
        if "WAIT" in answer:  # for a signal, which comes after the words
            answer = answer.replace("WAIT", str(peer.recv(1)[0]))
        peer.sendall(b"HTTP/1.1 " + answer.encode() + b"\r\nConnection: close\r\n\r\nbecause\n")
        peer.close()
    threading.Thread(target=serve, daemon=True).start()
shims = "/opt/atoll/agents/.safety/bin"
env = {"PATH": f"{shims}:/nowhere:/usr/bin:/bin"}
done = subprocess.run(words, capture_output=True, text=True, cwd="/tmp", env=env)
print(json.dumps([got, done.returncode, done.stdout, done.stderr]))
"""


def asked(answer: str, *words: str, init: Words) -> tuple[list[str], int, str, str]:
    argv = [*init, "ask", *words]
    nuls = str(len(words) - 1 + 1)  # kind and directory, and every word after `--`
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", DOOR, answer, json.dumps(argv), nuls],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    got, code, out, said = json.loads(done.stdout)
    return got, code, out, said


@pytest.mark.parametrize("init", INITS)
def test_yes_becomes_exactly_the_command(init: Words) -> None:
    words = ("operator", "--", "printf", "%s|", "a b", "", "c;d", "é")
    got, code, out, _ = asked("200 OK", *words, init=init)
    assert (code, out) == (0, "a b||c;d|é|")
    body = "operator\0/tmp\0printf\0%s|\0a b\0\0c;d\0é\0"
    assert got[0].startswith("POST /atoll/ask HTTP/1.1\r\n")
    assert got[0].endswith(f"Content-Length: {len(body.encode())}\r\n\r\n{body}")


@pytest.mark.parametrize("init", INITS)
def test_no_runs_nothing_and_says_why(init: Words) -> None:
    _, code, out, said = asked("403 Forbidden", "operator", "--", "echo", "x", init=init)
    assert (code, out) == (1, "")
    assert said.endswith("atoll: not run: because\n")
    _, code, out, said = asked("403 Forbidden", "sudo", "--", "echo", "x", init=init)
    assert said.endswith("atoll: sudo: because\n")


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize(
    ("answer", "words", "code"),
    [
        ("", ("operator", "--", "echo", "x"), 69),
        ("nonsense", ("operator", "--", "echo", "x"), 69),
        ("200 OK", ("operator", "--", "no-such-program"), 127),
        ("200 OK", ("operator", "--", "/etc/passwd"), 126),
        ("", ("operator", "echo"), 64),
    ],
)
def test_anything_else_runs_nothing_with_its_own_code(
    answer: str, words: tuple[str, ...], code: int, init: Words
) -> None:
    _, ended, out, said = asked(answer, *words, init=init)
    assert (ended, out) == (code, "")
    assert said


@pytest.mark.parametrize("init", INITS)
def test_sudo_runs_nothing_itself_and_ends_as_the_command_did(init: Words) -> None:
    answer = "200 OK\r\nAtoll-Exit: 42"
    got, code, out, _ = asked(answer, "sudo", "--", "echo", "x", init=init)
    assert (code, out) == (42, "")
    _head, _, body = got[0].partition("\r\n\r\n")
    kind, *rest = body.split("\0")
    assert rest == ["/tmp", "echo", "x", ""]
    assert kind.startswith("sudo ") and int(kind.removeprefix("sudo ")) > 1
    assert asked("200 OK", "sudo", "--", "echo", "x", init=init)[1:3] == (69, "")


@pytest.mark.parametrize("init", INITS)
def test_sudo_passes_signals_on_and_waits_all_the_same(init: Words) -> None:
    asking = [*init, "ask", "sudo", "--", "sleep", "9"]
    # Before it hears the signal it would only die of it, and be no question of passing on. The
    # shell that becomes it hears it, too.
    told = "/proc/$child/status"
    hears = f"! grep -q '^Name:.sh$' {told} && grep -q '^SigCgt:.*[2367abef]$' {told}"
    pressing = f"until {hears}; do sleep 0.02; done; while kill -INT $child; do sleep 0.1; done"
    line = f"{shlex.join(asking)} & child=$!; {{ {pressing}; }} 2>/dev/null & wait $child"
    answer = "200 OK\r\nAtoll-Exit: WAIT"
    done = subprocess.run(
        [
            "unshare",
            "--net",
            sys.executable,
            "-c",
            DOOR,
            answer,
            json.dumps(["sh", "-c", line]),
            "4",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)[1] == 2
