"""Responses about terminals, agents, commands, files and events of sandboxes."""

import json
from binascii import a2b_base64
from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.words import ActorKind
from atoll.domain.errors import Failed


class Terminal(Shape):
    """A terminal."""

    terminal_id = fields.text()
    name = fields.text()
    state: Field[Literal["running", "exited"]] = fields.word()
    started_at = fields.text()
    recording = fields.flag()


class TerminalList(Shape):
    """The terminals of a sandbox."""

    terminals = fields.many(Terminal)


class Recording(Shape):
    """A recording of a terminal."""

    recording_id = fields.text()
    terminal_id = fields.text()
    name = fields.text()
    state: Field[Literal["recording", "stopped", "ended", "full", "failed"]] = fields.word()
    by = fields.text()
    started_at = fields.text()
    bytes = fields.number()


class RecordingList(Shape):
    """The recordings of a sandbox."""

    recordings = fields.many(Recording)


class Match(Shape):
    """A line that a search found."""

    terminal_id = fields.text()
    recording_id = fields.text()
    offset = fields.number()
    text = fields.text()


class Matches(Shape):
    """Results of a search."""

    matches = fields.many(Match)
    complete = fields.flag()


class ExecRow(Shape):
    """A command that was run, as a list has it."""

    exec_id = fields.text()


class ExecList(Shape):
    """The commands of a sandbox that its runtime still knows."""

    execs = fields.many(ExecRow)


class Exec(Shape):
    """A command that was run, with its output if requested."""

    exec_id = fields.text()
    signal = fields.text()
    stdout = fields.text()
    stderr = fields.text()
    truncated = fields.flag()
    timed_out = fields.flag()
    exit_code = fields.number(default=1)

    @property
    def out(self) -> bytes:
        """Standard output, as the program wrote it."""
        return a2b_base64(self.stdout)

    @property
    def err(self) -> bytes:
        """Standard error, as the program wrote it."""
        return a2b_base64(self.stderr)


class OutputLine(Shape):
    """A line of a command's output: a piece in base64 at its offset, or at last `exit`."""

    stream = fields.text()
    data = fields.text()
    offset = fields.number()
    exit = fields.one(Exec)

    @classmethod
    def parse(cls, line: bytes) -> "OutputLine":
        """Return the line of a stream. Raises `Failed` for what is no object of JSON."""
        try:
            return cls.read(json.loads(line))
        except ValueError as problem:
            raise Failed("the server sent a line of output that is no JSON") from problem

    @property
    def piece(self) -> bytes:
        """The bytes of `data`; empty for the last line."""
        return a2b_base64(self.data)


class Entry(Shape):
    """A file or directory."""

    path = fields.text()
    type: Field[Literal["file", "dir", "symlink", "other"]] = fields.word()
    size = fields.number()


class Total(Shape):
    """The size of a directory."""

    bytes = fields.number()


class Unpacked(Shape):
    """The files an upload wrote."""

    files = fields.number()


class Actor(Shape):
    """The person, agent or automation that caused an event."""

    kind: Field[ActorKind] = fields.word()
    id = fields.text()


class Payload(Shape):
    """The details of an event, which depend on its type; the contract leaves them open."""

    __slots__ = ()


class Event(Shape):
    """An event."""

    id = fields.text()
    position = fields.number()
    seq = fields.number()
    event_version = fields.number()
    org_id = fields.text()
    at = fields.text()
    stream = fields.text()
    event_type = fields.text()
    actor = fields.one(Actor)
    reason = fields.text()
    payload = fields.one(Payload)


class Gap(Shape):
    """Events that are no longer kept."""

    after = fields.number()
    to = fields.number()


class EventPage(Shape):
    """A page of events."""

    events = fields.many(Event)
    next = fields.number()
    gap = fields.one(Gap)


class FoundFile(Shape):
    """An event of a search: an entry whose name fits (`name`), a line of a file (`line`), or the
    end of the search, with the bound that it ended at (`reason`)."""

    type: Field[Literal["name", "line", "end"]] = fields.word()
    path = fields.text()
    line = fields.number()
    before = fields.text()
    match = fields.text()
    after = fields.text()
    reason: Field[Literal["all", "matches", "files", "bytes", "time"]] = fields.word()
    large = fields.number()
    more = fields.number()
