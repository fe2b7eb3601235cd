"""The output of one shell command as text for a card: lines as they were left, with their colours.

Pure. Of all control sequences only SGR (ECMA-48, 8.3.117: colours and weight) stays; a line that
was written over, as progress bars are, is its last state.
"""

import codecs
import re

MAX_LINE = 8 * 1024
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])"
)
_SGR = re.compile(r"\x1b\[[0-9;:]{0,40}m")
_UNFINISHED = re.compile(r"\x1b[^\x07]{0,512}\Z")
_CONTROL = re.compile(
    r"[\x00-\x07\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f\x80-\x9f]|\x1b(?!\[[0-9;:]{0,40}m)"
)
_ERASED = re.compile(r"[^\x08]\x08")


class CommandOutput:
    """A stream of one command's output. `feed` returns the lines that are complete; a line is
    complete when the next begins, since it may be written over until then."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""

    def feed(self, data: bytes) -> str:
        """Add output; return the lines that it completes."""
        text = self._line + self._decoder.decode(data)
        whole, newline, self._line = text.rpartition("\n")
        lines = [_final(line) for line in whole.split("\n")] if newline else []
        if len(self._line) > MAX_LINE:
            unfinished = _UNFINISHED.search(self._line)
            cut = unfinished.start() if unfinished else len(self._line)
            lines.append(_final(self._line[: cut or None]))
            self._line = self._line[cut:] if cut else ""
            return "\n".join(lines)
        return "".join(f"{line}\n" for line in lines)

    def finish(self) -> str:
        """Return the last line when it has no end, and end the stream."""
        rest, self._line = self._line, ""
        return _final(rest)


def _final(line: str) -> str:
    """Return a line as it was left: what was written over or erased is gone."""
    left = _SEQUENCE.sub(_keep_styling, line.rstrip("\r"))
    left = left.rpartition("\r")[2]
    while "\x08" in left and (shorter := _ERASED.sub("", left)) != left:
        left = shorter
    return _CONTROL.sub("", left.replace("\x08", ""))


def _keep_styling(match: re.Match[str]) -> str:
    """Return an escape sequence that styles text (SGR); drop any other."""
    return match[0] if _SGR.fullmatch(match[0]) else ""
