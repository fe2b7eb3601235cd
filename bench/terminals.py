"""Terminals through the whole of Atoll, beside a bare PTY, terminado and ttyd.

Browser-side socket → control plane → runtime → PTY of a sandboxed process. The peers have no
control plane, no wall and no redaction; the bare PTY is only read.
"""

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from atoll.wire.zygote import messages as wire
from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import Home
from bench.figures import Series, table, verdict
from bench.server import Server, server
from bench.terminal_peers import (
    ECHO,
    END,
    bare,
    cpu_seconds,
    flood,
    terminado,
    terminado_python,
    terminado_target,
    ttyd,
    ttyd_target,
)
from bench.terminal_viewer import Viewer, ViewerTarget, drain, together

FLOOD_BYTES = 100_000_000
ROUNDS = 7
CROWD = 8
KEYS = 400
ECHO_ROUNDS = 4
KEYS_A_ROUND = KEYS // ECHO_ROUNDS
KEY_SECONDS = 0.005


@dataclass
class OwnAtoll:
    """A running Atoll with one sandbox."""

    atoll: Server
    sandbox: str

    def open(self, *argv: str) -> str:
        """A terminal's id."""
        path = f"/v1/sandboxes/{self.sandbox}/terminals"
        answer = self.atoll.api.post(path, json={"argv": list(argv)})
        answer.raise_for_status()
        return str(answer.json()["terminal_id"])

    def target(self, terminal: str, client: str) -> ViewerTarget:
        """Return the address of one of its terminals."""
        path = f"/v1/sandboxes/{self.sandbox}/terminals/{terminal}/attach?client={client}"
        port = int(self.atoll.host.url.rpartition(":")[2])
        token = self.atoll.host.token
        return ViewerTarget("atoll", port, path, (("Authorization", f"Bearer {token}"),))

    def close(self, terminal: str) -> None:
        """End a terminal."""
        path = f"/v1/sandboxes/{self.sandbox}/terminals/{terminal}"
        self.atoll.api.delete(path, params={"grace": "0"}).raise_for_status()

    def box(self) -> wire.Box:
        """The sandbox as its zygote knows it."""
        answer = zygote_process.ask(Home(self.atoll.host.home), wire.ListBoxes())
        assert isinstance(answer, wire.Listed)
        return next(box for box in answer.boxes if box.sandbox_id == self.sandbox)

    @property
    def pids(self) -> tuple[int, int]:
        """Control plane and runtime."""
        assert self.atoll.host.process is not None
        return self.atoll.host.process.pid, self.box().runtime_pid


@contextmanager
def own_atoll() -> Iterator[OwnAtoll]:
    """An Atoll of its own with a sandbox."""
    with server() as atoll:
        yield OwnAtoll(atoll, atoll.create())


@dataclass
class Flood:
    """What one flood came to: MB/s delivered over all viewers, and ms of processor per MB."""

    rate: float
    cost: float


def terminals() -> None:
    """One viewer, eight viewers, echo."""
    with ExitStack() as stack:
        python = stack.enter_context(terminado_python())
        ours = stack.enter_context(own_atoll())
        _one_viewer(ours, python)
        _many_viewers(ours, python)
        if python is None:
            print("  terminado could not be installed: not compared")
        _echo(ours, python, flooded=False)
        _echo(ours, python, flooded=True)


def _one_viewer(ours: OwnAtoll, python: str | None) -> None:
    rates = {name: Series(f"{name}: 100 MB to one viewer", "MB/s")
             for name in ("bare PTY", "atoll", "terminado", "ttyd")}  # fmt: skip
    costs = {name: Series(f"{name}: processor per MB", "ms")
             for name in ("atoll", "terminado", "ttyd")}  # fmt: skip
    for _ in range(ROUNDS):
        rates["bare PTY"].samples.append(FLOOD_BYTES / bare(FLOOD_BYTES) / 1e6)
        for name, figure in _floods(ours, python, 1):
            rates[name].samples.append(figure.rate)
            costs[name].samples.append(figure.cost)
    table("100 MB of text to one viewer", *rates.values(), *costs.values())
    floor = rates["bare PTY"].median
    verdict("part of the bare PTY's MB/s", rates["atoll"].median / floor, 0.85, at_least=True)
    if python:
        ratio = costs["atoll"].median / costs["terminado"].median
        verdict("times terminado's processor per MB", ratio, 1)


def _many_viewers(ours: OwnAtoll, python: str | None) -> None:
    rates = {name: Series(f"{name}: delivered to {CROWD} viewers", "MB/s")
             for name in ("atoll", "terminado")}  # fmt: skip
    for _ in range(ROUNDS):
        for name, figure in _floods(ours, python, CROWD):
            rates[name].samples.append(figure.rate)
    table(f"100 MB of text to {CROWD} viewers of one terminal", *rates.values())
    if python:
        ratio = rates["atoll"].median / rates["terminado"].median
        verdict("times terminado's MB/s", ratio, 3, at_least=True)


