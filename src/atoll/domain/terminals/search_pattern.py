"""Search patterns of people: literal words, or words with `*` and `?`. Pure, and linear in time.

No regular expressions: the person chooses the pattern and programs inside choose the text. Together
they could keep a backtracking engine busy for hours.
"""

import re
from dataclasses import dataclass

from atoll.domain.errors import Invalid

MAX_PATTERN = 200


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern found anywhere in a line, its pieces one after the other. Each piece has a fixed
    length, and is searched for once."""

    pieces: tuple[re.Pattern[str], ...]

    def find(self, line: str) -> tuple[int, int] | None:
        """Return where it first stands: from, to."""
        start, end = -1, 0
        for piece in self.pieces:
            found = piece.search(line, end)
            if found is None:
                return None
            start = found.start() if start < 0 else start
            end = found.end()
        return start, end


def read_pattern(text: str, *, glob: bool, match_case: bool) -> Pattern:
    """Return the pattern a person wrote. Without `glob` every character stands for itself. Raises
    `Invalid`."""
    if not text.strip("*") or len(text) > MAX_PATTERN or "\n" in text:
        raise Invalid(f"search for 1 to {MAX_PATTERN} characters of one line", field="q")
    flags = re.RegexFlag(0) if match_case else re.IGNORECASE
    words = [word for word in text.split("*") if word] if glob else [text]
    return Pattern(tuple(re.compile(_regex_of(word, glob=glob), flags) for word in words))


def _regex_of(word: str, *, glob: bool) -> str:
    """Return a word as a regular expression; in a glob, `?` is any character."""
    if not glob:
        return re.escape(word)
    return ".".join(re.escape(part) for part in word.split("?"))
