"""Terminal: a PTY, its scrollback and its driver.

`audience` holds the viewers, `control` the driver; `domain.terminal.driver` decides when output
waits. The program's exit status and the end of its output are two events: a background job may
hold the terminal open after its leader has gone.
"""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass

from atoll.domain.ids import TerminalId
from atoll.domain.terminal.driver import Driving, watermarks
from atoll.domain.terminal.size import Size, nudged
from atoll.domain.terminal.turn import Role, Turn
from atoll.ports.spawner import Process
from atoll.runtime.alarm import Alarm
from atoll.runtime.execs.ends import end_of
from atoll.runtime.stage import Flow, Stage
from atoll.runtime.terminals.audience import Audience
from atoll.runtime.terminals.control import Control, HeldUntil
from atoll.runtime.terminals.control_audit import ControlAudit, Record
from atoll.runtime.terminals.marks import Marks
from atoll.runtime.terminals.master import Master
from atoll.runtime.terminals.observer import Author, Observer
from atoll.runtime.terminals.record import TerminalSpec
from atoll.runtime.terminals.sizing import Sizing
from atoll.runtime.terminals.typing_priority import TypingPriority
from atoll.runtime.terminals.viewers.viewer import CLOSE_SUPERSEDED, Viewer
from atoll.runtime.terminals.waiting import Taken
from atoll.wire.attach import (
    DriverChanged,
    Exited,
    InputRefused,
    Recorded,
    ServerMessage,
    Sized,
    Titled,
)
from atoll.wire.contract.terminals import End, TerminalRecord
from atoll.wire.terminal.query import answer, is_reply
from atoll.wire.terminal.scrollback import Scrollback

log = logging.getLogger("atoll.runtime")

OUTPUT_GRACE_SECONDS = 2.0
KILL_SECONDS = 10.0
NUDGE_SECONDS = 0.1

Lock = Callable[[Role, bytes], str | None]
"""Why a client of this role may not type these keys now; None while it may."""

_AT_THE_FOREGROUND = (signal.SIGINT, signal.SIGQUIT)


@dataclass(frozen=True, slots=True)
class TerminalContext:
    """The runtime around a terminal. `record` writes into the journal who had control and who
    typed; `held_until` is `Control`'s; `on_left` is called each time a viewer has left."""

    typing_priority: TypingPriority
    record: Record
    held_until: HeldUntil
    on_left: Callable[[TerminalId], None]


