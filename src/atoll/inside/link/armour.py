"""`armour`: one command, its input and output as lines of text on a terminal that carries no bytes.

The near end sends the command once it sees HELLO; the layouts are `wire/link/armour.py`.
"""

import os
import select
import signal
import subprocess
import termios
import time
import tty
from contextlib import suppress

from atoll.wire.link.armour import (
    MAX_PAYLOAD_BYTES,
    SILENT_SECONDS,
    ArmouredEnd,
    ArmourKind,
    exit_payload,
    hello,
)
from atoll.wire.link.stream import Broken

READ_BYTES = 64 * 1024
MAX_WORDS_BYTES = 256 * 1024
WAITING_BYTES = 64 * 1024
LOOK_SECONDS = 0.02
NOT_FOUND = 127


class ArmouredCommand:
    """The far end of one command. Raises `Broken` for lines that were changed, and `EOFError` once
    nobody is there."""

    def __init__(self) -> None:
        self._end = ArmouredEnd(is_far=True)
        self._out = bytearray(hello(self._end))
        self._words = bytearray()
        self._waiting = bytearray()
        self._input_ended = False
        self._child: subprocess.Popen[bytes] | None = None
        self._pipes: dict[int, ArmourKind] = {}
        self._heard = time.monotonic()

    def run(self) -> None:
        """Serve the command to its end."""
        try:
            while not self._has_ended():
                self._turn()
            os.set_blocking(1, True)
            while self._out:
                del self._out[: os.write(1, self._out)]
        except BaseException:
            self._kill()
            raise

    def _has_ended(self) -> bool:
        if self._child is None or self._pipes or self._child.poll() is None:
            return False
        self._out += self._end.frame(ArmourKind.EXIT, exit_payload(self._child.returncode))
        return True

    def _turn(self) -> None:
        wait = LOOK_SECONDS if self._child is not None and not self._pipes else SILENT_SECONDS
        for fd, _ in self._polled().poll(wait * 1000):
            if fd == 0:
                self._heard_of_near()
            elif fd == 1:
                with suppress(BlockingIOError):
                    del self._out[: os.write(1, self._out)]
            elif fd in self._pipes:
                self._printed(fd)
            else:
                self._fed()
        if time.monotonic() - self._heard >= SILENT_SECONDS:
            raise EOFError

    def _polled(self) -> select.poll:
        poll = select.poll()
        poll.register(0, select.POLLIN)
        if self._out:
            poll.register(1, select.POLLOUT)
        stdin = self._stdin()
        if stdin is not None and self._waiting:
            poll.register(stdin, select.POLLOUT)
        if self._end.room > 0 and len(self._out) < WAITING_BYTES:
            for fd in self._pipes:
                poll.register(fd, select.POLLIN)
        return poll

    def _heard_of_near(self) -> None:
        try:
            data = os.read(0, READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        self._heard = time.monotonic()
        for kind, payload in self._end.feed(data):
            self._frame(kind, payload)

    def _frame(self, kind: ArmourKind, payload: bytes) -> None:
        if kind is ArmourKind.START:
            self._words += payload
            if self._child is not None or len(self._words) > MAX_WORDS_BYTES:
                raise Broken("a second command, or one without an end")
            if not payload:
                self._begin()
            return
        if self._child is None or self._input_ended:
            raise Broken("input of no command")
        if kind is ArmourKind.END:
            self._input_ended = True
        elif self._stdin() is None:
            self._out += self._end.took(len(payload))
        else:
            self._waiting += payload
        self._close_when_fed()

    def _begin(self) -> None:
        words = bytes(self._words).split(b"\0")[:-1]
        if not words or not self._words.endswith(b"\0"):
            raise Broken("a command without words")
        try:
            child = _spawned(words)
        except OSError as error:
            said = f"{os.fsdecode(words[0])}: {error.strerror}\n"
            script = f'printf %s "$1" >&2; exit {NOT_FOUND}'
            child = _spawned(["/bin/sh", "-c", script, "sh", said])
        self._child = child
        for pipe, kind in (
            (child.stdout, ArmourKind.OUTPUT),
            (child.stderr, ArmourKind.COMPLAINT),
        ):
            if pipe is not None:
                self._pipes[pipe.fileno()] = kind
        stdin = self._stdin()
        if stdin is not None:
            os.set_blocking(stdin, False)

    def _printed(self, fd: int) -> None:
        data = os.read(fd, min(MAX_PAYLOAD_BYTES, self._end.room)) if self._end.room else None
        if data:
            self._out += self._end.frame(self._pipes[fd], data)
        elif data is not None:
            del self._pipes[fd]

    def _fed(self) -> None:
        stdin = self._stdin()
        if stdin is None:
            return
        try:
            count = os.write(stdin, self._waiting)
        except BlockingIOError:
            return
        except OSError:
            # It reads no more: what is sent is taken and dropped.
            count = len(self._waiting)
            self._close_stdin()
        del self._waiting[:count]
        self._out += self._end.took(count)
        self._close_when_fed()

    def _close_when_fed(self) -> None:
        if self._input_ended and not self._waiting:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()

    def _stdin(self) -> int | None:
        if self._child is None or self._child.stdin is None or self._child.stdin.closed:
            return None
        return self._child.stdin.fileno()

    def _kill(self) -> None:
        if self._child is not None and self._child.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGHUP)


def _spawned(words: list[bytes] | list[str]) -> "subprocess.Popen[bytes]":
    pipe = subprocess.PIPE
    return subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, bufsize=0
    )


def armour() -> int:
    """Run the command that comes. Returns 0, and 1 when nobody was there or lines were changed."""
    before = None
    # Whoever started us may ignore it; the command would inherit that, and outlive us.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with suppress(termios.error):
        before = termios.tcgetattr(0)
        tty.setraw(0, termios.TCSANOW)
    for fd in (0, 1):
        os.set_blocking(fd, False)
    try:
        ArmouredCommand().run()
    except (Broken, EOFError, OSError):
        return 1
    finally:
        for fd in (0, 1):
            os.set_blocking(fd, True)
        if before is not None:
            with suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, before)
    return 0
