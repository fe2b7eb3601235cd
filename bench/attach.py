"""`attach`: 54 MB through `atoll attach`, beside a PTY that is only read.

Program → PTY inside → runtime → control plane → command line → PTY of a person's terminal. The
guard of the command line reads every byte; text of colours and movements costs it more.
"""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

from bench.figures import Series, table, verdict
from bench.terminal_peers import END, LINE, bare, flood
from bench.terminals import OwnAtoll, own_atoll

FLOOD_BYTES = 54_000_000
ROUNDS = 5
COLOURED = f"\x1b[1;32m{LINE[:20]}\x1b[0m\x1b[K{LINE[20:]}"


def attach() -> None:
    """Plain text, and text with colours."""
    with own_atoll() as ours:
        for name, line, limit in (("plain text", LINE, 2), ("colours", COLOURED, 3)):
            floor = Series(f"bare PTY, {name}")
            through = Series(f"atoll attach, {name}")
            for _ in range(ROUNDS):
                floor.samples.append(bare(FLOOD_BYTES, line) * 1000)
                through.samples.append(_attached(ours, line) * 1000)
            table(f"54 MB of {name}", floor, through)
            verdict("times the bare PTY", through.median / floor.median, limit)


def _attached(ours: OwnAtoll, line: str) -> float:
    """Return the seconds of one flood, from Enter to its last byte at the person's terminal."""
    terminal = ours.open(*flood(FLOOD_BYTES, line))
    atoll = Path(sys.executable).with_name("atoll")
    master, person = pty.openpty()
    environ = {
        **os.environ,
        "ATOLL_URL": ours.atoll.host.url,
        "ATOLL_TOKEN": ours.atoll.host.token,
        "TERM": "xterm-256color",
    }
    words = (str(atoll), "attach", ours.sandbox, "--terminal", terminal)
    with subprocess.Popen(
        words, stdin=person, stdout=person, env=environ, start_new_session=True
    ) as process:
        os.close(person)
        _read_until(master, b"READY")
        started = time.perf_counter()
        os.write(master, b"\n")
        _read_until(master, END)
        took = time.perf_counter() - started
        process.terminate()
        while _read(master):
            pass
    os.close(master)
    ours.close(terminal)
    return took


def _read_until(master: int, mark: bytes) -> None:
    tail = b""
    while mark not in tail:
        piece = _read(master)
        if not piece:
            raise RuntimeError("the command line ended before the flood did")
        tail = (tail + piece)[-len(piece) - 64 :]


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # EIO: the other side is closed
        return b""
