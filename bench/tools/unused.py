"""`atoll up` where nobody uses its tools, beside one without their entry.

`python -m bench.tools.unused plain|without atoll ARGS…` is that command. It becomes the control
plane in its own process, as the entry has to be replaced before that is loaded.
"""

import os
import runpy
import sys
import time
import types
from collections.abc import Mapping
from pathlib import Path

import httpx

from atoll.testing.server import TestServer, test_server
from bench.figures import Series, table, verdict
from bench.peers import milliseconds

TURNS = 7
CONTROL = "atoll.wiring.control.serve"
EXECVE = os.execve


def unused() -> None:
    """Time from the start to the first answer, and memory of the control plane then."""
    kinds = {"atoll up": "plain", "the same without tools": "without"}
    starts = {name: Series(f"{name}: start") for name in kinds}
    sizes = {name: Series(f"{name}: memory (PSS)", "MiB") for name in kinds}
    for turn in range(TURNS + 1):
        for name, kind in kinds.items():
            taken, size = _started(kind)
            if turn:  # the first ones warm caches on both sides
                starts[name].samples.append(taken)
                sizes[name].samples.append(size)
    table("a control plane whose tools nobody uses", *starts.values(), *sizes.values())
    for what, series in (("start", starts), ("memory", sizes)):
        ours, without = (one.median for one in series.values())
        verdict(f"times the {what} without tools", ours / without, 1.05)


def _started(kind: str) -> tuple[float, float]:
    """Return the milliseconds of one start, and the memory of the control plane after it."""
    with test_server(start=False, cold=True) as server:
        server.before = (sys.executable, "-m", "bench.tools.unused", kind)
        started = time.perf_counter()
        server.start()
        while httpx.get(f"{server.url}/readyz").status_code != 200:
            time.sleep(0.005)
        taken, size = milliseconds(started), _control_pss(server)
        server.before = ()
        return taken, size


def _control_pss(server: TestServer) -> float:
    assert server.process is not None
    text = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text()
    line = next(line for line in text.splitlines() if line.startswith("Pss:"))
    return float(line.split()[1]) / 1024


def _without_tools() -> None:
    """Put an entry that does nothing into the place of the real one."""

    class McpEntry:
        def __init__(self, atoll: object, *, version: str) -> None:
            del atoll, version

        async def run(self) -> None:
            """Do nothing."""

        async def __call__(self, scope: object, receive: object, send: object) -> None:
            """Answer nothing."""

    entry = types.ModuleType("atoll.surfaces.mcp.entry")
    entry.McpEntry = McpEntry  # type: ignore[attr-defined]
    sys.modules[entry.__name__] = entry


def _become(program: str, argv: list[str], environment: Mapping[str, str]) -> None:
    """Run the control plane in this process, in place of the program."""
    if CONTROL not in argv:
        EXECVE(program, argv, environment)
    os.environ.update(environment)
    module, *words = argv[argv.index(CONTROL) :]
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    raise SystemExit


if __name__ == "__main__":
    if sys.argv[1] == "without":
        _without_tools()
    sys.argv = sys.argv[2:]
    os.execve = _become  # type: ignore[assignment]
    from atoll.wiring.command import main

    main()
