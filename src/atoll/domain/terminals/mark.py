"""Commands of a terminal, as its shell reports them: where, what, how long, how it ended.

Pure: signals in, marks out, within bounds. They are hints, never evidence: any program at a
terminal can print them. A shell that knows the terminal's nonce takes precedence: from its first
report on, all others are ignored.
"""

from collections import OrderedDict
from datetime import UTC, datetime
from typing import Final

import msgspec

from atoll.wire.contract.recordings import Mark
from atoll.wire.words.terminals import MAX_MARKS

MAX_CHARACTERS = 64 * 1024
"""The bound on all commands and directories together; the oldest marks are dropped beyond it."""

MAX_COMMAND = 2000
MAX_FOLDER = 1024
RUNNING: Final = "running"
DONE: Final = "done"


class MarkLog:
    """The newest marks of one terminal. A reader needs one number, the `seq` up to which it has
    everything."""

    def __init__(self) -> None:
        self.seq = 0
        self.dropped = 0
        self._marks: OrderedDict[int, Mark] = OrderedDict()
        self._changed: OrderedDict[int, None] = OrderedDict()
        self._characters = 0
        self._made = 0
        self._sworn = False
        self._running: int | None = None
        self._began = 0.0
        self._prompt: int | None = None
        self._command = ""
        self._cwd = ""

    def all(self) -> list[Mark]:
        """Return every mark, oldest first."""
        return list(self._marks.values())

    def since(self, seq: int) -> list[Mark]:
        """Return the marks changed after `seq`, in the order of their changes."""
        found: list[Mark] = []
        for n in reversed(self._changed):
            mark = self._marks[n]
            if mark.seq <= seq:
                break
            found.append(mark)
        return found[::-1]

    @property
    def genuine(self) -> bool:
        """True once the terminal's own shell reports; other signals are ignored from then on."""
        return self._sworn

    @property
    def cwd(self) -> str:
        """Return the directory that the terminal's own shell reported last, else nothing."""
        return self._cwd if self._sworn else ""

    def from_offset(self, offset: int) -> list[Mark]:
        """Return the commands whose output reaches beyond `offset`, oldest first."""
        found: list[Mark] = []
        for mark in reversed(self._marks.values()):
            if mark.end is not None and mark.end < offset:
                break
            found.append(mark)
        return found[::-1]

    def at(self, offset: int) -> Mark | None:
        """Return the command whose line or output stands at this offset."""
        for mark in reversed(self._marks.values()):
            if mark.prompt <= offset:
                return mark
        return None

    def take(self, verb: str, text: str, *, offset: int, genuine: bool, now: float) -> bool:
        """Apply one signal (`wire.terminal.marks.Signal`) that ends at `offset`; `now` is in
        seconds since 1970. Returns whether a mark is new or changed."""
        if self._sworn and not genuine:
            return False
        if genuine and not self._sworn:
            self._sworn = True
            self._command, self._prompt = "", None
        before = self.seq
        match verb:
            case "A":
                self._finish(None, offset, now)
                self._prompt = offset
            case "E":
                self._command = text[:MAX_COMMAND]
            case "P":
                self._cwd = text[:MAX_FOLDER]
            case "C":
                self._finish(None, offset, now)
                self._begin(text[:MAX_COMMAND], offset, genuine=genuine, now=now)
            case "D":
                self._finish(int(text) if text else None, offset, now)
            case _:
                # B ends a prompt: nothing here needs it.
                return False
        return self.seq > before

    def _begin(self, line: str, offset: int, *, genuine: bool, now: float) -> None:
        self._made += 1
        mark = Mark(
            seq=self.seq + 1,
            n=self._made,
            state=RUNNING,
            command=self._command or line,
            cwd=self._cwd,
            exit_code=None,
            started_at=_spell_time(now),
            seconds=None,
            prompt=offset if self._prompt is None else self._prompt,
            output=offset,
            end=None,
            genuine=genuine,
        )
        self._running, self._began = mark.n, now
        self._command, self._prompt = "", None
        self._keep(mark)

    def _finish(self, code: int | None, offset: int, now: float) -> None:
        mark = None if self._running is None else self._marks.get(self._running)
        self._running = None
        if mark is None:
            return
        seconds = round(max(0.0, now - self._began), 3)
        self._keep(
            msgspec.structs.replace(
                mark, seq=self.seq + 1, state=DONE, exit_code=code, seconds=seconds, end=offset
            )
        )

    def _keep(self, mark: Mark) -> None:
        self.seq = mark.seq
        if mark.n not in self._marks:
            self._characters += _size(mark)
        self._marks[mark.n] = mark
        self._changed.pop(mark.n, None)
        self._changed[mark.n] = None
        while len(self._marks) > MAX_MARKS or self._characters > MAX_CHARACTERS:
            n, old = self._marks.popitem(last=False)
            del self._changed[n]
            self._characters -= _size(old)
            self.dropped += 1


def _size(mark: Mark) -> int:
    return len(mark.command) + len(mark.cwd)


def _spell_time(now: float) -> str:
    """Return a time as RFC 3339 text, UTC, to the millisecond."""
    at = datetime.fromtimestamp(now, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
