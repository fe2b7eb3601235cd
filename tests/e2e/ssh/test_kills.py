"""Kills amid what runs over SSH: of the control plane, which nothing notices, and the gateway."""

import hashlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.claims import free_port
from tests.e2e.ssh.client import SECONDS, SshClient
from tests.e2e.ssh.test_programs import forwarding, shared
from tests.peers.api import Api, until

SLOW = ("-l", str(64 * 1024))
"""Kbit/s of a transfer that is to be under way for a few seconds."""

LARGE = 24 * 2**20
LINES = 2_000_000
BACK_SECONDS = 30.0
"""For a machine that is busy with other tests. A calm one takes less than three."""

ECHO = (
    "import socket; s = socket.create_server(('127.0.0.1', 8813))\n"
    "while True:\n"
    " c = s.accept()[0]\n"
    " while line := c.recv(99): c.sendall(line[::-1])\n"
)


def serve_echo(calls: Api, box: str) -> None:
    """Run a server inside that says what it hears backwards, to one client after the other."""
    calls.run(box, f'(setsid python3 -c "{ECHO}" >/dev/null 2>&1 &)')
    until(
        lambda: calls.call("GET", f"/v1/sandboxes/{box}/ports")["ports"],
        lambda ports: any(each["port"] == 8813 for each in ports),
    )


def answered(client: socket.socket, line: bytes) -> bytes:
    """Send a line, and return what came back."""
    client.sendall(line)
    return client.recv(99)


def flood(ada: SshClient, box: str) -> "subprocess.Popen[bytes]":
    """Start a program that prints more than all buffers hold."""
    words = [*ada.words(), f"{box}@gateway", f"seq {LINES}"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)


def transfer(ada: SshClient, box: str, into: Path) -> "subprocess.Popen[bytes]":
    """Start to fetch a file, slowly."""
    words = [*ada.words("sftp", "-q", *SLOW, "-b", "-"), f"{box}@gateway"]
    client = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert client.stdin is not None
    client.stdin.write(f"get large {into}\n".encode())
    client.stdin.close()
    return client


def test_control_plane_killed_amid_everything_is_not_noticed(
    ada: SshClient, box: str, calls: Api, tmp_path: Path
) -> None:
    """A forward answers, an sftp and a flood end whole, all while there is no control plane; a
    login that comes meanwhile waits for the next one."""
    serve_echo(calls, box)
    calls.run(box, f"head -c {LARGE} /dev/urandom > large")
    digest = calls.run(box, "sha256sum < large").split()[0]
    port, got = free_port(), tmp_path / "got"
    with (
        shared(ada, box) as options,
        forwarding(ada, box, port, f"-L127.0.0.1:{port}:localhost:8813"),
        socket.create_connection(("127.0.0.1", port)) as client,
        flood(ada, box) as flooding,
        transfer(ada, box, got) as fetching,
    ):
        assert flooding.stdout is not None
        assert answered(client, b"before") == b"erofeb"
        assert ada.run(box, "echo on", options=options).stdout == b"on\n"
        first = flooding.stdout.readline()
        until(lambda: got.exists() and got.stat().st_size > 0, bool)
        ada.server.kill()
        assert fetching.poll() is None, "the transfer ended before the kill"
        rest = flooding.stdout.read()
        assert fetching.wait(SECONDS) == flooding.wait(SECONDS) == 0
        with subprocess.Popen(
            [*ada.words(), f"{box}@gateway", "echo waited"], stdout=subprocess.PIPE
        ) as waiting:
            assert answered(client, b"during") == b"gnirud"
            assert ada.run(box, "echo on", options=options).stdout == b"on\n"
            assert waiting.poll() is None, "a login came through without a control plane"
            ada.server.start(port=None)
            assert waiting.communicate(timeout=SECONDS)[0] == b"waited\n"
        assert answered(client, b"after") == b"retfa"
    calls.client.base_url = ada.server.url
    assert (first + rest).split() == [str(number).encode() for number in range(1, LINES + 1)]
    assert hashlib.sha256(got.read_bytes()).hexdigest() == digest


def test_killed_gateway_is_back_in_seconds(ada: SshClient, box: str, calls: Api) -> None:
    """What ran in it over a forward ends; the sandbox's terminals and programs go on."""
    running = calls.terminal(box, "sh", "-c", "echo begun; exec sleep 5151")
    old = ada.gateway_pid
    began = time.monotonic()
    os.kill(old, signal.SIGKILL)
    until(lambda: greeting(lambda: ada.port), lambda said: said.startswith(b"SSH-2.0-"))
    took = time.monotonic() - began
    assert ada.gateway_pid != old
    assert ada.run(box, "echo in").stdout == b"in\n"
    terminals = calls.call("GET", f"/v1/sandboxes/{box}/terminals")["terminals"]
    states = {each["terminal_id"]: each["state"] for each in terminals}
    assert states[running] == "running"
    calls.call("DELETE", f"/v1/sandboxes/{box}/terminals/{running}")
    print(f"the gateway was back after {took:.2f} s")
    assert took < BACK_SECONDS


def greeting(port: Callable[[], int]) -> bytes:
    """Return what a server says first; nothing where there is none."""
    try:
        with socket.create_connection(("127.0.0.1", port()), timeout=5) as client:
            return client.recv(64)
    except OSError:
        return b""
