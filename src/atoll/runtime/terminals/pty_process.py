"""Program on a PTY, from its spawned process to the end of its output, with the ring of that.

Knows no viewers. What shows the output is its `OutputConsumer`, which sets the pace of reading.
The program's exit status and the end of its output are two events: a background job may hold the
PTY open after its leader has gone.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Sequence
from typing import Protocol

from atoll.domain.terminals.size import Size, nudge_size
from atoll.ports.spawner import Process, Pty, PtyReader, Taken
from atoll.runtime.execs.record import end_of
from atoll.runtime.stage import Flow, Stage
from atoll.runtime.terminals.marks import Marks
from atoll.runtime.terminals.observer import Author, Observer
from atoll.runtime.terminals.record import TerminalSpec
from atoll.runtime.terminals.sizing import Sizing
from atoll.wire.attach import Exited
from atoll.wire.contract.terminals import End
from atoll.wire.terminal.modes import SCHEME_REPORTS, release
from atoll.wire.terminal.query import Palette, Query, answer, report_scheme
from atoll.wire.terminal.scrollback import Scrollback

OUTPUT_GRACE_SECONDS = 2.0
KILL_SECONDS = 10.0
NUDGE_SECONDS = 0.1

_AT_THE_FOREGROUND = (signal.SIGINT, signal.SIGQUIT)


class OutputConsumer(Protocol):
    """Consumer of a PTY's output. It calls `pause` and `unpause` of the PTY to set the pace."""

    def show(self) -> None:
        """Show what is in the ring by now: there is no more output for the moment."""
        ...

    def queried(self, queries: Sequence[Query]) -> None:
        """Receive the queries to an emulator in the output."""
        ...

    def titled(self, title: str) -> None:
        """Receive another window title."""
        ...

    def resized(self, size: Size) -> None:
        """Receive the size the PTY has now."""
        ...


