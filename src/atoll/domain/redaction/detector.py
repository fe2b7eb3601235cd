"""Detection of secrets in bytes that may not be rewritten: files, archives, bundles."""

from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.redactor import ROOM_BYTES


class Detector:
    """A detector of one stream. `found` becomes true once and stays so."""

    __slots__ = ("_held", "_lexicon", "found")

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._held = b""
        self.found = False

    def feed(self, data: bytes) -> bool:
        """Read the next bytes. Returns whether any so far held a secret."""
        if self.found or not self._lexicon.named:
            return self.found
        whole = self._held + data
        findings = self._lexicon.find(whole, drawn=False)
        begin = min((begin for begin, _ in findings.live), default=len(whole))
        begin = max(begin, len(whole) - self._lexicon.longest - ROOM_BYTES)
        self._held = self._lexicon.context(whole, begin) + whole[begin:]
        self.found = bool(findings.spans)
        return self.found
