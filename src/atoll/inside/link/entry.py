"""The command line: `serve`, `attach`, and `armour`, which runs a command over text."""

import contextlib
import ctypes
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from atoll.inside.link.armour import armour
from atoll.inside.link.connections import Connections
from atoll.inside.link.far import FarEnd, said
from atoll.inside.link.init import InitFailed, InitProcess
from atoll.inside.link.polling import NEVER, Watch, run
from atoll.wire.link.handshake import KEY_BYTES

USAGE, NOBODY = 64, 69
GRACE_SECONDS = 600.0
SET_DUMPABLE = 4
READ_BYTES = 64 * 1024
SILENT = b"the link ended before it was ready\n"
USAGE_TEXT = """usage: link serve --socket PATH | --device PATH [--grace SECONDS] [--daemon] -- ARGV
       link attach --socket PATH
       link armour"""


class Options:
    """The words of a command line. Raises ValueError, IndexError for wrong ones."""

    def __init__(self, words: list[str]) -> None:
        self.socket: Path | None = None
        self.device: Path | None = None
        self.grace = GRACE_SECONDS
        self.daemon = False
        self.command: list[str] = []
        words = list(words)
        while words:
            match words.pop(0):
                case "--socket":
                    self.socket = Path(words.pop(0))
                case "--device":
                    self.device = Path(words.pop(0))
                case "--grace":
                    self.grace = float(words.pop(0))
                case "--daemon":
                    self.daemon = True
                case "--":
                    self.command, words = words, []
                case word:
                    raise ValueError(word)


class Termination:
    """TERM, which takes effect between two polls: its handler may run at any line."""

    def __init__(self, far: FarEnd) -> None:
        self._far = far
        self._came = False
        self._woken, wake = os.pipe()
        for fd in (self._woken, wake):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGTERM, self._note)

    def watched(self) -> Iterator[Watch]:
        """Yield what a signal makes readable."""
        yield self._woken, select.POLLIN, lambda _: self._drain()

    def due(self) -> float:
        """Return never: a signal wakes the poll."""
        return NEVER

    def act(self, _: float) -> None:
        """End the sandbox once a signal came."""
        if self._came:
            self._far.end("a signal ended the sandbox")

    def _note(self, *_: object) -> None:
        self._came = True

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, READ_BYTES)


def main() -> NoReturn:
    """Run what the arguments request; end the process with the same codes as the C one."""
    try:
        name = sys.argv[1]
        options = Options(sys.argv[2:])
    except (ValueError, IndexError):
        name, options = "", Options([])
    if name == "serve" and options.command and (not options.socket) != (not options.device):
        sys.exit(_serve(options))
    if name == "attach" and options.socket and not options.command:
        sys.exit(_attach(options.socket))
    if name == "armour" and len(sys.argv) == 2:
        sys.exit(armour())
    print(USAGE_TEXT, file=sys.stderr)
    sys.exit(USAGE)


def _serve(options: Options) -> int:
    key = bytearray(KEY_BYTES)
    if not _read_key(memoryview(key)):
        said("no key of 32 bytes came on standard input")
        return 1
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if options.daemon:
        return _in_background(options, key)
    return _be_far_end(options, key)


def _read_key(rest: memoryview) -> bool:
    while rest and (count := os.readv(0, [rest])):
        rest = rest[count:]
    return not rest


def _in_background(options: Options, key: bytearray) -> int:
    """Return once the child is ready, or has said why not."""
    news, say = os.pipe()
    child = os.fork()
    if child:
        os.close(say)
        line = b""
        while data := os.read(news, READ_BYTES):
            line += data
        is_ready = line == b"ready\n"
        os.write(1, b"ready %d\n" % child if is_ready else line or SILENT)
        return 0 if is_ready else 1
    os.close(news)
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(say, 1)
    os.dup2(null, 0)
    os.dup2(null, 2)
    os.close(say)
    os.close(null)
    try:
        return _be_far_end(options, key)
    finally:
        os._exit(1)


def _be_far_end(options: Options, key: bytearray) -> int:
    _hide(key)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    listener = None
    try:
        if options.socket is not None:
            listener = _listen(options.socket)
        init = InitProcess(options.command)
        far = FarEnd(init, options.grace)
    except (InitFailed, OSError) as error:
        if listener is not None and options.socket is not None:
            options.socket.unlink(missing_ok=True)
        said(" ".join(str(error).split()))
        return 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    far.connections = Connections(far.near, key, time.monotonic())
    if listener is not None:
        far.connections.listen(listener)
    elif options.device is not None:
        far.connections.use_device(options.device)
    termination = Termination(far)
    said("ready")
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    if options.daemon:
        os.dup2(null, 1)
    try:
        run([far, termination])
    finally:
        if options.socket is not None:
            options.socket.unlink(missing_ok=True)
    return 0


def _listen(path: Path) -> socket.socket:
    """Return a listener at `path`, in place of one that nobody serves. Raises `OSError`."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.suppress(ConnectionRefusedError, FileNotFoundError):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.connect(os.fspath(path))
        raise OSError(f"{path} is served by another link")
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    before = os.umask(0o177)
    listener.bind(os.fspath(path))
    os.umask(before)
    listener.listen(16)
    return listener


def _hide(key: bytearray) -> None:
    """Show no process of this uid the key, and keep it from the disk where that is allowed.

    A child inherits no lock, so this comes after the last fork but init's.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)
    held = (ctypes.c_char * len(key)).from_buffer(key)
    libc.mlock(held, ctypes.c_size_t(len(key)))


def _attach(path: Path) -> int:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.connect(os.fspath(path))
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
        return NOBODY
    with contextlib.suppress(OSError):  # a side is gone, which is an end as any other
        _pump(line)
    return 0


def _pump(line: socket.socket) -> None:
    """Copy both ways until either side ends; at most one chunk waits for each. Raises `OSError`
    where a side is gone."""
    ways = {(0, line.fileno()): b"", (line.fileno(), 1): b""}
    for fd in (0, 1, line.fileno()):
        os.set_blocking(fd, False)
    while True:
        poll = select.poll()
        wanted: dict[int, int] = {}
        for (source, target), waiting in ways.items():
            fd, event = (target, select.POLLOUT) if waiting else (source, select.POLLIN)
            wanted[fd] = wanted.get(fd, 0) | event
        for fd, events in wanted.items():
            poll.register(fd, events)
        poll.poll()
        for (source, target), waiting in ways.items():
            with contextlib.suppress(BlockingIOError):
                if not waiting:
                    waiting = ways[source, target] = os.read(source, READ_BYTES)
                    if not waiting:
                        return
                ways[source, target] = waiting[os.write(target, waiting) :]
