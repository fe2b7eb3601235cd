"""Commands of `sudo`, as the runtime sees them: asked of the zygote, waited for, signalled.

It decides nothing. The policy decides whether a command may be requested
(`doors.approvals.endpoint`), and the zygote, by its own list, whether it runs. A runtime without a
zygote has none.
"""

import asyncio
import contextlib
import socket
from collections import deque
from collections.abc import Callable, Mapping
from time import monotonic

from atoll.domain.errors import AtollError, Forbidden, Invalid, LimitReached, Unavailable
from atoll.wire.zygote import sudo as wire
from atoll.wire.zygote.messages import Malformed

NOT_BEGUN = 125
"""The exit code of a command that the zygote did not begin."""

NOT_AWAITED = 137
"""And of one that was killed because nobody waited for it any more."""

MAX_A_MINUTE = 120
MAX_SIGNALS = 30
"""Signals to one command; further ones are dropped, except the last."""

_MAX_BYTES = 64 * 1024

Record = Callable[[str, Mapping[str, object]], object]


class Run:
    """Running sudo command: `over` is how it ended."""

    def __init__(self, number: int, argv: tuple[str, ...], send: Callable[[wire.PassSignal], None]):
        self.number = number
        self.argv = argv
        self.over: asyncio.Future[wire.CommandEnded] = asyncio.get_running_loop().create_future()
        self._send = send
        self._signals = 0

    def signal(self, number: int) -> None:
        """Pass a signal on; one that is not passed on, and any after too many, is dropped."""
        if number in wire.SIGNALS and self._signals < MAX_SIGNALS:
            self._signals += 1
            self._send(wire.PassSignal(self.number, number))

    def end(self) -> None:
        """End the command: its caller is gone."""
        self._send(wire.PassSignal(self.number, 0))


class Sudo:
    """Sudo commands of one sandbox. `record` writes to the journal. Owns `zygote`."""

    def __init__(self, zygote: socket.socket | None, record: Record) -> None:
        self._zygote = zygote
        self._record = record
        self._runs: dict[int, Run] = {}
        self._last = 0
        self._begun: deque[float] = deque(maxlen=MAX_A_MINUTE)
        if zygote is not None:
            zygote.setblocking(False)
            asyncio.get_running_loop().add_reader(zygote, self._read)

    def close(self) -> None:
        """Receive no more, and wake the waiters."""
        if self._zygote is not None:
            asyncio.get_running_loop().remove_reader(self._zygote)
            self._zygote.close()
            self._zygote = None
        for run in self._runs.values():
            _settle(run, wire.CommandEnded(run.number, NOT_BEGUN, "the sandbox is ending"))

    def begin(self, argv: tuple[str, ...], cwd: str, pid: int) -> Run:
        """Run `argv` in `cwd` on the input and output of the process `pid` inside. Wait for it by
        `ended`. Raises `Forbidden`, `Invalid`, `LimitReached`, `Unavailable`."""
        if self._zygote is None:
            raise Forbidden("this wall cannot give that: nobody outside runs commands for it")
        now = monotonic()
        if len(self._begun) == MAX_A_MINUTE and now - self._begun[0] < 60:
            raise LimitReached(f"{MAX_A_MINUTE} commands a minute are the most: wait a little")
        run = Run(self._last + 1, argv, self._send)
        try:
            self._send(wire.RunCommand(run.number, argv, cwd, pid))
        except Malformed as err:
            raise Invalid(str(err)) from err
        self._last = run.number
        self._begun.append(now)
        self._runs[run.number] = run
        return run

    async def ended(self, run: Run) -> int:
        """Wait for the command and return its exit code as a shell reports it; cancelling ends the
        command. Raises `Forbidden` with the reason when it was not started."""
        try:
            over = await run.over
        except asyncio.CancelledError:
            with contextlib.suppress(AtollError):
                run.end()
            gone = {"exit": NOT_AWAITED, "why": "its caller is gone, so it was ended"}
            self._record("safety.sudo", {"argv": [*run.argv], **gone})
            raise
        finally:
            self._runs.pop(run.number, None)
        payload = {"argv": [*run.argv], "exit": over.code}
        self._record("safety.sudo", {**payload, "why": over.why} if over.why else payload)
        if over.why:
            raise Forbidden(over.why)
        return over.code

    def _send(self, message: wire.RunCommand | wire.PassSignal) -> None:
        if self._zygote is None:
            raise Unavailable("the sandbox is ending")
        try:
            self._zygote.send(wire.encode(message))
        except OSError as err:
            raise Unavailable(f"the zygote does not answer: {err}") from err

    def _read(self) -> None:
        if self._zygote is None:
            return
        try:
            over = wire.decode_end(self._zygote.recv(_MAX_BYTES))
        except BlockingIOError:
            return
        except (OSError, Malformed):
            self.close()  # the zygote is gone
            return
        run = self._runs.get(over.number)
        if run is not None:
            _settle(run, over)


def _settle(run: Run, over: wire.CommandEnded) -> None:
    if not run.over.done():
        run.over.set_result(over)
