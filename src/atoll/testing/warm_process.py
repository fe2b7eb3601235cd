"""Programs of tests that are forked from a process which has loaded their modules once.

Loading takes most of the processor time of a start. `WarmProgram` is the tests' end: it runs a
module as a program, which calls `serve`. That reads requests from a socket, forks for each, passes
a pidfd back, and writes each status of wait(2) to a pipe.
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
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NoReturn

from atoll.zygote.host import kernel

MAX_REQUEST_BYTES = 512 * 1024
MAX_FDS = 8

Request = Mapping[str, Any]


class WarmProcess:
    """A forked program, as `subprocess.Popen` would show it."""

    def __init__(self, pid: int, pidfd: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.dumped_core = False
        self._pidfd = pidfd
        self._status = status

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal, or None while the process runs."""
        if self.returncode is None and _wait_readable(self._pidfd, 0):
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is not None:
            return self.returncode
        if not _wait_readable(self._status, timeout):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        text = os.read(self._status, 16)
        os.close(self._status)
        os.close(self._pidfd)
        status = int(text) if text else signal.SIGKILL
        self.returncode, self.dumped_core = os.waitstatus_to_exitcode(status), os.WCOREDUMP(status)
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


def _wait_readable(fd: int, timeout: float | None) -> bool:
    """Wait until a descriptor is readable. Returns False after the timeout."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(None if timeout is None else timeout * 1000))


class WarmProgram:
    """Forks a program from one warm process, which ends with this one. `within`: Python looks for
    the module in the current directory, too."""

    def __init__(self, module: str, *, within: bool = False) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        flags = [] if within else ["-P"]
        argv = [sys.executable, *flags, "-m", module, "--warm", str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        self._asking = threading.Lock()

    def close(self) -> None:
        """End the warm process. What it forked goes on."""
        self._link.close()
        self._process.wait()

    def start(self, request: Request, fds: Sequence[int]) -> WarmProcess:
        """Fork the program, which is handed copies of `fds`."""
        read, write = os.pipe()
        with self._asking:
            socket.send_fds(self._link, [json.dumps(request).encode()], [*fds, write])
            os.close(write)
            answer, passed, _flags, _address = socket.recv_fds(self._link, 64, 1)
        if not passed:
            raise RuntimeError("the process that programs are forked from has ended")
        return WarmProcess(int(answer), passed[0], read)


@cache
def warm_program(module: str, *, within: bool = False) -> WarmProgram:
    """Return this process's one of a module."""
    program = WarmProgram(module, within=within)
    atexit.register(program.close)
    return program


def serve(number: int, run: Callable[[Request, Sequence[int]], int]) -> None:
    """Fork for each request that comes by the socket `number`, until its other end is closed. A
    fork calls `run` with the request and its descriptors, and exits with the result."""
    # Ctrl-C is for the tests and what they start.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    running: dict[int, tuple[int, int]] = {}
    with socket.socket(fileno=number) as link:
        while True:
            ready = {*select.select([number, *running], [], [])[0]}
            for pidfd in ready & running.keys():
                _report_end(pidfd, *running.pop(pidfd))
            if number not in ready:
                continue
            packet, fds, _flags, _address = socket.recv_fds(link, MAX_REQUEST_BYTES, MAX_FDS)
            if not packet:
                return
            *passed, status = fds
            pid = os.fork()
            if pid == 0:
                kernel.close_others({0, 1, 2, *passed})
                signal.signal(signal.SIGINT, signal.default_int_handler)
                exit_with(partial(run, json.loads(packet), passed))
            for fd in passed:
                os.close(fd)
            pidfd = os.pidfd_open(pid)
            running[pidfd] = (pid, status)
            socket.send_fds(link, [str(pid).encode()], [pidfd])


def exit_with(program: Callable[[], int]) -> NoReturn:
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


def _report_end(pidfd: int, pid: int, status: int) -> None:
    _pid, ended = os.waitpid(pid, 0)
    os.close(pidfd)
    with contextlib.suppress(BrokenPipeError):  # Perhaps nobody waits for it.
        os.write(status, str(ended).encode())
    os.close(status)
