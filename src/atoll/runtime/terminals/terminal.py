"""Terminal: a program on a PTY and its audience.

`pty_process` holds the program and its output, `audience` the viewers, `control` the driver;
`domain.terminals.driver` decides when output waits.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from atoll.domain.errors import Conflict
from atoll.domain.ids import TerminalId
from atoll.domain.terminals.driver import Driving, watermarks
from atoll.domain.terminals.size import Size
from atoll.domain.terminals.talk import Talk
from atoll.domain.terminals.turn import Party, Turn, TurnRefusal
from atoll.ports.spawner import Process, Pty
from atoll.runtime.clock import Alarm
from atoll.runtime.stage import Stage
from atoll.runtime.terminals.audience import Audience
from atoll.runtime.terminals.control import Control, HeldUntil
from atoll.runtime.terminals.control_audit import ControlAudit, Record
from atoll.runtime.terminals.observer import Author
from atoll.runtime.terminals.pointing import Pointing
from atoll.runtime.terminals.pty_process import PtyProcess
from atoll.runtime.terminals.record import TerminalSpec
from atoll.runtime.terminals.typing_priority import TypingPriority
from atoll.runtime.terminals.viewers.viewer import CLOSE_SUPERSEDED, Viewer
from atoll.wire.attach import (
    DriverChanged,
    Exited,
    InputRefused,
    Recorded,
    ServerMessage,
    Sized,
    Talked,
    TalkLine,
    Titled,
)
from atoll.wire.contract.screens import KeptScreen
from atoll.wire.contract.terminals import End, TerminalRecord
from atoll.wire.terminal.query import Palette, Query, is_reply
from atoll.wire.words.terminals import Role

_ATOLL = Party("atoll", "Atoll", "atoll", Role.OWNER)
"""The author of lines that no person said. Its client id is none of a client."""


@dataclass(frozen=True, slots=True)
class TerminalContext:
    """The runtime around a terminal. `record` writes into the journal who had control and who
    typed; `held_until` is `Control`'s; `on_left` is called each time a viewer has left; `palette`
    returns the colours of who will look."""

    typing_priority: TypingPriority
    record: Record
    held_until: HeldUntil
    on_left: Callable[[TerminalId], None]
    palette: Callable[[], Palette | None]


class Terminal:
    """Terminal of a spawned process, for all who watch it and type. `pty` is the program.

    `spec.guard` may refuse keys. Its greeting, and `recording` while there is one, are sent to
    each who joins."""

    def __init__(
        self,
        spec: TerminalSpec,
        pty: Pty,
        process: Process,
        *,
        stage: Stage,
        context: TerminalContext,
    ) -> None:
        self.spec = spec
        self.recording: Recorded | None = None
        self._renamed = self.fixed = False
        self._context = context
        self._loop = asyncio.get_running_loop()
        levels = watermarks(spec.ring_bytes)
        self.ack_every = levels.ack_every
        self._driving = Driving(levels)
        self._alarm = Alarm(self._tick)
        self.audience = Audience()
        self._talk = Talk()
        self.pointing = Pointing(self.audience)
        audit = ControlAudit(spec.id, context.record)
        self.control = Control(Turn(spec.creator), self, audit, held_until=context.held_until)
        self.pty = PtyProcess(
            spec,
            pty,
            process,
            stage=stage,
            consumer=self,
            throttled=lambda: context.typing_priority.throttles(spec.id),
        )
        self.scrollback, self.marks = self.pty.scrollback, self.pty.marks

    @property
    def viewers(self) -> int:
        """Number of connections that watch."""
        return len(self.audience)

    def rename(self, name: str) -> None:
        """Take another name."""
        self.spec = replace(self.spec, name=name)
        self._renamed = True

    def fix(self, size: Size | None) -> None:
        """Keep this size whatever a driver's window has; None lets the driver's apply again."""
        self.fixed = size is not None
        if size is None:
            self._apply_wanted_size()
        else:
            self.pty.resize_now(size)
        self.tell(self._size_message(self.pty.size))

    def resize(self, size: Size) -> None:
        """Set the size. Raises `Conflict` when it is fixed."""
        if self.fixed:
            raise Conflict(
                f"terminal {self.spec.id} has a fixed size: change that, or let it go first",
                code="fixed_size",
            )
        self.pty.resize(size)

    def shown(self) -> TerminalRecord:
        """Return the record the contract shows."""
        return TerminalRecord(
            terminal_id=self.spec.id,
            name=self.spec.name,
            argv=self.spec.argv,
            cwd=self.spec.cwd,
            cols=self.pty.size.cols,
            rows=self.pty.size.rows,
            state="running" if self.ending is None else "exited",
            exit=self.pty.end if self.ending is not None else None,
            started_at=self.spec.started_at,
            title=self.pty.title,
            offset=self.scrollback.end,
            ring_start=self.scrollback.start,
            viewers=len(self.audience),
            driver=self._driving.driver,
            recording=self.recording is not None,
            renamed=self._renamed,
            fixed=self.fixed,
        )

    def screen(self, most: int) -> KeptScreen:
        """Return what it shows, at most about `most` bytes, for a terminal that goes on after a
        sleep."""
        offset, preamble, data = self.scrollback.newest(most)
        return KeptScreen(
            terminal_id=self.spec.id,
            name=self.spec.name,
            argv=self.spec.argv,
            cwd=self.marks.cwd or self.spec.cwd,
            cols=self.pty.size.cols,
            rows=self.pty.size.rows,
            ring_bytes=self.spec.ring_bytes,
            offset=offset,
            preamble=preamble,
            data=data,
            fixed=self.fixed,
        )

    # Viewers.

    def join(
        self, viewer: Viewer, offset: int, *, wanted_size: Size | None = None, take: bool = False
    ) -> None:
        """Add a viewer whose first byte will be `offset`; the same client's older connection
        is closed as superseded. `wanted_size` is the size of its screen, `take` that it wants
        control now. Raises `ValueError` for a client id that is somebody else's (`client_for`)."""
        older = self.audience.remove(viewer.client)
        if wanted_size is not None:
            self.audience.want_size(viewer.client, wanted_size)
        self._driving.joined(viewer.client, offset, self._loop.time())
        self.control.join(viewer.party, take=take)
        if self.drives(viewer):
            self._apply_wanted_size()
        self._settle()
        # It joins the audience only now: its start message will say all this.
        self.audience.add(viewer)
        viewer.notify(self.control.state())
        if self.spec.guard is not None:
            viewer.notify(self.spec.guard.greeting())
        if self.recording is not None:
            viewer.notify(self.recording)
        if self._talk.lines:
            viewer.notify(self._talk_message())
        if older is not None:
            older.link.end(CLOSE_SUPERSEDED, "superseded")

    def leave(self, viewer: Viewer) -> None:
        """Remove a viewer, unless its client has a newer connection."""
        if not self.is_newest(viewer):
            return
        self.audience.remove(viewer.client)
        self._driving.left(viewer.client, self._loop.time())
        self.control.leave(viewer.client)
        self.pointing.leave(viewer.client)
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
    def ending(self) -> Exited | None:
        """The last message, once the output has ended."""
        return self.pty.ending

    def resynced(self, viewer: Viewer) -> None:
        """Reset the backlog of a viewer that skipped: it no longer waits for what it missed."""
        self._driving.skipped(viewer.client, viewer.cursor)
        if self.drives(viewer):
            self.pty.nudge()

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
        author = Author.of(viewer.party)
        if not self.pty.type(author, data, viewer.input_taken):
            return InputRefused("input_full", "the program reads no input; this was dropped")
        self._context.typing_priority.typed(self.spec.id)
        self.control.typed(viewer.party, len(data))
        return None

    def _refusal(self, viewer: Viewer, keys: bytes) -> InputRefused | None:
        """Return why this viewer may not type these keys. Asking may give it a free terminal."""
        if self.ending is not None:
            return None
        guard = self.spec.guard
        reason = None if guard is None else guard.refusal(viewer.party.role, keys)
        turn = self.control.may_type(viewer.client, passes=reason is None)
        if turn is not None:
            return InputRefused(turn.code, turn.message)
        return None if reason is None else InputRefused(reason, f"typing is locked: {reason}")

    def want_size(self, viewer: Viewer, size: Size) -> bool:
        """Record the size a viewer requests. Only the driver's applies now, others' when they
        drive."""
        self.audience.want_size(viewer.client, size)
        if not self.drives(viewer):
            return False
        if not self.fixed:
            self.pty.resize(size)
        return True

    def say(self, viewer: Viewer, text: str) -> TurnRefusal | None:
        """Report a person's line to everybody here. Returns why not when it is refused."""
        refusal = self._talk.say(viewer.party, text, self._loop.time())
        if refusal is None:
            self.tell(self._talk_message(viewer.client))
        return refusal

    def announce(self, text: str) -> None:
        """Report a line of Atoll's own to everybody here, and to who joins."""
        if self._talk.say(_ATOLL, text, self._loop.time()) is None:
            self.tell(self._talk_message(_ATOLL.client))

    def _talk_message(self, by: str = "") -> Talked:
        """Return the message with all lines of the talk."""
        lines = (
            TalkLine(line.number, line.principal, line.name, line.text) for line in self._talk.lines
        )
        return Talked(tuple(lines), by)

    def recorded(self, message: Recorded) -> None:
        """Report the start or end of a recording to everybody, and to those who join while it
        runs."""
        self.recording = message if message.on else None
        self.tell(message)

    # The program's end.

    async def watch(self) -> End:
        """Wait for the leader's end, then for the end of its output, and report both."""
        end = await self.pty.wait()
        self._close()
        self.pty.finish(end)
        self.audience.pump()
        return end

    def hang_up(self) -> None:
        """Close the PTY: the kernel sends HUP to the session inside."""
        self._close()
        self.pty.hang_up()

    def _close(self) -> None:
        self._alarm.cancel()
        self.pointing.close()
        self.control.close()

    # What comes from the program.

    def show(self) -> None:
        """Show what is in the ring by now: there is no more output for the moment."""
        scrollback, now = self.scrollback, self._loop.time()
        self._driving.produced(scrollback.end, now)
        self.audience.poke(scrollback.ready, now)
        self._settle()

    def queried(self, queries: Sequence[Query]) -> None:
        """Answer queries to an emulator while no driver's emulator does."""
        if not self._driving.present:
            self.pty.answer(queries, self._context.palette())

    def tell_scheme(self) -> None:
        """Tell the program which background it has, while no driver's emulator does."""
        palette = self._context.palette()
        if palette is not None and not self._driving.present:
            self.pty.tell_scheme(palette)

    def titled(self, title: str) -> None:
        """Report another window title."""
        self.tell(Titled(title))

    def resized(self, size: Size) -> None:
        """Report the size the PTY has now."""
        self.tell(self._size_message(size))

    def _size_message(self, size: Size) -> Sized:
        return Sized(size.cols, size.rows, self.fixed)

    # Keeping the driver's state and the world in line.

    def set_driver(self, client: str | None) -> None:
        """Apply another driver: its backlog counts, its size is taken."""
        self._driving.set_driver(client, self._loop.time())
        self.tell(DriverChanged(client))
        self._apply_wanted_size()
        self._settle()

    def tell(self, message: ServerMessage) -> None:
        """Report to every viewer."""
        self.audience.tell(message)

    def _settle(self) -> None:
        pty = self.pty
        if pty.end is None:
            if self._driving.paused:
                pty.pause()
            else:
                pty.unpause()
            self._alarm.set(self._driving.deadline)

    def _tick(self) -> None:
        self._driving.tick(self._loop.time())
        self._settle()

    def _apply_wanted_size(self) -> None:
        wanted_size = self.audience.wanted_size(self._driving.driver)
        if wanted_size is not None and not self.fixed:
            self.pty.resize(wanted_size)
