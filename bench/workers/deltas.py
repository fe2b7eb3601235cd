"""Text deltas of a worker at many followers, one of which reads nothing.

Followers are threads of another process that read raw bytes, so that reading costs little. Deltas
are live and stored by nobody: what a follower was too slow for does not come again.
"""

import itertools
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bench.figures import Series, ratio, table, verdict
from bench.server import Server
from bench.workers import app_server

FLOOD_BYTES: Final = 50 << 20
FOLLOWERS: Final = 20
ROUNDS: Final = 4
CROWD: Final = 10
PIECE: Final = 1 << 18
ENDED: Final = b'\\"flood\\"'
"""The end of a flood as it stands in a frame, where the agent's JSON is text."""

PATIENCE_SECONDS: Final = 300
_numbers = itertools.count()


@dataclass
class _Flood:
    """A flood at its followers: the seconds that the last one took, the text of deltas that all had
    together, and the least share of it that one had."""

    seconds: float
    text: int
    share: float

    @property
    def rate(self) -> float:
        """The megabytes that arrived a second."""
        return self.text / self.seconds / 1e6


def deltas(atoll: Server, name: str) -> None:
    """50 MB of deltas to 20 followers, one of which is stalled, beside 19 alone."""
    alone, beside = Series("19 followers", "MB/s"), Series("… beside a stalled one", "MB/s")
    shares = [_flooded(atoll, name).share]
    if shares == [0]:
        print("  no delta arrived: deltas were not measured")
        return
    for turn in range(ROUNDS):
        # The first of a round is not always the same: a machine has moods.
        for stalled in (turn % 2 == 0, turn % 2 == 1):
            with _stalled(atoll, name, int(stalled)):
                found = _flooded(atoll, name)
            (beside if stalled else alone).samples.append(found.rate)
            shares.append(found.share)
    table(f"{FLOOD_BYTES >> 20} MiB of deltas to {FOLLOWERS} followers, one stalled", alone, beside)
    ratio("least share of the deltas at a follower that reads", min(shares))
    verdict("part of the rate without it", beside.median / alone.median, 0.9, at_least=True)
    _kept(atoll, name)


def _kept(atoll: Server, name: str) -> None:
    """Measure what the server keeps for a stalled follower: by many of them, as a flood leaves
    memory behind with the interpreter in any case."""
    plain, kept = Series("a flood leaves behind", "MiB"), Series("… for each stalled one", "MiB")
    for _ in range(ROUNDS):
        first = _control_pss(atoll)
        _flooded(atoll, name)
        second = _control_pss(atoll)
        with _stalled(atoll, name, CROWD):
            _flooded(atoll, name)
            grown = _control_pss(atoll) - second
        plain.samples.append(second - first)
        kept.samples.append((grown - (second - first)) / CROWD)
    table(f"memory of the server, {CROWD} stalled followers", plain, kept)
    verdict("MiB for a stalled one", kept.median, 1)


def _flooded(atoll: Server, name: str) -> _Flood:
    """Have the agent flood all followers but one."""
    place = urlsplit(atoll.host.url)
    after = atoll.api.get(f"/v1/workers/{name}/snapshot").json()["latest_seq"]
    argv = (sys.executable, "-m", "bench.workers.deltas", str(place.hostname), str(place.port))
    words = (name, str(after), str(FOLLOWERS - 1))
    with subprocess.Popen(
        (*argv, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        print(atoll.host.token, file=process.stdin, flush=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        began = time.perf_counter()
        request = {
            "request_id": f"flood{next(_numbers)}",
            "method": "thread/name/set",
            "params": {"threadId": "th", "name": f"flood:{FLOOD_BYTES}"},
        }
        atoll.api.post(f"/v1/workers/{name}/requests", json={"request": request})
        last, text, least = process.stdout.readline().split()
    return _Flood(float(last) - began, int(text), int(least) / FLOOD_BYTES)


@contextmanager
def _stalled(atoll: Server, name: str, count: int) -> Iterator[None]:
    """So many followers that read nothing after the head of their answer."""
    place = urlsplit(atoll.host.url)
    after = atoll.api.get(f"/v1/workers/{name}/snapshot").json()["latest_seq"]
    where = str(place.hostname), int(place.port or 0)
    with ExitStack() as stack:
        for _ in range(count):
            one = follow(*where, name=name, after=after, token=atoll.host.token)
            stack.enter_context(one)
        yield


def follow(host: str, port: int, *, name: str, after: int, token: str) -> socket.socket:
    """Return a connection that has the head of a worker's stream."""
    connection = socket.create_connection((host, port), timeout=PATIENCE_SECONDS)
    head = (
        f"GET /v1/workers/{name}/stream?cursor={after} HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    )
    connection.sendall(head.encode())
    if b" 200 " not in connection.recv(4096):
        raise RuntimeError("the stream was refused")
    return connection


def pss(pid: int) -> float:
    """Return the MiB of PSS of a process."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(one.split()[1]) for one in rollup if one.startswith("Pss:")) / 1024


def _control_pss(atoll: Server) -> float:
    assert atoll.host.process is not None
    return pss(atoll.host.process.pid)


def _read(connection: socket.socket, found: list[tuple[float, int]]) -> None:
    """Read until the flood has ended, and note when that was and how much text of deltas came."""
    text, tail = 0, b""
    letter = app_server.PIECE[:1].encode()
    while piece := connection.recv(PIECE):
        text += piece.count(letter * 64) * 64
        if ENDED in tail + piece:
            break
        tail = piece[-len(ENDED) :]
    found.append((time.perf_counter(), text))


def _followers(host: str, port: int, name: str, after: int, count: int) -> None:
    """Follow by so many threads, and print when the last one was done, and the text that all of
    them had and the least that one had.
    The token comes by the standard input, which nobody else reads."""
    token = sys.stdin.readline().strip()
    found: list[tuple[float, int]] = []
    connections = [follow(host, port, name=name, after=after, token=token) for _ in range(count)]
    threads = [threading.Thread(target=_read, args=(one, found)) for one in connections]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()
    texts = [text for _, text in found]
    print(max(at for at, _ in found), sum(texts), min(texts), flush=True)


if __name__ == "__main__":
    _followers(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
