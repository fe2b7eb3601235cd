"""Following a running command: output by offset, input from a pipe, signals passed on.

A broken line is picked up at the offsets already written, so a control plane that
restarts costs a pause and no byte.
"""

import binascii
import json
import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import BinaryIO

from atoll.client.fields import Json
from atoll.client.made.execs import Exec
from atoll.client.stream_lines import OutputLine
from atoll.client.transport import Call, Transport, api_path, post
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.surfaces.cli.console.exits import SIGNALLED, TIMEOUT
from atoll.surfaces.cli.console.output import note

PATIENCE_SECONDS = 30.0
PAUSE_SECONDS = 0.25
STDIN_BYTES = 65536
STREAMS = ("stdout", "stderr")
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
"""The contract's hard cap for each stream."""


def is_stdin_piped() -> bool:
    """Return whether stdin is a pipe, a file or a socket: something to be passed on. A terminal is
    not (that is what `attach` is for)."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


class ExecFollower:
    """Follower of a background command: writes its output until it ends."""

    def __init__(self, transport: Transport, sandbox: str, exec_id: str, *, quiet: bool) -> None:
        """Follow an exec. `quiet` keeps the output for `captured_output` instead of writing it."""
        self._transport = transport
        self._place = ("sandboxes", sandbox, "exec", exec_id)
        self._offsets = dict.fromkeys(STREAMS, 0)
        self._kept: dict[str, bytearray] | None = {s: bytearray() for s in STREAMS}
        if not quiet:
            self._kept = None
        self._out: dict[str, Callable[[bytes], None]] = {}
        self._interrupts = 0

    def captured_output(self) -> dict[str, Json]:
        """Return `stdout` and `stderr` in base64, as the API writes them; empty unless quiet."""
        streams = self._kept or {}
        return {
            name: binascii.b2a_base64(data, newline=False).decode()
            for name, data in streams.items()
        }

    def run(self, *, feed: bool, forget: bool) -> Exec:
        """Follow until it ended; returns the exec. With `feed` our stdin becomes its. With
        `forget` the runtime drops it afterwards (and kills it when we cannot go on).
        Raises `Unavailable` after half a minute without a server."""
        if feed:
            _run_in_thread(self._feed)
        try:
            with self._signals():
                return self._read_to_end()
        finally:
            if forget:
                with suppress(AtollError):
                    self._transport.call(Call("DELETE", api_path(*self._place)))

    def _read_to_end(self) -> Exec:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            before = sum(self._offsets.values())
            try:
                ended = self._listen()
            except Unavailable:
                if time.monotonic() > deadline:
                    raise
                ended = None
            if ended is not None:
                return ended
            if sum(self._offsets.values()) > before:
                deadline = time.monotonic() + PATIENCE_SECONDS
            elif time.monotonic() > deadline:
                raise Unavailable(
                    "the command's output broke off: "
                    "see whether it still runs with `atoll info NAME`"
                )
            time.sleep(PAUSE_SECONDS)

    def _listen(self) -> Exec | None:
        query = tuple((name, str(offset)) for name, offset in self._offsets.items())
        wanted = (("Accept", "application/x-ndjson"),)
        call = Call("GET", api_path(*self._place, "output"), query, wanted, timeout=None)
        with self._transport.open(call) as stream:
            for line in stream.lines():
                ended = self._take(line)
                if ended is not None:
                    return ended
        return None

    def _take(self, line: bytes) -> Exec | None:
        if not line:
            return None
        try:
            record = OutputLine.read(json.loads(line))
            if "exit" in record.value:
                return record.exit
            name = record.stream
            data = binascii.a2b_base64(record.data, strict_mode=True)
        except (ValueError, binascii.Error) as problem:
            raise Failed("the server sent output that cannot be read") from problem
        if name not in self._offsets:
            return None
        # Past what the runtime kept there is a gap; before our place there is a repeat.
        fresh = data[max(0, self._offsets[name] - record.offset) :]
        self._offsets[name] = max(self._offsets[name], record.offset + len(data))
        self._write(name, fresh)
        return None

    def _write(self, name: str, data: bytes) -> None:
        if self._kept is not None:
            self._kept[name] += data
            return
        if name not in self._out:
            self._out[name] = _writer(sys.stdout.buffer if name == "stdout" else sys.stderr.buffer)
        self._out[name](data)

    def _feed(self) -> None:
        """Send our stdin, piece by piece. When the command has ended nobody wants the rest."""
        path = api_path(*self._place, "stdin")
        with suppress(AtollError):
            while data := os.read(0, STDIN_BYTES):
                # No timeout: a command that does not read holds its input back.
                self._transport.call(Call("POST", path, body=data, timeout=None))
            self._transport.call(Call("POST", path, (("close", "true"),), body=b""))

    @contextmanager
    def _signals(self) -> Iterator[None]:
        before = {n: signal.signal(n, self._pass_on) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        """Pass the first Ctrl-C to the command; the second kills it, the third is ours."""
        self._interrupts += 1
        if self._interrupts > 2:
            raise KeyboardInterrupt
        name = signal.Signals(number).name.removeprefix("SIG")
        word = name if self._interrupts == 1 else "KILL"
        _run_in_thread(lambda: self._signal(word))

    def _signal(self, word: str) -> None:
        with suppress(AtollError):
            self._transport.call(post(*self._place, "signal", value={"signal": word}))


def end_code(ended: Exec) -> int:
    """Return the exit code of an ended command as ours, after a note where it needs one."""
    if ended.truncated:
        note("atoll: output beyond 64 MiB was dropped: write it to a file inside, then `atoll cp`")
    if ended.timed_out:
        note("atoll: the command ran out of time and was ended")
        return TIMEOUT
    if ended.signal:
        return SIGNALLED + signal_number(ended.signal)
    return ended.exit_code


def signal_number(name: str) -> int:
    """Return 15 for `TERM`, `SIGTERM` or `15`; 0 for a signal this machine does not know."""
    if name.isdigit() and len(name) < 4:
        return int(name)
    try:
        return int(signal.Signals[f"SIG{name.removeprefix('SIG')}"])
    except KeyError:
        return 0


def _run_in_thread(work: Callable[[], None]) -> None:
    """Run `work` in a daemon thread: it may block for ever, and the process must still end."""
    import threading  # loaded late: few commands are fed or interrupted

    threading.Thread(target=work, daemon=True).start()


def _writer(stream: BinaryIO) -> Callable[[bytes], None]:
    """Return what writes to a stream whole and at once; guarded where it is a terminal."""
    if stream.isatty():
        # Loaded late: the parser takes longer to load than the rest, and a pipe has no use for it.
        from atoll.surfaces.cli.console.guard import GuardedStream

        return GuardedStream(stream).write

    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    return write
