"""The reporter: a script of ours in documents that the preview pane shows.

Pure. It tells the pane about errors of the page. It stands in documents of a frame that the pane
opened, and in no other: the gate decides by the request, and by the head of the answer. What the
server inside sends is hostile: heads are read strictly, and at most `MAX_BEFORE` bytes are held.
"""

import re
from typing import Final

from atoll.domain.previews.head import Headers, values_of

SCRIPT_PATH: Final = "/.atoll/reporter.js"
ELEMENT: Final = b'<script src="/.atoll/reporter.js"></script>'

MAX_BEFORE: Final = 16 * 1024
"""The most bytes of a document before its head. A document with more stays as it is."""

MOST_PIECES: Final = 256
"""The most pieces in which those bytes may come: the place is looked for after each."""

_LONGEST_NAME: Final = len(b"<!doctype")
_FIRST_REDIRECT, _FIRST_ERROR = 300, 400
_NO_BODY: Final = frozenset({204, 205, 206})
_SPACE: Final = b"\t\n\f\r "
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_OTHER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks of UTF-16, in which the element would be no element."""

_CONDITIONS: Final = frozenset(
    {
        *(b"accept-encoding", b"range", b"if-range", b"if-match", b"if-none-match"),
        *(b"if-modified-since", b"if-unmodified-since"),
    }
)
_OF_THE_BYTES: Final = frozenset(
    {
        *(b"content-length", b"etag", b"last-modified", b"accept-ranges", b"content-md5"),
        *(b"digest", b"content-digest", b"repr-digest", b"cache-control", b"expires", b"age"),
        *(b"pragma", b"content-encoding"),
    }
)
"""The headers that say something about bytes which are others now, or let somebody keep them."""

_TYPE = re.compile(rb"\s*text/html\s*(?:;.*)?", re.IGNORECASE)
_WIDE = re.compile(rb"charset\s*=\s*[\"']?\s*(?:utf-?(?:16|32|7)|ucs|iso-10646|unicode)", re.I)
_ATTRIBUTES = rb"""(?=[\t\n\f\r />])(?:[^>"']|"[^"]*+"|'[^']*+')*>"""
_HEAD = re.compile(rb"<head" + _ATTRIBUTES, re.IGNORECASE)
_OTHER_NAME = re.compile(rb"<(?:html|head)[^\t\n\f\r />]", re.IGNORECASE)
_TOKENS: Final = (
    (b"<!--", re.compile(rb"<!--(?:-?>|.*?--!?>)", re.DOTALL)),
    (b"<!doctype", re.compile(rb"<!doctype[^>]*+>", re.IGNORECASE)),
    (b"<?", re.compile(rb"<\?[^>]*+>")),
    (b"<html", re.compile(rb"<html" + _ATTRIBUTES, re.IGNORECASE)),
    (b"<head", _HEAD),
)
"""The tokens that may stand before the content of a head, by their beginnings."""


def wants_reporter(method: str, headers: Headers) -> bool:
    """Report whether a request is for the document of a frame. Whether the pane opened the frame,
    the gate knows."""
    fields = dict(headers)
    return (
        method == "GET"
        and fields.get(b"sec-fetch-dest") == b"iframe"
        and fields.get(b"sec-fetch-mode") == b"navigate"
        and b"upgrade" not in fields
    )


def whole_document(headers: Headers) -> Headers:
    """Return the headers of a request that asks for a whole document, uncompressed."""
    others = tuple(header for header in headers if header[0] not in _CONDITIONS)
    return (*others, (b"accept-encoding", b"identity"))


def takes_reporter(status: int, headers: Headers) -> bool:
    """Report whether an answer is a whole HTML document into which an element may be written."""
    types = values_of(headers, b"content-type")
    codings = [coding.strip().lower() for coding in values_of(headers, b"content-encoding")]
    caching = b",".join(values_of(headers, b"cache-control")).lower()
    shown = b",".join(values_of(headers, b"content-disposition")).strip().lower()
    return (
        status not in _NO_BODY
        and not _FIRST_REDIRECT <= status < _FIRST_ERROR
        and len(types) == 1
        and _TYPE.fullmatch(types[0]) is not None
        and _WIDE.search(types[0]) is None
        and all(coding in {b"", b"identity"} for coding in codings)
        and b"no-transform" not in caching
        and not shown.startswith(b"attachment")
    )


def document_headers(headers: Headers) -> Headers:
    """Return the headers of a document with the element. Nobody keeps it: another visit gets the
    document as the server inside sends it."""
    others = tuple(header for header in headers if header[0] not in _OF_THE_BYTES)
    return (*others, (b"cache-control", b"no-store"))


class DocumentWriter:
    """The writer of the element into a document that streams: first in its head."""

    def __init__(self) -> None:
        self._held = b""
        self._at = 0
        self._pieces = 0
        self._done = False

    def write(self, data: bytes) -> bytes:
        """Take more of the document, and return what of it can be sent on."""
        if self._done:
            return data
        self._held += data
        self._pieces += 1
        if self._held.startswith(_OTHER_MARKS):
            return self._release(None)
        place = self._place(whole=False)
        if place is None and len(self._held) <= MAX_BEFORE and self._pieces < MOST_PIECES:
            return b""
        return self._release(place)

    def end(self) -> bytes:
        """Return what was held, at the end of the document."""
        return b"" if self._done else self._release(self._place(whole=True))

    def _release(self, place: int | None) -> bytes:
        held, self._held, self._done = self._held, b"", True
        return held if place is None else held[:place] + ELEMENT + held[place:]

    def _place(self, *, whole: bool) -> int | None:
        """Return where the element goes; None while that is not known, or where it goes nowhere."""
        held = self._held[:MAX_BEFORE]
        if self._at == 0 and held.startswith(_BYTE_ORDER_MARK):
            self._at = len(_BYTE_ORDER_MARK)
        while True:
            self._at += len(held) - self._at - len(held[self._at :].lstrip(_SPACE))
            rest = held[self._at : self._at + _LONGEST_NAME].lower()
            if len(rest) < _LONGEST_NAME and not (whole and rest):
                return None
            token = next((pattern for name, pattern in _TOKENS if rest.startswith(name)), None)
            if token is None or _OTHER_NAME.match(rest):
                return self._at
            match = token.match(held, self._at)
            if match is None:
                return None
            self._at = match.end()
            if token is _HEAD:
                return self._at
