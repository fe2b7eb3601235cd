"""Contents of files among the messages of an SFTP server (draft-ietf-secsh-filexfer-02 §7).

Without the heads between them, a secret that two messages part is whole again, where a client reads
a file from its beginning to its end.
"""

from typing import Final

_HEAD: Final = 5
"""The bytes of a message's length and kind."""

_DATA: Final = 103
_BEFORE_DATA: Final = 8
"""The bytes of a request's id and of the length, before the contents."""


class SftpContents:
    """A reader of one server's messages, in pieces of any size."""

    __slots__ = ("_head", "_is_data", "_left", "_skipped")

    def __init__(self) -> None:
        self._head = b""
        self._is_data = False
        self._skipped = self._left = 0

    def feed(self, data: bytes) -> bytes:
        """Return the contents in the next bytes."""
        pieces: list[bytes] = []
        at = 0
        while at < len(data):
            if not self._left:
                at = self._read_head(data, at)
                continue
            piece = data[at : at + (self._skipped or self._left)][: self._left]
            at += len(piece)
            self._left -= len(piece)
            if self._skipped:
                self._skipped -= len(piece)
            elif self._is_data:
                pieces.append(piece)
        return b"".join(pieces)

    def _read_head(self, data: bytes, at: int) -> int:
        """Read as much as there is of a message's head; return where the rest begins."""
        taken = data[at : at + _HEAD - len(self._head)]
        self._head += taken
        if len(self._head) == _HEAD:
            self._left = max(0, int.from_bytes(self._head[:4], "big") - 1)
            self._is_data = self._head[4] == _DATA
            self._skipped = _BEFORE_DATA if self._is_data else 0
            self._head = b""
        return at + len(taken)