class PtyProcess:
    """Program on a PTY. Observers receive everything that passes, `marks` first.

    `end` is the leader's, `ending` that of the output. `echo_off` is kept while an observer wants
    it: what was typed last went to a program that showed nothing of it, as one does that reads a
    password."""

    def __init__(
        self,
        spec: TerminalSpec,
        pty: Pty,
        process: Process,
        *,
        stage: Stage,
        consumer: OutputConsumer,
        throttled: Callable[[], bool],
    ) -> None:
        self.size = spec.size
        # With room for what comes at the end beyond a driver's backlog.
        self.scrollback = _scrollback(spec, spec.ring_bytes + pty.window_bytes)
        self.title = self.scrollback.modes.title
        self.end: End | None = None
        self.ending: Exited | None = None
        self.process = process
        self.echo_off = False
        marks = Marks(spec.nonce)
        self.marks = marks.log
        self._observers: tuple[Observer, ...] = (marks,)
        self._echo_observers: tuple[Observer, ...] = ()
        self._consumer = consumer
        self._flow = Flow(stage, self._keep)
        self._loop = asyncio.get_running_loop()
        self._nudge: asyncio.TimerHandle | None = None
        self._sizing = Sizing(self._set_size)
        self._drained = asyncio.Event()
        self._ended = asyncio.Event()
        self._master = pty.open(PtyReader(self._flow.feed, self._show, self._hung_up, throttled))
        self._master.resume()

    def subscribe(self, observer: Observer, *, echo: bool = False) -> None:
        """Call this observer, too, from now on. With `echo` it reads `echo_off`."""
        self._observers = (*self._observers, observer)
        if echo:
            self._echo_observers = (*self._echo_observers, observer)

    def unsubscribe(self, observer: Observer) -> None:
        """Call this observer no more."""
        self._observers = tuple(each for each in self._observers if each is not observer)
        left = tuple(each for each in self._echo_observers if each is not observer)
        self._echo_observers = left

    # Input, sizes and signals.

    def type(self, author: Author, data: bytes, taken: Taken = lambda _: None) -> bool:
        """Type `data`, all of it or nothing: False when the program has ended or takes no more.
        `taken` is called as the program takes it."""
        if self.ending is not None:
            return False
        if self._echo_observers:
            # Read before the program can answer: it may echo again as soon as it has this.
            self.echo_off = self._master.echo_off
        if not self._master.write(data, taken):
            return False
        for observer in self._observers:
            observer.typed(author, data)
        return True

    def answer(self, queries: Sequence[Query], palette: Palette | None) -> None:
        """Answer queries as an emulator with these colours would."""
        modes, size = self.scrollback.modes, (self.size.cols, self.size.rows)
        self._master.write(b"".join(answer(query, modes, size, palette) for query in queries))

    def tell_scheme(self, palette: Palette) -> None:
        """Tell a program that wants to know it which background it has now."""
        if self.ending is None and SCHEME_REPORTS in self.scrollback.modes.private:
            self._master.write(report_scheme(palette))

    def resize(self, size: Size) -> None:
        """Set the PTY's size and report it; the same size again does nothing. Of a burst of
        sizes only some are taken, and always the last."""
        if self.ending is None:
            self._sizing.ask(size)

    def resize_now(self, size: Size) -> None:
        """Set the PTY's size at once, instead of any that waits."""
        if self.ending is None:
            self._sizing.close()
            self._set_size(size)

    def nudge(self) -> None:
        """Make a full-screen program repaint after a replay that began in its middle."""
        if self.scrollback.modes.alternate:
            self.repaint()

    def repaint(self) -> None:
        """Make the program repaint by another size for a moment, whatever screen it uses."""
        if self._nudge is None:
            self._master.resize(nudge_size(self.size))
            self._nudge = self._loop.call_later(NUDGE_SECONDS, self._unnudge)

    async def signal(self, number: signal.Signals) -> None:
        """Send INT and QUIT to the foreground process group, others to the whole tree."""
        if number in _AT_THE_FOREGROUND:
            self._master.interrupt(number)
        else:
            await self.process.signal(number, tree=True)

    # Reading.

    def pause(self) -> None:
        """Stop reading: the program blocks once the kernel's buffer is full."""
        self._master.pause()

    def unpause(self) -> None:
        """Undo `pause`."""
        self._master.unpause()

    async def wait(self) -> End:
        """Wait for the leader's end, then for the end of its output. Call `finish` then."""
        left = await self.process.wait()
        self.end = end_of(left)
        # Whatever was unread must reach the ring now; there is room below the high mark.
        self._master.resume()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OUTPUT_GRACE_SECONDS):
                await self._drained.wait()
        return self.end

    def finish(self, end: End) -> None:
        """End the output, close the PTY and report it to the observers."""
        self._flow.end()
        self.hang_up()
        self.scrollback.finish()
        self.ending = Exited(self.scrollback.end, end.code, end.signal)
        self._ended.set()
        for observer in self._observers:
            observer.ended(self.ending)

    async def terminate(self, grace: float) -> None:
        """Send HUP, then TERM, then KILL to the whole tree within `grace` seconds, and wait for its
        end. Raises `TimeoutError` when even KILL does not end it."""
        for number, seconds in ((signal.SIGHUP, grace / 2), (signal.SIGTERM, grace / 2)):
            if self._ended.is_set():
                break
            await self.process.signal(number, tree=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait()
        await self.process.signal(signal.SIGKILL, tree=True)
        async with asyncio.timeout(KILL_SECONDS):
            await self._ended.wait()

    def hang_up(self) -> None:
        """Close the PTY: the kernel sends HUP to the session inside."""
        self._flow.stop()
        self._sizing.close()
        if self._nudge is not None:
            self._nudge.cancel()
            self._nudge = None
        self._master.close()

    # What comes from below.

    def _keep(self, data: bytes) -> None:
        if not data:
            return
        queries = self.scrollback.append(data)
        for observer in self._observers:
            observer.showed(data)
        if queries:
            self._consumer.queried(queries)
        if self.scrollback.modes.title != self.title:
            self.title = self.scrollback.modes.title
            self._consumer.titled(self.title)
        if not self._master.taking:
            self._show()

    def _show(self) -> None:
        self._consumer.show()
        self.scrollback.forget()

    def _hung_up(self) -> None:
        """End the output when no process holds the PTY and the leader is gone."""
        if self.end is not None:
            self._drained.set()

    def _set_size(self, size: Size) -> None:
        if size == self.size:
            return
        self.size = size
        self._master.resize(size)
        for observer in self._observers:
            observer.resized(size)
        self._consumer.resized(size)

    def _unnudge(self) -> None:
        self._nudge = None
        self._master.resize(self.size)


def _scrollback(spec: TerminalSpec, capacity: int) -> Scrollback:
    """Return where a terminal's output goes: below the screen that it goes on from, if any."""
    screen = spec.screen
    if screen is None:
        return Scrollback(capacity)
    scrollback = Scrollback.resumed(
        capacity, screen.offset, preamble=screen.preamble, data=screen.data
    )
    notice = f"\r\n\x1b[2m{screen.notice}\x1b[0m\r\n" if screen.notice else ""
    scrollback.append(release(scrollback.modes) + notice.encode())
    return scrollback
