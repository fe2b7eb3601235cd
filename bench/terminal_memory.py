"""What terminals and their viewers hold in memory, and how many of them live at once."""

from bench.figures import Series, table, verdict
from bench.server import server
from bench.terminal_peers import ECHO, END, flood, resident
from bench.terminal_viewer import Viewer
from bench.terminals import FLOOD_BYTES, OwnAtoll, keystrokes, own_atoll

IDLE_TERMINALS = 40
RING_KIB = 256
SANDBOXES = 20
TERMINALS_EACH = 50


def terminal_memory() -> None:
    """A viewer that never reads, idle terminals, and a thousand of them."""
    with own_atoll() as ours:
        _deaf_viewer(ours)
    with own_atoll() as ours:
        _idle(ours)
    _thousand()


def _deaf_viewer(ours: OwnAtoll) -> None:
    growth = Series("runtime's growth while 100 MB pass a deaf viewer", "MB")
    terminal = ours.open(*flood(FLOOD_BYTES))
    reader = Viewer(ours.target(terminal, "reader"))
    reader.sees(b"READY")
    # The first flood fills ring and pools, which stay.
    reader.type(b"\r")
    reader.sees(END)
    runtime = ours.pids[1]
    before = resident(runtime)
    deaf = Viewer(ours.target(terminal, "deaf"), acks=False)
    reader.tail = b""
    reader.type(b"\r")
    reader.sees(END)
    growth.samples.append((resident(runtime) - before) / 1e6)
    deaf.close()
    reader.close()
    table("a viewer that never reads", growth)
    verdict("MB", growth.median, 2)


def _idle(ours: OwnAtoll) -> None:
    one = Series("runtime's memory per idle terminal", "KiB")
    ours.open(*ECHO)
    runtime = ours.pids[1]
    before = resident(runtime)
    for _ in range(IDLE_TERMINALS):
        ours.open(*ECHO)
    one.samples.append((resident(runtime) - before) / 1024 / IDLE_TERMINALS)
    table(f"{IDLE_TERMINALS} idle terminals", one)
    verdict("KiB per terminal (ring and 100 kB)", one.median, RING_KIB + 100_000 / 1024)


def _thousand() -> None:
    with server() as atoll:
        others = [OwnAtoll(atoll, atoll.create()) for _ in range(SANDBOXES)]
        last = [[ours.open(*ECHO) for _ in range(TERMINALS_EACH)][-1] for ours in others]
        alive = 0
        for ours in others:
            answer = atoll.api.get(f"/v1/sandboxes/{ours.sandbox}/terminals")
            alive += sum(one["state"] == "running" for one in answer.json()["terminals"])
        echo = Series("echo at one terminal of each sandbox")
        for ours, terminal in zip(others, last, strict=True):
            viewer = Viewer(ours.target(terminal, "typist"))
            echo.samples += keystrokes(viewer, 20)
            viewer.close()
    table(f"{SANDBOXES} sandboxes with {TERMINALS_EACH} terminals each", echo)
    verdict("terminals alive", alive, SANDBOXES * TERMINALS_EACH, at_least=True)
