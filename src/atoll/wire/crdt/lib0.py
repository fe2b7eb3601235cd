"""The encoding of lib0, of which all bytes of Yjs are made: numbers of variable length, texts,
byte strings and values of JSON.

Reading is strict: a number beyond 2**53, text that is no UTF-8, or bytes that end too early are
`Malformed`. Nothing is allocated that the bytes do not hold.
"""

import struct
from typing import Final

MAX_NUMBER: Final = 2**53 - 1
"""The largest number that a browser can hold exactly."""

MAX_DEPTH: Final = 16
"""The deepest nesting of a value."""

_CONTINUES: Final = 0x80
_SEVEN: Final = 0x7F
_LAST_SHIFT: Final = 49

_TEXT, _OBJECT, _ARRAY = 119, 118, 117
_WORDS: Final = frozenset({127, 126, 121, 120})
"""Undefined, null, false and true: values of one byte."""
_INTEGER: Final = 125
_FLOATS: Final = {124: 4, 123: 8}


class Malformed(ValueError):
    """Error of bytes that no honest client sends. The text says what was wrong with them."""


class Reader:
    """A reader of bytes, from the first to the last."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Return whether all bytes were read."""
        return self._at >= len(self._data)

    def finish(self) -> None:
        """Raise `Malformed` where bytes are left."""
        if not self.at_end:
            raise Malformed("bytes follow after the end of the message")

    def byte(self) -> int:
        """Return the next byte."""
        try:
            found = self._data[self._at]
        except IndexError:
            raise Malformed("the bytes end too early") from None
        self._at += 1
        return found

    def number(self) -> int:
        """Return a whole number of variable length, from 0."""
        first = self.byte()
        if first < _CONTINUES:
            return first
        found, shift = first & _SEVEN, 7
        while True:
            byte = self.byte()
            found |= (byte & _SEVEN) << shift
            if byte < _CONTINUES:
                break
            shift += 7
            if shift > _LAST_SHIFT:
                raise Malformed("a number is too long")
        if found > MAX_NUMBER:
            raise Malformed("a number is too large")
        return found

    def count(self) -> int:
        """Return a number of things that follow, each of at least one byte."""
        found = self.number()
        if found > len(self._data) - self._at:
            raise Malformed("the bytes end too early")
        return found

    def take(self, count: int) -> bytes:
        """Return so many bytes."""
        end = self._at + count
        if end > len(self._data):
            raise Malformed("the bytes end too early")
        found, self._at = self._data[self._at : end], end
        return found

    def bytes(self) -> bytes:
        """Return a byte string with its length before it."""
        return self.take(self.number())

    def text(self) -> str:
        """Return a text with its length in bytes before it."""
        try:
            return self.take(self.number()).decode()
        except UnicodeDecodeError:
            raise Malformed("a text is not UTF-8") from None

    def skip_value(self, depth: int = 0) -> None:
        """Skip a value that JSON has, too. Byte strings, big integers, numbers that are not finite
        and values nested deeper than `MAX_DEPTH` are `Malformed`."""
        if depth > MAX_DEPTH:
            raise Malformed("a value is nested too deep")
        kind = self.byte()
        if kind in (_ARRAY, _OBJECT):
            for _ in range(self.count()):
                if kind == _OBJECT:
                    self.text()
                self.skip_value(depth + 1)
        elif kind not in _WORDS:
            self._skip_scalar(kind)

    def _skip_scalar(self, kind: int) -> None:
        if kind == _TEXT:
            self.text()
        elif kind == _INTEGER:
            self._skip_signed()
        elif kind in _FLOATS:
            self._skip_float(_FLOATS[kind])
        else:
            raise Malformed("a value is of a kind that JSON does not have")

    def _skip_signed(self) -> None:
        length = 1
        while self.byte() >= _CONTINUES:
            length += 1
            if length > 8:
                raise Malformed("a number is too long")

    def _skip_float(self, size: int) -> None:
        (found,) = struct.unpack(">f" if size == 4 else ">d", self.take(size))
        if found != found or found in (float("inf"), float("-inf")):
            raise Malformed("a number is not finite")


def spell_number(number: int) -> bytes:
    """Return a whole number from 0 in the encoding of variable length."""
    found = bytearray()
    while number >= _CONTINUES:
        found.append(number & _SEVEN | _CONTINUES)
        number >>= 7
    found.append(number)
    return bytes(found)


def spell_bytes(data: bytes) -> bytes:
    """Return a byte string with its length before it."""
    return spell_number(len(data)) + data


def spell_text(text: str) -> bytes:
    """Return a text with its length in bytes before it."""
    return spell_bytes(text.encode())
