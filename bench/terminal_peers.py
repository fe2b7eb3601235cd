"""Programs of the terminal benchmarks, and those who serve them: a bare PTY, terminado, ttyd.

All run the very same programs by the machine's `python3`; Atoll runs them inside a sandbox.
"""

import os
import pty
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.terminal_viewer import ViewerTarget

PYTHON = "/usr/bin/python3"
END = b"END-OF-FLOOD"
LINE = "src/atoll/runtime/terminals/terminal.py:217: def read(self, offset: int) -> bytes:"

_FLOOD = """
import os, sys
block = (sys.argv[2] + "\\n").encode() * 800
size = int(sys.argv[1])
os.system("stty -echo")
os.write(1, b"READY\\n")
while True:
    if not os.read(0, 100): break
    left = size
    while left > 0 or not size:
        left -= os.write(1, block[:left] if size else block)
    os.write(1, b"END-OF-FLOOD\\n")
"""

_TERMINADO = """
import json, sys
import tornado.ioloop, tornado.web
from terminado import NamedTermManager, TermSocket
manager = NamedTermManager(shell_command=json.loads(sys.argv[2]), max_terminals=2000)
app = tornado.web.Application([(r"/ws/(\\w+)", TermSocket, {"term_manager": manager})])
app.listen(int(sys.argv[1]), "127.0.0.1")
tornado.ioloop.IOLoop.current().start()
"""


def flood(count: int, line: str = LINE) -> list[str]:
    """Prints READY, and at every Enter `count` bytes of lines (0: without end), then END."""
    return [PYTHON, "-c", _FLOOD, str(count), line]


ECHO = ["/bin/cat"]
"""What is typed comes back by the terminal itself."""


def bare(count: int, line: str = LINE) -> float:
    """Seconds that `count` bytes of the flood take through a PTY that somebody only reads."""
    pid, master = pty.fork()
    if pid == 0:
        program = flood(count, line)
        os.execv(program[0], program)
    tail = b""
    while b"READY" not in tail:
        tail = os.read(master, 65536)
    started = time.perf_counter()
    os.write(master, b"\n")
    while END not in tail:
        tail = (tail[-32:] + os.read(master, 65536))[-96:]
    took = time.perf_counter() - started
    os.close(master)
    os.waitpid(pid, 0)
    return took


@contextmanager
def terminado_python() -> Iterator[str | None]:
    """A Python that has terminado: that of `TERMINADO_PYTHON`, else one in a throw-away venv;
    None when it cannot be installed."""
    told = os.environ.get("TERMINADO_PYTHON")
    if told:
        yield told
        return
    folder = tempfile.mkdtemp(prefix="attm", dir="/tmp")
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = f"{folder}/bin/python"
        done = subprocess.run(
            [python, "-m", "pip", "install", "-q", "terminado"], capture_output=True
        )
        yield python if done.returncode == 0 else None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def terminado(python: str, program: list[str]) -> Iterator[tuple[int, int]]:
    """Its port and pid. `/ws/NAME` is a terminal of `program`, shared by who names it."""
    import json

    port = free_port()
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(_TERMINADO)
        script.flush()
        argv = [python, script.name, str(port), json.dumps(program)]
        with _serving(argv, port) as pid:
            yield port, pid


@contextmanager
def ttyd(program: list[str]) -> Iterator[tuple[int, int] | None]:
    """Its port and pid; None when `TTYD_BIN` names none. Every viewer has a program of its own."""
    binary = os.environ.get("TTYD_BIN")
    if not binary:
        yield None
        return
    port = free_port()
    with _serving([binary, "-p", str(port), "-i", "127.0.0.1", "-W", *program], port) as pid:
        yield port, pid


def terminado_target(port: int, name: str) -> ViewerTarget:
    """Return the address of one of its terminals."""
    return ViewerTarget("terminado", port, f"/ws/{name}")


def ttyd_target(port: int) -> ViewerTarget:
    """Return the address of a new terminal."""
    return ViewerTarget("ttyd", port, "/ws", (("Sec-WebSocket-Protocol", "tty"),))


@contextmanager
def _serving(argv: list[str], port: int) -> Iterator[int]:
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            while process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.02)
            yield process.pid
        finally:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port nobody has now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def cpu_seconds(*pids: int) -> float:
    """Processor time of these processes so far, their kernel's share included."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Bytes of memory of one process that nobody shares, in pages written to."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) * 1024
    return 0
