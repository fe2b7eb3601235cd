"""How many tokens an answer says it took: read off its bytes as they pass, JSON or SSE.

Pure. It keeps the first and the last bytes only, since vendors tell usage at the beginning
(Anthropic's `message_start`) or at the end; a name in a text the model wrote is before an
escaped quote and does not count.
"""

import re

HEAD_BYTES = 4096
TAIL_BYTES = 16384

_COUNT = re.compile(
    rb'"(input_tokens|prompt_tokens|promptTokenCount|output_tokens|completion_tokens'
    rb"|candidatesTokenCount|thoughtsTokenCount|cached_tokens|cache_read_input_tokens"
    rb'|cache_creation_input_tokens|cachedContentTokenCount)"\s*:\s*(\d{1,12})'
)
_MODEL = re.compile(rb'"(?:model|modelVersion)"\s*:\s*"([\w\-.:/]{1,128})"')


class UsageReader:
    """Feed it an answer's body; then ask."""

    __slots__ = ("_head", "_tail", "bytes")

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self.bytes = 0

    def feed(self, piece: bytes) -> None:
        """The next bytes."""
        self.bytes += len(piece)
        if len(self._head) < HEAD_BYTES:
            taken = HEAD_BYTES - len(self._head)
            self._head += piece[:taken]
            piece = piece[taken:]
        if len(piece) >= TAIL_BYTES:
            self._tail = piece[-TAIL_BYTES:]
        elif piece:
            self._tail = (self._tail + piece)[-TAIL_BYTES:]

    def counts(self) -> dict[str, int]:
        """The largest count told under each name: totals only grow over a stream."""
        found: dict[str, int] = {}
        # One text, so that a count on the seam is seen; where bytes between are gone, a
        # newline keeps the two sides apart.
        gap = b"" if self.bytes <= HEAD_BYTES + TAIL_BYTES else b"\n"
        for match in _COUNT.finditer(self._head + gap + self._tail):
            name = match[1].decode()
            found[name] = max(found.get(name, 0), int(match[2]))
        return found

    def model(self) -> str:
        """The model that answered, empty when it did not say."""
        return read_model(self._head) or read_model(self._tail)


def read_model(body: bytes) -> str:
    """The model a request's body asks for, from its first bytes; empty when not seen."""
    found = _MODEL.search(body)
    return found[1].decode() if found else ""
