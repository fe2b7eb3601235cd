"""The recordings of one sandbox: begun by a person or by its profile, shown at once to all.

Everybody at a terminal is told while it is recorded, and who comes later, too.
"""

import contextlib
import logging
from dataclasses import dataclass

import msgspec

from atoll.domain.errors import AtollError, Failed, NotFound
from atoll.runtime.clock import timestamp
from atoll.runtime.journal.journal import Journal
from atoll.runtime.recordings.recorder import Recorder
from atoll.runtime.recordings.shelf import RUNNING, RecordingStore
from atoll.runtime.stage import MakeStage, PassThrough
from atoll.runtime.terminals.observer import Author
from atoll.runtime.terminals.terminal import Terminal
from atoll.wire.attach import Recorded
from atoll.wire.contract.policy import Policy
from atoll.wire.contract.recordings import Recording

log = logging.getLogger("atoll.runtime")

PROFILE = Author("profile", "the profile", "")
"""Author of recordings when a sandbox's profile says `recording: always`."""


@dataclass(frozen=True, slots=True)
class _Running:
    """A recording under way."""

    note: Recording
    terminal: Terminal
    recorder: Recorder

    def now(self) -> Recording:
        """Return the recording's current record."""
        recorder = self.recorder
        return msgspec.structs.replace(
            self.note,
            seconds=recorder.seconds,
            bytes=recorder.bytes,
            commands=recorder.commands,
        )


class Recordings:
    """Recordings by id, and which terminal is being recorded."""

    def __init__(
        self, shelf: RecordingStore, *, journal: Journal, make_stage: MakeStage = PassThrough
    ) -> None:
        self._shelf = shelf
        self._journal = journal
        self._make_stage = make_stage
        self._running: dict[str, _Running] = {}
        self._always = False

    def apply(self, policy: Policy) -> None:
        """Record every terminal that is opened from now on, or none."""
        self._always = policy.record

    def opened(self, terminal: Terminal) -> None:
        """Record a new terminal where the profile requires it. A terminal that cannot be recorded
        still runs, and the journal reports it."""
        if not self._always:
            return
        try:
            self._shelf.make_room()
            self.start(terminal, PROFILE)
        except (AtollError, OSError) as error:
            log.error("terminal %s is not recorded: %s", terminal.spec.id, error)
            failed = {"id": terminal.spec.id, "by": PROFILE.principal, "state": "failed"}
            self._journal.append("recording.ended", failed)

    def start(self, terminal: Terminal, author: Author) -> Recording:
        """Record a terminal; one that is being recorded goes on as it is. Raises `LimitReached`,
        `Failed`."""
        terminal_id = terminal.spec.id
        running = self._running.get(terminal_id)
        if running is not None:
            return running.now()
        if terminal.ending is not None:
            raise Failed(f"terminal {terminal_id} has ended; there is nothing to record")
        room = self._shelf.room()
        try:
            note, fd = self._shelf.open(lambda fresh: _note(fresh, terminal, author))
        except OSError as error:
            raise Failed(f"the recording of {terminal_id} cannot be written: {error}") from error
        recorder = Recorder(
            terminal.pty,
            fd,
            room=room,
            make_stage=self._make_stage,
            stopped=lambda state: self._finish_recording(terminal_id, state),
        )
        self._running[terminal_id] = _Running(note, terminal, recorder)
        terminal.pty.subscribe(recorder, echo=True)
        self._journal.append("recording.started", _journal_fields(note))
        terminal.recorded(Recorded(True, note.recording_id, note.by, note.principal))
        recorder.begin(terminal.spec.name)
        return note

    def stop(self, terminal_id: str) -> Recording:
        """Stop recording a terminal. Raises `NotFound` when it is not being recorded."""
        running = self._running.get(terminal_id)
        if running is None:
            raise NotFound(f"terminal {terminal_id[:80]} is not being recorded")
        running.recorder.stop("stopped")
        return self._shelf.get(running.note.recording_id)

    def all(self) -> list[Recording]:
        """Return every recording, oldest first."""
        now = {each.note.recording_id: each.now() for each in self._running.values()}
        return [now.get(each.recording_id, each) for each in self._shelf.all()]

    def read(self, recording_id: str) -> int:
        """Return a descriptor of its file; the caller closes it. Raises `NotFound`."""
        return self._shelf.read(recording_id)

    def remove(self, recording_id: str) -> None:
        """Delete a recording permanently, stopping it first. Raises `NotFound`."""
        self._shelf.get(recording_id)
        for running in list(self._running.values()):
            if running.note.recording_id == recording_id:
                running.recorder.stop("stopped")
        self._shelf.remove(recording_id)
        self._journal.append("recording.deleted", {"id": recording_id})

    def close(self) -> None:
        """End every recording, as the runtime ends."""
        for running in list(self._running.values()):
            running.recorder.stop("stopped")

    def _finish_recording(self, terminal_id: str, state: str) -> None:
        """Store and announce that a recording ended, with the state it ended in."""
        running = self._running.pop(terminal_id)
        terminal = running.terminal
        terminal.pty.unsubscribe(running.recorder)
        note = msgspec.structs.replace(running.now(), state=state, ended_at=timestamp())
        with contextlib.suppress(OSError):
            self._shelf.note(note)
        self._journal.append("recording.ended", _journal_fields(note))
        off = Recorded(False, note.recording_id, note.by, note.principal, reason=state)
        terminal.recorded(off)


def _note(recording_id: str, terminal: Terminal, author: Author) -> Recording:
    return Recording(
        recording_id=recording_id,
        terminal_id=terminal.spec.id,
        name=terminal.spec.name,
        state=RUNNING,
        by=author.name,
        principal=author.principal,
        started_at=timestamp(),
        cols=terminal.pty.size.cols,
        rows=terminal.pty.size.rows,
    )


def _journal_fields(note: Recording) -> dict[str, object]:
    """Return what the journal may know."""
    fields = {"id": note.recording_id, "terminal": note.terminal_id, "by": note.principal}
    return {**fields, "state": note.state, "bytes": note.bytes}
