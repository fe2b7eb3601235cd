"""Token counts of a response, read from its bytes as they pass, JSON or SSE.

Pure. It keeps the first and the last bytes only, since vendors report usage at the beginning
(Anthropic's `message_start`) or at the end. Text that the caller can have echoed or written (a
tool's schema, its arguments, text) comes before the vendor's own counts: the last object of counts
holds.
"""

import re

HEAD_BYTES = 4096
TAIL_BYTES = 16384

_COUNT = re.compile(
    rb'"(input_tokens|prompt_tokens|promptTokenCount|output_tokens|completion_tokens'
    rb"|candidatesTokenCount|thoughtsTokenCount|cached_tokens|cache_read_input_tokens"
    rb'|cache_creation_input_tokens|ephemeral_1h_input_tokens|cachedContentTokenCount)"\s*:\s*(\d{1,12})'
)
_TOLD = re.compile(rb'"(?:usage|usageMetadata|billed_units)"\s*:\s*\{')
_BRACE = re.compile(rb"[{}]")
MAX_TOLD_BYTES = 4096
_BEGINS_WITH_COUNTS = b"event: message_start"
_MODEL = re.compile(rb'"(?:model|modelVersion)"\s*:\s*"([\w\-.:/]{1,128})"')


class UsageReader:
    """A reader of one response: feed it the body, then read `counts` and `model`."""

    __slots__ = ("_head", "_tail", "bytes")

    def __init__(self) -> None:
        self._head = b""
        self._tail = bytearray()
        self.bytes = 0

    def feed(self, piece: bytes) -> None:
        """Read the next bytes."""
        self.bytes += len(piece)
        if len(self._head) < HEAD_BYTES:
            taken = HEAD_BYTES - len(self._head)
            self._head += piece[:taken]
            piece = piece[taken:]
        if piece:
            self._tail += piece[-TAIL_BYTES:]
            if len(self._tail) > 2 * TAIL_BYTES:
                # Only now and then, not with every event of a stream.
                del self._tail[:-TAIL_BYTES]

    def counts(self) -> dict[str, int]:
        """Return the last whole object of counts.

        In a stream that begins with an object of the vendor's own, that object fills in missing
        counts.
        """
        # One text, so that a count on the seam is seen. Where bytes between are lost, a newline
        # keeps the two sides apart.
        gap = b"" if self.bytes <= HEAD_BYTES + TAIL_BYTES else b"\n"
        text = self._head + gap + self._tail[-TAIL_BYTES:]
        objects = (_object_body(text, match.end()) for match in _TOLD.finditer(text))
        told = [found for found in map(_counts, objects) if found]
        if not told:
            return {}
        return told[0] | told[-1] if text.startswith(_BEGINS_WITH_COUNTS) else told[-1]

    def model(self) -> str:
        """Return the model that answered, empty when it is not named."""
        return read_model(self._head) or read_model(self._tail[-TAIL_BYTES:])


def _object_body(text: bytes, start: int) -> bytes:
    """Return the text between an opening brace and its closing one; nothing without a closing
    one."""
    depth = 1
    for brace in _BRACE.finditer(text, start, start + MAX_TOLD_BYTES):
        depth += 1 if brace[0] == b"{" else -1
        if depth == 0:
            return text[start : brace.start()]
    return b""


def _counts(told: bytes) -> dict[str, int]:
    found: dict[str, int] = {}
    for match in _COUNT.finditer(told):
        name = match[1].decode()
        found[name] = max(found.get(name, 0), int(match[2]))
    return found


def read_model(body: bytes | bytearray) -> str:
    """Return the model that a request's body names, from its first bytes; empty when not seen."""
    found = _MODEL.search(body)
    return found[1].decode() if found else ""
