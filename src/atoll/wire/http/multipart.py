"""A reader of forms with files (`multipart/form-data`, RFC 7578), as they arrive.

Pure and incremental: bytes in; heads, bytes and ends of parts out. It holds no more than one head
or one delimiter, however large a file is. Names are returned as the client wrote them; the caller
decides what they may become.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from urllib.parse import unquote_to_bytes

MAX_HEAD_BYTES = 8192
MAX_PREAMBLE_BYTES = 1024
MAX_PARTS = 1000

_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_PARAMETER = re.compile(r';[ \t]*([!#$%&\'*+\-.^_`|~\w]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))[ \t]*')
_PLAIN_ENCODINGS = frozenset({"7bit", "8bit", "binary"})
# Only these two are escapes: older browsers send `C:\file` unchanged.
_ESCAPED = re.compile(r'\\([\\"])')


class BadMultipart(ValueError):
    """A body that does not follow the grammar, or is out of bounds."""


@dataclass(frozen=True, slots=True)
class PartBegan:
    """The head of a part. `filename` is None for a plain field, and may be any text otherwise."""

    name: str
    filename: str | None


@dataclass(frozen=True, slots=True)
class PartEnded:
    """The end of the part that began last."""


Event = PartBegan | bytes | PartEnded
"""The elements of a body; bytes belong to the part that began last."""


class _State(Enum):
    PREAMBLE = auto()
    DELIMITED = auto()  # after a delimiter: another part, or the end
    HEAD = auto()
    BODY = auto()
    DONE = auto()


def read_boundary(content_type: str) -> bytes | None:
    """Return the boundary that a Content-Type header names; None when it is of another kind.
    Raises `BadMultipart` when a form names none that can be one."""
    kind, _, rest = content_type.partition(";")
    if kind.strip().lower() != "multipart/form-data":
        return None
    boundary = _parameters(f";{rest}").get("boundary", "")
    if not _BOUNDARY.fullmatch(boundary):
        raise BadMultipart("its Content-Type names no boundary")
    return boundary.encode("ascii")


class Multipart:
    """A reader of one body. `done` once its last delimiter was read; what follows is dropped."""

    __slots__ = ("_buffer", "_delimiter", "_parts", "_state")

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        # The first delimiter needs no line end before it; with this one, all are alike.
        self._buffer = bytearray(b"\r\n")
        self._parts = 0
        self._state = _State.PREAMBLE

    @property
    def done(self) -> bool:
        """True if the body is complete."""
        return self._state is _State.DONE

    def feed(self, data: bytes) -> list[Event]:
        """Return what `data` completes, in order. Raises `BadMultipart`."""
        self._buffer += data
        events: list[Event] = []
        while self._read_element(events):
            pass
        return events

    def _read_element(self, events: list[Event]) -> bool:
        """Read one element from the buffer. Returns False when more bytes are needed."""
        match self._state:
            case _State.PREAMBLE:
                return self._preamble()
            case _State.DELIMITED:
                return self._read_after_boundary()
            case _State.HEAD:
                return self._head(events)
            case _State.BODY:
                return self._body(events)
            case _State.DONE:  # pragma: no branch - exhaustive, says mypy
                self._buffer.clear()
                return False

    def _preamble(self) -> bool:
        at = self._buffer.find(self._delimiter)
        if (at if at >= 0 else len(self._buffer)) > MAX_PREAMBLE_BYTES:
            raise BadMultipart("it does not begin with its boundary")
        if at < 0:
            return False
        del self._buffer[: at + len(self._delimiter)]
        self._state = _State.DELIMITED
        return True

    def _read_after_boundary(self) -> bool:
        """Read what follows a boundary: another part or the end."""
        if len(self._buffer) < 2:
            return False
        mark = bytes(self._buffer[:2])
        if mark == b"--":
            self._state = _State.DONE
            return True
        if mark != b"\r\n":
            raise BadMultipart("its boundary is within a part")
        # The line end stays, so that a head without lines ends as every other does.
        self._state = _State.HEAD
        return True

    def _head(self, events: list[Event]) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if (end if end >= 0 else len(self._buffer)) > MAX_HEAD_BYTES:
            raise BadMultipart(f"the head of a part is larger than {MAX_HEAD_BYTES} bytes")
        if end < 0:
            return False
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise BadMultipart(f"it has more than {MAX_PARTS} parts")
        events.append(_read_head(bytes(self._buffer[2 : max(2, end)])))
        del self._buffer[: end + 4]
        self._state = _State.BODY
        return True

    def _body(self, events: list[Event]) -> bool:
        at = self._buffer.find(self._delimiter)
        taken = at if at >= 0 else max(0, len(self._buffer) - len(self._delimiter) + 1)
        if taken:
            events.append(bytes(self._buffer[:taken]))
            del self._buffer[:taken]
        if at < 0:
            return False
        del self._buffer[: len(self._delimiter)]
        events.append(PartEnded())
        self._state = _State.DELIMITED
        return True


def _read_head(head: bytes) -> PartBegan:
    try:
        lines = head.decode("utf-8").split("\r\n")
    except UnicodeDecodeError as error:
        raise BadMultipart("the head of a part is not UTF-8") from error
    parted = (line.partition(":") for line in lines)
    headers = [(name.strip().lower(), value) for name, _, value in parted]
    dispositions = [value for name, value in headers if name == "content-disposition"]
    encodings = [value for name, value in headers if name == "content-transfer-encoding"]
    if any(encoding.strip().lower() not in _PLAIN_ENCODINGS for encoding in encodings):
        # RFC 7578 §4.7: browsers never send one; storing the encoded file would damage it.
        raise BadMultipart("a part has a Content-Transfer-Encoding: send its bytes as they are")
    if len(dispositions) != 1:
        raise BadMultipart("a part has no Content-Disposition, or several")
    kind, _, rest = dispositions[0].partition(";")
    given = _parameters(f";{rest}") if rest else {}
    if kind.strip().lower() != "form-data" or "name" not in given:
        raise BadMultipart("a part's Content-Disposition is not `form-data` with a name")
    return PartBegan(given["name"], _filename(given))


def _filename(given: dict[str, str]) -> str | None:
    extended = given.get("filename*")
    if "filename" in given or extended is None:
        return given.get("filename")
    # RFC 8187, which some programs send in place of the plain form.
    charset, _, rest = extended.partition("'")
    if charset.lower() != "utf-8":
        raise BadMultipart("a part's filename* is not in UTF-8")
    try:
        return unquote_to_bytes(rest.partition("'")[2]).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadMultipart("a part's filename* is not in UTF-8") from error


def _parameters(text: str) -> dict[str, str]:
    """Return the parameters of a header's value, from its first `;` on."""
    given: dict[str, str] = {}
    at = 0
    while at < len(text):
        found = _PARAMETER.match(text, at)
        name = found[1].lower() if found else ""
        if found is None or name in given:
            raise BadMultipart("a parameter of a header is malformed, or given twice")
        given[name] = found[3] if found[2] is None else _unescape(found[2])
        at = found.end()
    return given


def _unescape(quoted: str) -> str:
    # Browsers write a quote as %22 (HTML, "multipart form data"), others as `\"`.
    return _ESCAPED.sub(r"\1", quoted).replace("%22", '"')