class Terminal:
    """A terminal from its spawned process to `close`.

    `lock` returns why a client may not type these keys now, None while it may; `observers` receive
    everything that passes, `marks` first; `greeting`, and `recording` while there is one, are sent
    to each who joins. `echo_off`, kept while there is a recording: what was typed last went to a
    program that showed nothing of it, as one does that reads a password."""

    def __init__(
        self,
        spec: TerminalSpec,
        master_fd: int,
        process: Process,
        *,
        stage: Stage,
        context: TerminalContext,
    ) -> None:
        self.spec = spec
        self.size = spec.size
        self.scrollback = Scrollback(spec.ring_bytes)
        self.end: End | None = None
        self.ending: Exited | None = None
        self.lock: Lock = lambda _role, _keys: None
        marks = Marks(spec.nonce)
        self.marks = marks.log
        self.observers: list[Observer] = [marks]
        self.recording: Recorded | None = None
        self.echo_off = False
        self.greeting: ServerMessage | None = None
        self._context = context
        audit = ControlAudit(spec.id, context.record)
        self.control = Control(Turn(spec.creator), self, audit, held_until=context.held_until)
        self._process = process
        self._flow = Flow(stage, self._keep)
        levels = watermarks(spec.ring_bytes)
        self.ack_every = levels.ack_every
        self._driving = Driving(levels)
        self.audience = Audience()
        self._title = ""
        self._loop = asyncio.get_running_loop()
        self._alarm = Alarm(self._tick)
        self._nudge: asyncio.TimerHandle | None = None
        self._sizing = Sizing(self._set_size)
        self._drained = asyncio.Event()
        self._ended = asyncio.Event()
        self._master = Master(
            master_fd,
            on_data=self._flow.feed,
            on_turn=self._show,
            on_hangup=self._hung_up,
            throttled=lambda: context.typing_priority.throttles(spec.id),
        )
        self._master.resume()

    @property
    def viewers(self) -> int:
        """Number of connections that watch."""
        return len(self.audience)

    def shown(self) -> TerminalRecord:
        """Return the record the contract shows."""
        return TerminalRecord(
            terminal_id=self.spec.id,
            name=self.spec.name,
            argv=self.spec.argv,
            cwd=self.spec.cwd,
            cols=self.size.cols,
            rows=self.size.rows,
            state="running" if self.ending is None else "exited",
            exit=self.end if self.ending is not None else None,
            started_at=self.spec.started_at,
            title=self._title,
            offset=self.scrollback.end,
            ring_start=self.scrollback.start,
            viewers=len(self.audience),
            driver=self._driving.driver,
            recording=self.recording is not None,
        )

    # Viewers.

    def join(
        self, viewer: Viewer, offset: int, *, wish: Size | None = None, take: bool = False
    ) -> None:
        """Add a viewer whose first byte will be `offset`; the same client's older connection
        is closed as superseded. `wish` is the size it would like, `take` that it wants control
        now. Raises `ValueError` for a client id that is somebody else's (`client_for`)."""
        older = self.audience.remove(viewer.client)
        if wish is not None:
            self.audience.want_size(viewer.client, wish)
        self._driving.joined(viewer.client, offset, self._loop.time())
        self.control.join(viewer.party, take=take)
        if self.drives(viewer):
            self._apply_wish()
        self._settle()
        # It joins the audience only now: its start message will say all this.
        self.audience.add(viewer)
        viewer.notify(self.control.state())
        for greeting in (self.greeting, self.recording):
            if greeting is not None:
                viewer.notify(greeting)
        if older is not None:
            older.link.end(CLOSE_SUPERSEDED, "superseded")

    def leave(self, viewer: Viewer) -> None:
        """Remove a viewer, unless its client has a newer connection."""
        if not self.is_newest(viewer):
            return
        self.audience.remove(viewer.client)
        self._driving.left(viewer.client, self._loop.time())
        self.control.leave(viewer.client)
        self._settle()
        self._context.on_left(self.spec.id)

    def is_newest(self, viewer: Viewer) -> bool:
        """Return whether this connection is its client's newest."""
        return self.audience.find(viewer.client) is viewer

    def drives(self, viewer: Viewer) -> bool:
        """Return whether this viewer's client is the driver."""
        return viewer.client == self._driving.driver

    def client_for(self, principal: str, wanted: str, fresh: str) -> str:
        """Return the client id this principal may have: `wanted`, unless that is somebody
        else's."""
        return fresh if self.control.turn.claimed(wanted, principal) else wanted

    @property
    def driver(self) -> str | None:
        """The driver's client id."""
        return self._driving.driver

    @property
    def title(self) -> str:
        """The window title."""
        return self._title

    def resynced(self, viewer: Viewer) -> None:
        """Reset the backlog of a viewer that skipped: it no longer waits for what it missed."""
        self._driving.skipped(viewer.client, viewer.cursor)
        if self.drives(viewer):
            self.nudge()

    def acknowledge(self, viewer: Viewer, offset: int) -> bool:
        """Record that a viewer has everything before `offset` on its screen. False for an
        impossible offset."""
        taken = self._driving.acked(viewer.client, offset, self._loop.time())
        if self.drives(viewer):
            self._settle()
        return taken

    def type(self, viewer: Viewer, data: bytes) -> InputRefused | None:
        """Type keystrokes. Returns None when they went to the program, else why they did not.
        Answers of an emulator count only from the driver, since every viewer's emulator would
        answer. They pass a lock, and extend nobody's turn."""
        if not self.is_newest(viewer):
            return InputRefused("superseded", "this client is here by a newer connection")
        if is_reply(data):
            if not self.drives(viewer):
                return None
        elif (refusal := self._refusal(viewer, data)) is not None:
            return refusal
        if self.ending is not None:
            return InputRefused("ended", "the terminal has ended")
        if not self._write(data, viewer.input_taken):
            return InputRefused("input_full", "the program reads no input; this was dropped")
        self._context.typing_priority.typed(self.spec.id)
        self.control.typed(viewer.party, len(data))
        for observer in self.observers:
            observer.typed(Author.of(viewer.party), data)
        return None

    def inject(self, author: Author, data: bytes) -> bool:
        """Type for somebody who is not attached and passes every lock: all of it or nothing,
        False when the program takes no more."""
        if self.ending is not None or not self._write(data, lambda _: None):
            return False
        for observer in self.observers:
            observer.typed(author, data)
        return True

    def _write(self, data: bytes, taken: Taken) -> bool:
        if self.recording is not None:
            # Asked before the program can answer: it may show lines again as soon as it has this.
            self.echo_off = self._master.echo_off
        return self._master.write(data, taken)

    def _refusal(self, viewer: Viewer, keys: bytes) -> InputRefused | None:
        """Return why this viewer may not type these keys. Asking may give it a free terminal."""
        if self.ending is not None:
            return None
        reason = self.lock(viewer.party.role, keys)
        turn = self.control.may_type(viewer.client, passes=reason is None)
        if turn is not None:
            return InputRefused(turn.code, turn.message)
        return None if reason is None else InputRefused(reason, f"typing is locked: {reason}")

    def wish(self, viewer: Viewer, size: Size) -> bool:
        """Record the size a viewer requests. Only the driver's applies now, others' when they
        drive."""
        self.audience.want_size(viewer.client, size)
        if not self.drives(viewer):
            return False
        self.resize(size)
        return True

    # The program.

    def resize(self, size: Size) -> None:
        """Set the PTY's size and report it; the same size again does nothing. Of a burst of
        sizes only some are taken, and always the last."""
        if self.ending is None:
            self._sizing.ask(size)

    def _set_size(self, size: Size) -> None:
        if size == self.size:
            return
        self.size = size
        self._master.resize(size)
        for observer in self.observers:
            observer.resized(size)
        self.tell(Sized(size.cols, size.rows))

    def nudge(self) -> None:
        """Make a full-screen program repaint after a replay that began in its middle."""
        if not self.scrollback.modes.alternate or self._nudge is not None:
            return
        self._master.resize(nudged(self.size))
        self._nudge = self._loop.call_later(NUDGE_SECONDS, self._unnudge)

    def install_lock(self, lock: Lock, greeting: ServerMessage) -> None:
        """Refuse keys for which `lock` returns a reason; send `greeting` to each who joins."""
        self.lock = lock
        self.greeting = greeting

    def recorded(self, message: Recorded) -> None:
        """Report the start or end of a recording to everybody, and to those who join while it
        runs."""
        self.recording = message if message.on else None
        self.tell(message)

    @property
    def process(self) -> Process:
        """The leader and everything it started."""
        return self._process

    async def signal(self, number: signal.Signals) -> None:
        """Send INT and QUIT to the foreground process group, others to the whole tree."""
        if number in _AT_THE_FOREGROUND:
            self._master.interrupt(number)
        else:
            await self._process.signal(number, tree=True)

    async def watch(self) -> End:
        """Wait for the leader's end, then for the end of its output, and report both."""
        left = await self._process.wait()
        self.end = end_of(left)
        # Whatever was unread must reach the ring now; there is room below the high mark.
        self._settle()
        self._master.resume()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OUTPUT_GRACE_SECONDS):
                await self._drained.wait()
        self._finish(self.end)
        return self.end

    async def terminate(self, grace: float) -> None:
        """Send HUP, then TERM, then KILL to the whole tree within `grace` seconds, and wait for its
        end. Raises `TimeoutError` when even KILL does not end it."""
        for number, seconds in ((signal.SIGHUP, grace / 2), (signal.SIGTERM, grace / 2)):
            if self._ended.is_set():
                break
            await self._process.signal(number, tree=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait()
        await self._process.signal(signal.SIGKILL, tree=True)
        async with asyncio.timeout(KILL_SECONDS):
            await self._ended.wait()

    def hang_up(self) -> None:
        """Close the PTY: the kernel sends HUP to the session inside."""
        self._flow.stop()
        self._cancel_timers()
        self.control.close()
        self._master.close()

    # What comes from below.

    def _keep(self, data: bytes) -> None:
        if not data:
            return
        queries = self.scrollback.append(data)
        for observer in self.observers:
            observer.showed(data)
        now = self._loop.time()
        self._driving.produced(self.scrollback.end, now)
        if queries and not self._driving.present:
            modes = self.scrollback.modes
            self._master.write(b"".join(answer(query, modes) for query in queries))
        if self.scrollback.modes.title != self._title:
            self._title = self.scrollback.modes.title
            self.tell(Titled(self._title))
        if not self._master.taking:
            self._show()

    def _show(self) -> None:
        """Show what has come: there is no more output for now."""
        now, ready = self._loop.time(), self.scrollback.ready
        self.audience.poke(ready, now)
        self.scrollback.forget()
        self._settle()

    def _hung_up(self) -> None:
        """End the output when no process holds the terminal and the leader is gone."""
        if self.end is not None:
            self._drained.set()

    def _finish(self, end: End) -> None:
        self._flow.end()
        self.hang_up()
        self.scrollback.finish()
        self.ending = Exited(self.scrollback.end, end.code, end.signal)
        self._ended.set()
        for observer in self.observers:
            observer.ended(self.ending)
        self.audience.pump()

    # Keeping the driver's state and the world in line.

    def set_driver(self, client: str | None) -> None:
        """Apply another driver: its backlog counts, its size is taken."""
        self._driving.set_driver(client, self._loop.time())
        self.tell(DriverChanged(client))
        self._apply_wish()
        self._settle()

    def tell(self, message: ServerMessage) -> None:
        """Report to every viewer."""
        self.audience.tell(message)

    def _settle(self) -> None:
        if self.end is None:
            if self._driving.paused:
                self._master.pause()
            else:
                self._master.unpause()
            self._alarm.set(self._driving.deadline)

    def _tick(self) -> None:
        self._driving.tick(self._loop.time())
        self._settle()

    def _apply_wish(self) -> None:
        wish = self.audience.wanted_size(self._driving.driver)
        if wish is not None and self.ending is None:
            self.resize(wish)

    def _unnudge(self) -> None:
        self._nudge = None
        self._master.resize(self.size)

    def _cancel_timers(self) -> None:
        self._sizing.close()
        self._alarm.cancel()
        if self._nudge is not None:
            self._nudge.cancel()
            self._nudge = None
