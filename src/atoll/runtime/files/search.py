"""A search of a workspace: what is wanted, and the matches in the records of the tool inside.

What a match shows of a file is redacted. A match that a secret overlaps is none: who searches for
the beginning of a secret must not learn that it is there.
"""

import base64
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from atoll.domain.errors import Failed, Invalid
from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.views import Span
from atoll.runtime.files.entry import KINDS, to_json_text, unspell
from atoll.wire.contract.files import FoundLine, FoundName, SearchEnd

MAX_TEXT_BYTES: Final = 1000
MAX_MATCHES: Final = 5000
MAX_FILES: Final = 1_000_000
MAX_BYTES: Final = 2 * 2**30
SEARCH_SECONDS: Final = 30
LATE_SECONDS: Final = 15
"""Seconds after its own deadline until a search is ended from outside."""

BEFORE_BYTES: Final = 80
AFTER_BYTES: Final = 200
"""Bytes of a line that are shown around a match."""

Found = FoundName | FoundLine | SearchEnd
_REASONS: Final[dict[str, Literal["all", "matches", "files", "bytes", "time"]]] = {
    "all": "all",
    "matches": "matches",
    "files": "files",
    "bytes": "bytes",
    "time": "time",
}


@dataclass(frozen=True, slots=True)
class FileSearch:
    """A text, looked for beneath `path` in names, or with `contents` in lines. Unless it is
    `exact`, ASCII letters match in either case; `everything` includes directories that programs
    write. Raises `Invalid`."""

    path: str
    text: str
    contents: bool
    exact: bool = False
    everything: bool = False
    limit: int = 1000

    def __post_init__(self) -> None:
        size = len(os.fsencode(self.text))
        if not 0 < size <= MAX_TEXT_BYTES or any(character in self.text for character in "\0\n"):
            raise Invalid(
                f"search for 1 to {MAX_TEXT_BYTES} bytes of one line", field="text", code="invalid"
            )

    def words(self, reach: int) -> tuple[str, ...]:
        """Return the arguments of the tool; `reach` bytes around a match come with it."""
        flags = (("--text", self.contents), ("--exact", self.exact), ("--all", self.everything))
        return (
            "search",
            *(flag for flag, is_set in flags if is_set),
            *("--limit", str(self.limit), "--max-files", str(MAX_FILES)),
            *("--max-bytes", str(MAX_BYTES), "--seconds", str(SEARCH_SECONDS)),
            *("--reach", str(reach), "--", self.path, self.text),
        )


def read_found(record: bytes, lexicon: Lexicon) -> Found | None:
    """Return what a record tells; None for a match that a secret overlaps. Raises `Failed` for a
    record no tool of ours writes."""
    try:
        match record.decode().split(" "):
            case ["n", kind, path]:
                name = os.fsdecode(unspell(path))
                return FoundName(to_json_text(name), KINDS[kind], _exact(name))
            case ["t", path, line, begin, length, around]:
                at = int(begin)
                parts = _split_at_match(unspell(around), (at, at + int(length)), lexicon)
                name = os.fsdecode(unspell(path))
                return parts and FoundLine(to_json_text(name), int(line), *parts, _exact(name))
            case ["e", reason, files, size, large, more]:
                return SearchEnd(_REASONS[reason], int(files), int(size), int(large), int(more))
            case _:
                raise Failed("a tool inside gave a record of another version; recreate it")
    except (ValueError, KeyError) as error:
        raise Failed("a tool inside gave a record of another version; recreate it") from error


def _exact(name: str) -> str | None:
    return None if to_json_text(name) == name else base64.b64encode(os.fsencode(name)).decode()


def _split_at_match(data: bytes, at: Span, lexicon: Lexicon) -> tuple[str, str, str] | None:
    """Return the line before a match, the match and the line after it, redacted; secrets may begin
    and end on other lines."""
    begin, end = at
    spans = lexicon.find(data).spans
    if any(start < end and begin < other for start, other in spans):
        return None
    first = max(data.rfind(b"\n", 0, begin) + 1, begin - BEFORE_BYTES)
    newline = data.find(b"\n", end)
    last = min(len(data) if newline < 0 else newline, end + AFTER_BYTES)
    before = _mask_part(data, (_character(data, first, begin), begin), spans, lexicon)
    after = _mask_part(data, (end, last), spans, lexicon)
    return before, data[begin:end].decode("utf-8", "replace"), after.rstrip("\r")


def _mask_part(data: bytes, part: Span, spans: Iterable[Span], lexicon: Lexicon) -> str:
    """Return a part of the data as text, with the secrets in it masked."""
    begin, end = part
    inside = [(max(start, begin) - begin, min(other, end) - begin) for start, other in spans]
    clipped = [(start, other) for start, other in inside if start < other]
    return lexicon.mask(data[begin:end], clipped).decode("utf-8", "replace")


def _character(data: bytes, at: int, end: int) -> int:
    """Return where a character begins, at `at` or after it."""
    while at < end and data[at] & 0xC0 == 0x80:
        at += 1
    return at