def _floods(ours: OwnAtoll, python: str | None, viewers: int) -> Iterator[tuple[str, Flood]]:
    """One flood by each of those who serve."""
    program = flood(FLOOD_BYTES)
    terminal = ours.open(*program)
    yield "atoll", _flooded([ours.target(terminal, f"v{n}") for n in range(viewers)], ours.pids)
    ours.close(terminal)
    if python:
        with terminado(python, program) as (port, pid):
            yield "terminado", _flooded([terminado_target(port, "a")] * viewers, (pid,))
    if viewers == 1:
        with ttyd(program) as told:
            if told is not None:
                yield "ttyd", _flooded([ttyd_target(told[0])], (told[1],))


def _flooded(targets: list[ViewerTarget], pids: tuple[int, ...]) -> Flood:
    viewers = [Viewer(target) for target in targets]
    for viewer in viewers:
        viewer.sees(b"READY")
    before = cpu_seconds(*pids)
    counted = sum(viewer.delivered for viewer in viewers)
    viewers[0].type(b"\r")
    seconds = together(viewers, END)
    cost = cpu_seconds(*pids) - before
    delivered = sum(viewer.delivered for viewer in viewers) - counted
    # Escapes of JSON are no text: who sends every byte delivered the flood.
    text = min(delivered, len(viewers) * FLOOD_BYTES)
    for viewer in viewers:
        viewer.close()
    return Flood(text / seconds / 1e6, cost * 1000 / (FLOOD_BYTES / 1e6))


def _echo(ours: OwnAtoll, python: str | None, *, flooded: bool) -> None:
    how = "while a neighbour terminal floods" if flooded else "idle"
    mine, theirs, third = (Series(f"{name}: echo") for name in ("atoll", "terminado", "ttyd"))
    # In turns, as a machine has moods; and one at a time: a flood of the one would slow the other.
    for _ in range(ECHO_ROUNDS):
        mine.samples += _echoes_of_ours(ours, flooded=flooded)
        if python:
            theirs.samples += _echoes_of_terminado(python, flooded=flooded)
        with ttyd(ECHO) as told:
            if told is not None and not flooded:
                third.samples += keystrokes(Viewer(ttyd_target(told[0])), KEYS_A_ROUND)
    series = [one for one in (mine, theirs, third) if one.samples]
    table(f"echo of a keystroke, {how}", *series)
    for one in series:
        print(f"  {one.name}: p50 {one.median:.2f}, p99 {one.p99:.2f} ms")
    if python:
        verdict("times terminado's p50", mine.median / theirs.median, 1)
        verdict("times terminado's p99", mine.p99 / theirs.p99, 1)


def _echoes_of_ours(ours: OwnAtoll, *, flooded: bool) -> list[float]:
    terminal, noisy = ours.open(*ECHO), ours.open(*flood(0))
    viewer = Viewer(ours.target(terminal, "typist"))
    with draining(ours.target(noisy, "noise") if flooded else None):
        taken = keystrokes(viewer, KEYS_A_ROUND)
    viewer.close()
    ours.close(terminal)
    ours.close(noisy)
    return taken


def _echoes_of_terminado(python: str, *, flooded: bool) -> list[float]:
    # All its terminals run one program: the one that floods is started by Enter, and echoes
    # what is typed before by its terminal, too.
    program = ["/bin/sh", "-c", "read x; exec " + " ".join(map(_quoted, flood(0)))]
    with terminado(python, program) as (port, _):
        noisy = Viewer(terminado_target(port, "b"))
        viewer = Viewer(terminado_target(port, "a"))
        noisy.type(b"\r")
        if flooded:
            noisy.sees(b"READY")
        noisy.close()
        with draining(terminado_target(port, "b") if flooded else None):
            taken = keystrokes(viewer, KEYS_A_ROUND)
        viewer.close()
    return taken


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


@contextmanager
def draining(target: ViewerTarget | None) -> Iterator[None]:
    """Somebody in a process of their own reads the flood of this target."""
    if target is None:
        yield
        return
    reader = multiprocessing.get_context("spawn").Process(target=drain, args=(target,), daemon=True)
    reader.start()
    time.sleep(1.5)  # until it floods at full speed
    try:
        yield
    finally:
        reader.kill()
        reader.join()


def keystrokes(viewer: Viewer, count: int = KEYS) -> list[float]:
    """Milliseconds from a key to its own echo. Each is another key than the last: whatever else
    arrives (a greeting that was late, the echo before) is not taken for it."""
    taken: list[float] = []
    time.sleep(0.2)
    for n in range(count + 20):
        key = b"%d" % (n % 10)
        viewer.tail = b""
        started = time.perf_counter()
        viewer.type(key)
        viewer.sees(key)
        if n >= 20:
            taken.append((time.perf_counter() - started) * 1000)
        time.sleep(KEY_SECONDS)
    return taken
