"""Servers of tests, forked from a process that has loaded the control plane once.

Loading takes most of a start's processor time. A fork runs the command `atoll up` as it is: it
starts a zygote by exec, drops its privileges and serves. Only the exec of the control plane is a
call instead.

`WarmServers` is the tests' end. The process behind it is this module, run as a program: it reads
requests from a socket, forks, passes a pidfd back, and writes each exit status to a pipe.
"""

import atexit
import contextlib
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from atoll.surfaces.cli import entry
from atoll.wiring.control import serve
from atoll.wiring.host import CONTROL_MODULE, LocalHost
from atoll.zygote.host import kernel
from atoll.zygote.host.title import set_title

MAX_REQUEST_BYTES = 512 * 1024
LOADED = (
    *("atoll.wiring.host", "atoll.surfaces.cli.command_table", "atoll.wiring.control.assembly"),
    *("atoll.surfaces.http.app", "atoll.surfaces.mcp.entry", "atoll.wiring.control.reach"),
    *("atoll.wiring.control.logs", "uvicorn", "uvicorn.lifespan.off", "uvloop", "alembic.command"),
    "atoll.surfaces.http.server.connections.bounded_head",
    "atoll.surfaces.http.server.connections.handover",
    "atoll.surfaces.http.server.connections.tls_entry",
)
"""Modules that a start loads, directly or through others."""


class WarmProcess:
    """A forked server, as `subprocess.Popen` would show it."""

    def __init__(self, pid: int, pidfd: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._pidfd = pidfd
        self._status = status

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal, or None while the process runs."""
        if self.returncode is None and _readable(self._pidfd, 0):
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is not None:
            return self.returncode
        if not _readable(self._status, timeout):
            raise subprocess.TimeoutExpired("atoll up", timeout or 0.0)
        text = os.read(self._status, 16)
        os.close(self._status)
        os.close(self._pidfd)
        self.returncode = int(text) if text else -signal.SIGKILL
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            try:
                signal.pidfd_send_signal(self._pidfd, number)
            except ProcessLookupError:
                self.wait()

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _readable(fd: int, timeout: float | None) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(None if timeout is None else timeout * 1000))


class WarmServers:
    """Forks servers from one warm process, which ends with this one."""

    def __init__(self) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = [sys.executable, "-P", "-m", __name__, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        self._asking = threading.Lock()

    def close(self) -> None:
        """End the warm process. Its servers go on."""
        self._link.close()
        self._process.wait()

    def start(self, words: Sequence[str], env: Mapping[str, str], log: int) -> WarmProcess:
        """Run `atoll WORDS…` in a fork that writes to the descriptor `log`."""
        request = json.dumps({"words": list(words), "env": dict(env), "cwd": str(Path.cwd())})
        read, write = os.pipe()
        with self._asking:
            socket.send_fds(self._link, [request.encode()], [log, write])
            os.close(write)
            answer, fds, _flags, _address = socket.recv_fds(self._link, 64, 1)
        if not fds:
            raise RuntimeError("the process that servers are forked from has ended")
        return WarmProcess(int(answer), fds[0], read)


@cache
def warm_servers() -> WarmServers:
    """Return the one of this process."""
    servers = WarmServers()
    atexit.register(servers.close)
    return servers


def main(link: socket.socket) -> None:
    """Load the control plane, and serve requests until the tests' end is closed."""
    # Ctrl-C is for the tests and their servers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    for module in LOADED:
        import_module(module)
    # Before an environment is replaced, as a title takes the place of this one.
    set_title("tests")
    gc.collect()
    gc.freeze()
    gc.enable()
    running: dict[int, tuple[int, int]] = {}
    while True:
        ready = {*select.select([link.fileno(), *running], [], [])[0]}
        for pidfd in ready & running.keys():
            _report_end(pidfd, *running.pop(pidfd))
        if link.fileno() in ready:
            packet, fds, _flags, _address = socket.recv_fds(link, MAX_REQUEST_BYTES, 2)
            if not packet:
                return
            log, status = fds
            pid = os.fork()
            if pid == 0:
                _run(json.loads(packet), log)
            os.close(log)
            pidfd = os.pidfd_open(pid)
            running[pidfd] = (pid, status)
            socket.send_fds(link, [str(pid).encode()], [pidfd])


def _report_end(pidfd: int, pid: int, status: int) -> None:
    _pid, ended = os.waitpid(pid, 0)
    os.close(pidfd)
    with contextlib.suppress(BrokenPipeError):  # Perhaps nobody waits for it.
        os.write(status, str(os.waitstatus_to_exitcode(ended)).encode())
    os.close(status)


def _run(request: Mapping[str, Any], log: int) -> NoReturn:
    """Run `atoll WORDS…` as this process, up to its end."""
    for number in (1, 2):
        os.dup2(log, number)
    _close_others()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _take_environment(request["env"])
    os.chdir(request["cwd"])
    os.execve = _execute  # type: ignore[assignment]
    _exit_with(lambda: entry.run(request["words"], os.environ, LocalHost))


def _exit_with(program: Callable[[], int]) -> NoReturn:
    """Run a program and end this process as Python does, without unwinding what called."""
    code = 1
    try:
        code = program()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001  the root of this process: Python would print it, too
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


_execve = os.execve


def _execute(path: str, argv: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Become another program; the control plane, which is loaded already, by a call."""
    if CONTROL_MODULE not in argv:
        _execve(path, [*argv], env)
    _close_others(_inheritable_fds())
    _take_environment(env)
    arguments = argv[argv.index(CONTROL_MODULE) + 1 :]
    sys.argv = [CONTROL_MODULE, *arguments]
    _exit_with(lambda: serve.main(arguments))


def _take_environment(env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()


def _inheritable_fds() -> set[int]:
    found = set()
    for path in Path("/proc/self/fd").iterdir():
        # That of the list itself is closed by now.
        with contextlib.suppress(OSError):
            if os.get_inheritable(int(path.name)):
                found.add(int(path.name))
    return found


def _close_others(kept: Set[int] = frozenset()) -> None:
    kernel.close_others({0, 1, 2, *kept})


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as own:
        main(own)
