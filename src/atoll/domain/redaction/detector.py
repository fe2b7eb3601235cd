"""Detection of secrets in bytes that may not be rewritten: files, archives, bundles."""

from functools import partial

from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.redactor import ROOM_BYTES


class Detector:
    """A detector of one stream. `found` becomes true once and stays so. `binary` is the
    redactor's."""

    __slots__ = ("_binary", "_held", "_lexicon", "found")

    def __init__(self, lexicon: Lexicon, *, binary: bool = False) -> None:
        self._lexicon = lexicon
        self._binary = binary
        self._held = b""
        self.found = False

    def feed(self, data: bytes) -> bool:
        """Read the next bytes. Returns whether any so far held a secret."""
        if self.found or not self._lexicon.named:
            return self.found
        whole = self._held + data
        plain = self._binary and b"\0" in data
        find = self._lexicon.find_plain if plain else partial(self._lexicon.find, drawn=False)
        findings = find(whole)
        begin = min((begin for begin, _ in findings.live), default=len(whole))
        begin = max(begin, len(whole) - self._lexicon.longest - ROOM_BYTES)
        self._held = self._lexicon.context(whole, begin) + whole[begin:]
        self.found = bool(findings.spans)
        return self.found
