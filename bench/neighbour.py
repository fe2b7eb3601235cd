"""A keystroke's echo in one sandbox while another one does its worst."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from bench.figures import Series, table
from bench.server import server
from bench.terminal_peers import ECHO, PYTHON, flood
from bench.terminal_viewer import Viewer
from bench.terminals import OwnAtoll, draining, keystrokes

_BOMB = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
_FILL = """
while True:
    with open("/workspace/fill", "wb", buffering=0) as out:
        try:
            while True: out.write(bytes(1 << 20))
        except OSError: pass
"""

Worst = Callable[[OwnAtoll], AbstractContextManager[None]]


def neighbour() -> None:
    """Echo p50 and p99: alone, beside a flood, a disk that is filled, a fork bomb."""
    worst: dict[str, Worst] = {
        "nobody": _nobody,
        "an output flood": _flood,
        "a disk that is filled": _running(_FILL),
        "a fork bomb": _running(_BOMB),
    }
    series: list[Series] = []
    with server() as atoll:
        ours = OwnAtoll(atoll, atoll.create())
        terminal = ours.open(*ECHO)
        viewer = Viewer(ours.target(terminal, "typist"))
        for name, busy in worst.items():
            # One of its own for each: what a bomb leaves behind must not be the next one's.
            other = OwnAtoll(atoll, atoll.create())
            with busy(other):
                series.append(Series(f"echo beside {name}", samples=keystrokes(viewer)))
            atoll.api.delete(f"/v1/sandboxes/{other.sandbox}", params={"wait": "true"})
        viewer.close()
    table("echo of a keystroke beside a busy sandbox", *series)
    for one in series:
        print(f"  {one.name}: p50 {one.median:.2f}, p99 {one.p99:.2f} ms", flush=True)


@contextmanager
def _nobody(_other: OwnAtoll) -> Iterator[None]:
    yield


@contextmanager
def _flood(other: OwnAtoll) -> Iterator[None]:
    with draining(other.target(other.open(*flood(0)), "noise")):
        yield


def _running(script: str) -> Worst:
    @contextmanager
    def run(other: OwnAtoll) -> Iterator[None]:
        other.open(PYTHON, "-c", script)
        yield

    return run
