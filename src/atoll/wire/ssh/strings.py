"""Strings of SSH (RFC 4251 §5): a length of four bytes, and so many bytes."""

from collections.abc import Iterable
from typing import Final

_LENGTH_BYTES: Final = 4

KEY_STRINGS: Final = {
    "ssh-ed25519": 2,
    "sk-ssh-ed25519@openssh.com": 3,
    "ecdsa-sha2-nistp256": 3,
    "ecdsa-sha2-nistp384": 3,
    "ecdsa-sha2-nistp521": 3,
    "sk-ecdsa-sha2-nistp256@openssh.com": 4,
    "ssh-rsa": 3,
}
"""The strings in the body of a public key, by its kind, which is the first of them. Those of `sk-`
lie in a token that is touched (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4, PROTOCOL.u2f)."""


class Unreadable(ValueError):
    """Error of bytes that are not what they should be. The text is for logs."""


def pack(*parts: bytes) -> bytes:
    """Return strings, one behind the other."""
    return b"".join(len(part).to_bytes(_LENGTH_BYTES, "big") + part for part in parts)


def pack_all(parts: Iterable[bytes]) -> bytes:
    """Return strings within one string."""
    return pack(pack(*parts))


class Reader:
    """Bytes that are read from the front. Raises `Unreadable` where they end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        """Return so many bytes."""
        begin, self.at = self.at, self.at + count
        if self.at > len(self._data):
            raise Unreadable("it is cut off")
        return self._data[begin : self.at]

    def number(self, count: int) -> int:
        """Return a number of so many bytes."""
        return int.from_bytes(self.take(count), "big")

    def string(self) -> bytes:
        """Return a string."""
        return self.take(self.number(_LENGTH_BYTES))

    def text(self) -> str:
        """Return a string as text, of printable ASCII alone."""
        text = self.string().decode("ascii", "replace")
        if not (text.isascii() and (text.isprintable() or not text)):
            raise Unreadable("a text in it cannot be shown")
        return text

    def rest(self) -> bool:
        """Report whether anything is left."""
        return self.at < len(self._data)


def read_strings(data: bytes) -> list[bytes]:
    """Return all strings of some bytes. Raises `Unreadable`."""
    reader, parts = Reader(data), []
    while reader.rest():
        parts.append(reader.string())
    return parts
