"""The SSH gateway beside OpenSSH's server, by the same client, key and cipher, on this machine.

A login, the echo of a key, 100 MiB of output, the same by SFTP and through a forward, a clone, and
the memory of idle connections. Behind the gateway is a sandbox; behind the peer is its user.
"""

import os
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Series, table, verdict
from bench.server import server
from tests.e2e.ssh.client import SshClient
from tests.peers.machines.ssh_server import missing, throwaway_ssh_server

LOGINS, KEYS, ROUNDS, IDLE = 15, 60, 5, 100
MIB = 100
PORT = 18733
LEAST_PART = 0.6
CIPHER = ("-c", "aes128-gcm@openssh.com")


@dataclass(frozen=True, slots=True)
class Side:
    """A server: the configuration and destination of a client, a folder there, its pid, and
    whether it makes terminals."""

    name: str
    config: Path
    target: str
    folder: str
    pid: int = 0
    terminal: bool = False

    def words(self, *options: str, program: str = "ssh") -> list[str]:
        """Return the argv of a client, up to what follows the destination."""
        return [program, "-F", str(self.config), *CIPHER, *options]

    def run(self, *command: str, options: tuple[str, ...] = ()) -> float:
        """Run a command to its end; returns the milliseconds."""
        return timed([*self.words(*options), self.target, *command])


def ssh() -> None:
    """Beside OpenSSH's server on this machine."""
    if (why := missing()) is not None:
        print(f"  {why}: nothing measured")
        return
    with sides() as both:
        measured: dict[str, tuple[Callable[[Side], float], int]] = {
            "login and `true`": (lambda side: side.run("true"), LOGINS),
            f"{MIB} MiB of output": (lambda side: side.run(f"cat {side.folder}/large"), ROUNDS),
            f"{MIB} MiB by SFTP": (_fetch, ROUNDS),
            f"{MIB} MiB through a forward": (_forward, ROUNDS),
            "a clone": (_clone, ROUNDS),
        }
        results = {
            (name, side.name): Series(f"{side.name}: {name}") for name in measured for side in both
        }
        for name, (measure, count) in measured.items():
            for turn in range(count + 1):
                for side in both:
                    took = measure(side)
                    if turn:
                        results[name, side.name].samples.append(took)
        for side in both:
            results["echo of a key", side.name] = Series(f"{side.name}: echo of a key")
            results["echo of a key", side.name].samples = _echoes(side)
        table("SSH", *results.values())
        medians = {
            name: tuple(results[name, side.name].median for side in both) for name, _ in results
        }
        _judge(medians)
        _idle(both[0])


def _judge(medians: dict[str, tuple[float, ...]]) -> None:
    for name, (own, peer) in medians.items():
        if name.startswith("login"):
            verdict(f"{name}, of OpenSSH's", own / peer, 1)
        elif name.startswith("echo"):
            verdict(f"{name}, of OpenSSH's", own / peer, 1.5)
        else:
            verdict(f"{name}, part of OpenSSH's speed", peer / own, LEAST_PART, at_least=True)


@contextmanager
def sides() -> Iterator[tuple[Side, Side]]:
    """Yield the gateway and its peer, each with the files that are fetched."""
    with (
        tempfile.TemporaryDirectory(prefix="atssh") as folder,
        server({"ATOLL_SSH_ADDRESS": "127.0.0.1:0"}) as atoll,
        throwaway_ssh_server() as peer,
    ):
        client = SshClient.made(atoll.host, Path(folder))
        atoll.api.post("/v1/ssh/keys", json={"key": client.public}).raise_for_status()
        box = atoll.create()
        peer.authorize(client.public)
        peer.settings = "Subsystem sftp internal-sftp\n"
        peer.restart()
        config = Path(folder) / "peer"
        config.write_text(
            f"Host peer\n HostName 127.0.0.1\n Port {peer.port}\n User {peer.user}\n"
            f" IdentityFile {client.key}\n IdentitiesOnly yes\n BatchMode yes\n"
            " StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n"
        )
        own = Side(
            "gateway", client.config(), f"{box}@gateway", "/workspace", client.gateway_pid, True
        )
        other = Side("OpenSSH", config, "peer", str(peer.home))
        for side in (own, other):
            subprocess.run([*side.words(), side.target, _made(side.folder)], check=True)
        yield own, other


