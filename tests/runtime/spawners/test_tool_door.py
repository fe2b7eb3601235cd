"""`init mcp`: it pumps lines through the broker's door, and calls one tool."""

import json
import os
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

# A door on its port that serves one caller by a scene, then what the program did. A scene takes
# the connection and the head of the request, which it has read.
DOOR = r"""
import json, os, socket, subprocess, sys, threading
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: atoll-mcp\r\n\r\n"
got = []

def echo(peer, head):
    "Give back every byte, and end with the client."
    peer.sendall(SWITCH)
    while data := peer.recv(65536):
        peer.sendall(data)

def count(peer, head):
    "Count the bytes, and say so once they end."
    peer.sendall(SWITCH)
    size = 0
    while data := peer.recv(65536):
        size += len(data)
    peer.sendall(b"%d\n" % size)

def flood(peer, head):
    "Say more than anybody takes, until that is refused."
    peer.sendall(SWITCH)
    try:
        while True:
            peer.sendall(b"x" * 65536)
    except OSError:
        got.append("gone")

def leave(peer, head):
    "Go away amid a call."
    peer.sendall(SWITCH)
    peer.recv(1)

def refuse(peer, head):
    body = b'{"error":"not_found"}'
    peer.sendall(b"HTTP/1.1 404 not_found\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    peer.recv(65536)

def silent(peer, head):
    pass

def called(peer, head):
    length = head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
    body = b""
    while len(body) < int(length or 0):
        body += peer.recv(65536)
    got.append(body.decode())
    code = 0 if b"fine" in body or not length else 1
    peer.sendall(b"HTTP/1.1 200 OK\r\nAtoll-Exit: %d\r\n\r\nanswer\n" % code)

def serve(door, scene):
    peer, _ = door.accept()
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += peer.recv(1)
    got.append(head.decode().partition(" HTTP/")[0])
    got.append(b"Upgrade: atoll-mcp" in head)
    scene(peer, head)
    peer.close()

scene, words, given, use = json.loads(sys.argv[1])
if scene:
    door = socket.create_server(("127.0.0.1", 8082))
    thread = threading.Thread(target=serve, args=(door, globals()[scene]), daemon=True)
    thread.start()
asked = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env={"PATH": "/nowhere"})
size = given if isinstance(given, int) else None
data = b"x" * size + b"\n" if size else given.encode()
if use == "all":
    out, said = asked.communicate(data)
elif use == "open":  # the input has no end
    asked.stdin.write(data)
    asked.stdin.flush()
    out, said = asked.stdout.read(), asked.stderr.read()
    asked.wait()
else:  # nobody reads
    asked.stdout.close()
    asked.stdin.close()
    out, said = b"", asked.stderr.read()
    asked.wait()
if scene:
    thread.join(20)
print(json.dumps([got, asked.returncode, out.decode(), said.decode()]))
"""
Done = tuple[list[object], int, str, str]


def asked(scene: str, *words: str, init: Words, given: str | int = "", use: str = "all") -> Done:
    argv = [*init, "mcp", *words]
    told = json.dumps([scene, argv, given, use])
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", DOOR, told],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    got, code, out, said = json.loads(done.stdout)
    return got, code, out, said


@pytest.mark.parametrize("init", INITS)
def test_lines_go_both_ways_until_the_input_ends(init: Words) -> None:
    got, code, out, said = asked("echo", init=init, given='{"a":1}\n{"b":2}\n')
    assert (got, code) == (["GET /mcp", True], 0)
    assert (out, said) == ('{"a":1}\n{"b":2}\n', "")
    assert asked("echo", "--flat", init=init)[0] == ["GET /mcp?names=flat", True]


@pytest.mark.parametrize("init", INITS)
def test_line_of_100_megabytes_passes_without_being_kept(init: Words) -> None:
    _, code, out, _ = asked("count", init=init, given=100 * 10**6)
    assert (code, out) == (0, "100000001\n")


@pytest.mark.parametrize("init", INITS)
def test_output_that_nobody_reads_ends_the_pump(init: Words) -> None:
    got, _, _, _ = asked("flood", init=init, use="none")
    assert got[-1] == "gone"


@pytest.mark.parametrize("init", INITS)
def test_refused_upgrade_and_lost_door_are_told_apart(init: Words) -> None:
    _, code, out, said = asked("refuse", init=init)
    assert (code, out) == (1, "") and said == 'atoll-mcp: refused: {"error":"not_found"}\n'
    for scene in ("", "silent"):
        _, code, out, said = asked(scene, init=init)
        assert (code, out, said) == (69, "", "atoll-mcp: nobody answers at the door\n")


@pytest.mark.parametrize("init", INITS)
def test_door_that_goes_amid_a_call_ends_the_pump_with_its_own_code(init: Words) -> None:
    _, code, out, said = asked("leave", init=init, given="x", use="open")
    assert (code, out, said) == (69, "", "atoll-mcp: the door closed\n")


@pytest.mark.parametrize("init", INITS)
def test_call_prints_its_answer_where_its_outcome_says(init: Words) -> None:
    got, code, out, said = asked("called", "call", "a.b", '{"c":"fine"}', init=init)
    assert got == ["POST /mcp/call", False, 'a.b\0{"c":"fine"}']
    assert (code, out, said) == (0, "answer\n", "")
    got, code, out, said = asked("called", "call", "a.b", init=init)
    assert got[-1] == "a.b\0{}" and (code, out, said) == (1, "", "atoll-mcp: answer\n")
    got, code, out, _ = asked("called", "call", "a.b", "-", init=init, given='{"d":"fine"}')
    assert got[-1] == 'a.b\0{"d":"fine"}' and (code, out) == (0, "answer\n")
    got, code, out, _ = asked("called", "list", init=init)
    assert got[0] == "GET /mcp/tools" and (code, out) == (0, "answer\n")


@pytest.mark.parametrize("init", INITS)
def test_call_that_cannot_be_made_has_its_own_code(init: Words) -> None:
    assert asked("", "call", "a.b", "{}", init=init)[1] == 69
    refused = 'atoll-mcp: {"error":"not_found"}\n'
    assert asked("refuse", "call", "a.b", "{}", init=init)[1:] == (1, "", refused)
    assert asked("", "call", "a.b", "-", init=init, given=3 * 2**20)[1] == 64
    for words in (("call",), ("call", "a", "{}", "b"), ("--help",), ("list", "all")):
        _, code, out, said = asked("", *words, init=init)
        assert (code, out) == (64, "") and said.startswith("usage: atoll-mcp")
