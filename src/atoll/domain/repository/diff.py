"""Unified diffs of git, read into files, hunks and lines.

The text was computed inside a sandbox over files an agent wrote. A line inside a hunk begins with
a space, `+`, `-` or `\\`, so that no content can pass for a header; names that are not plain are
quoted by git and unquoted here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

MAX_FILE_LINES: Final = 20_000
"""Lines shown of one file."""

MAX_LINES: Final = 200_000
"""Lines read of a diff; a file of 4 MB of line breaks has ten times as many."""

MAX_LINE_CHARS: Final = 4000
"""Characters shown of one line."""

_START = "diff --git "
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_EXTENDED = re.compile(
    "(old mode|deleted file mode|new mode|new file mode|rename from|copy from|rename to|copy to)"
    " (.+)"
)
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Consecutive lines; each begins with a space, `+`, `-` or a backslash, as in the diff."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The diff of one file; `truncated` when lines are missing."""

    path: str
    old_path: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    binary: bool = False
    truncated: bool = False
    hunks: tuple[Hunk, ...] = ()


@dataclass(slots=True)
class _Open:
    """A file whose lines are still being read. `left` counts the lines its hunk still lacks, of
    the old and of the new side."""

    file: FileDiff
    hunks: list[Hunk] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    head: re.Match[str] | None = None
    left: tuple[int, int] = (0, 0)
    shown: int = 0

    def close_hunk(self) -> None:
        """Keep the hunk read so far."""
        if self.head is not None:
            old, new = int(self.head[1]), int(self.head[3])
            counts = _length(self.head[2]), _length(self.head[4])
            heading = self.head[5][:MAX_LINE_CHARS]
            self.hunks.append(Hunk(old, counts[0], new, counts[1], heading, tuple(self.lines)))
        self.head, self.lines, self.left = None, [], (0, 0)

    def closed(self) -> FileDiff:
        """Return the file with its hunks."""
        missing = self.left != (0, 0)
        self.close_hunk()
        truncated = self.file.truncated or missing
        return replace(self.file, hunks=tuple(self.hunks), truncated=truncated)


def read_diff(out: bytes) -> tuple[FileDiff, ...]:
    """Return the files of a unified diff with the prefixes `a/` and `b/`, of its first `MAX_LINES`
    lines."""
    return tuple(_read(out.decode("utf-8", "replace").split("\n", MAX_LINES)[:MAX_LINES]))


def _read(lines: list[str]) -> Iterator[FileDiff]:
    now: _Open | None = None
    for line in lines:
        if now is not None and now.left != (0, 0):
            _content(now, line)
        elif line.startswith(_START):
            if now is not None:
                yield now.closed()
            now = _Open(FileDiff(_symmetric_name(line.removeprefix(_START))))
        elif now is not None:
            _header(now, line)
    if now is not None:
        yield now.closed()


def _content(now: _Open, line: str) -> None:
    """Take a line of the hunk; another one ends it early."""
    old, new = now.left
    match line[:1]:
        case " ":
            now.left = (max(0, old - 1), max(0, new - 1))
        case "-":
            now.left = (max(0, old - 1), new)
        case "+":
            now.left = (old, max(0, new - 1))
        case "\\":
            pass
        case _:
            # Output that was cut; git itself never stops inside a hunk.
            return
    _show(now, line)


def _show(now: _Open, line: str) -> None:
    now.shown += 1
    if now.shown > MAX_FILE_LINES or len(line) > MAX_LINE_CHARS:
        now.file = replace(now.file, truncated=True)
    if now.shown <= MAX_FILE_LINES:
        now.lines.append(line[:MAX_LINE_CHARS])


def _header(now: _Open, line: str) -> None:
    if (head := _HUNK.fullmatch(line)) is not None:
        now.close_hunk()
        now.head, now.left = head, (_length(head[2]), _length(head[4]))
    elif line.startswith("\\") and now.head is not None:
        _show(now, line)
    elif line.startswith(("Binary files ", "GIT binary patch")):
        now.file = replace(now.file, binary=True)
    else:
        now.file = _with_extended_header(now.file, line)


def _with_extended_header(file: FileDiff, line: str) -> FileDiff:
    """Return the file after an extended header line: modes, or names of a rename or copy."""
    found = _EXTENDED.fullmatch(line)
    if found is None:
        return file
    match found[1]:
        case "old mode" | "deleted file mode":
            return replace(file, old_mode=found[2])
        case "new mode" | "new file mode":
            return replace(file, new_mode=found[2])
        case "rename from" | "copy from":
            return replace(file, old_path=_unquote(found[2]))
        case _:
            return replace(file, path=_unquote(found[2]))


def _symmetric_name(names: str) -> str:
    """Return NAME of `a/NAME b/NAME`; a renamed file gets its name from a header that follows."""
    middle = len(names) // 2
    if names.startswith('"'):
        return _unquote(names[:middle])[2:]
    return names[2:middle]


def _unquote(name: str) -> str:
    """Return a name without git's C-style quotes."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name
    plain = _ESCAPED.sub(_character, name[1:-1].encode())
    return plain.decode("utf-8", "replace")


def _character(found: re.Match[bytes]) -> bytes:
    said = found[1].decode("latin-1")
    if len(said) == 3:
        return bytes([int(said, 8) & 0xFF])
    return bytes([_ESCAPES.get(said, ord(said))])


def _length(said: str | None) -> int:
    return 1 if said is None else int(said)