def _made(folder: str) -> str:
    """Return the script that makes what is fetched, and a server that sends it."""
    send = (
        'import socket; s=socket.create_server(("127.0.0.1",%d));\n'
        'while True:\n c=s.accept()[0]; c.sendall(open("%s/large","rb").read()); c.close()'
    )
    return (
        f"cd {folder} && head -c {MIB}M /dev/urandom > large && git init -q repo && cd repo && "
        "for each in $(seq 300); do head -c 20000 /dev/urandom > f$each; done && git add . && "
        "git -c user.name=a -c user.email=a@b commit -qm all && "
        f"(setsid python3 -c '{send % (_port(folder), folder)}' >/dev/null 2>&1 </dev/null &)"
    )


def _port(folder: str) -> int:
    return PORT if folder == "/workspace" else PORT + 1


def timed(words: list[str], **more: object) -> float:
    """Run a program that must succeed; returns the milliseconds."""
    started = time.perf_counter()
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more)  # type: ignore[call-overload]
    return (time.perf_counter() - started) * 1000


def _fetch(side: Side) -> float:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        words = ["scp", "-q", "-F", str(side.config), *CIPHER]
        return timed([*words, f"{side.target}:{side.folder}/large", folder])


def _forward(side: Side) -> float:
    return timed([*side.words("-W", f"localhost:{_port(side.folder)}"), side.target])


def _clone(side: Side) -> float:
    env = {**os.environ, "GIT_SSH_COMMAND": " ".join(side.words())}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        words = ["git", "clone", "-q", f"{side.target}:{side.folder}/repo", f"{folder}/clone"]
        return timed(words, env=env)


def _echoes(side: Side) -> list[float]:
    """Type keys at a `cat` and time each one's echo. At the gateway it runs at a terminal; the peer
    has no right to make one, so there it has plain pipes, which are faster."""
    option, prepare = ("-tt", "stty raw -echo;") if side.terminal else ("-T", "")
    words = [*side.words(option), side.target, f"{prepare} echo begun; exec cat"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        keys, shown = client.stdin.fileno(), client.stdout.fileno()
        seen = b""
        while b"begun" not in seen:
            seen += os.read(shown, 65536)
        time.sleep(0.5)  # what the shell prints besides is over
        try:
            return [_echo(keys, shown) for _ in range(KEYS)]
        finally:
            client.kill()


def _echo(keys: int, shown: int) -> float:
    started = time.perf_counter()
    os.write(keys, b"k")
    while select.select([shown], [], [], 5)[0]:
        if b"k" in os.read(shown, 65536):
            break
    took = (time.perf_counter() - started) * 1000
    time.sleep(0.03)
    return took


def _idle(side: Side) -> None:
    """Say what a hundred idle connections take of the gateway's memory."""
    before = _memory_mib(side.pid)
    up = ("-N", "-o", "PermitLocalCommand=yes", "-o", "LocalCommand=echo up")
    words = [*side.words(*up), side.target]
    clients = []
    try:
        for _ in range(IDLE):
            client = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            clients.append(client)
            assert client.stdout is not None
            assert client.stdout.readline() == b"up\n", "it does not log in"
        threading.Event().wait(5)
        each = (_memory_mib(side.pid) - before) / IDLE
        verdict(f"MiB of each of {IDLE} idle connections", each, 0.2)
    finally:
        for client in clients:
            client.kill()
            client.communicate()


def _memory_mib(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    line = next(each for each in text.splitlines() if each.startswith("Pss:"))
    return int(line.split()[1]) / 1024
