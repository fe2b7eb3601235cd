"""A byte-exact way out of the sandbox: content is searched for secrets, never rewritten.

What holds a secret is refused, unless whoever asks says that it may go; the control plane
lets only the owner say so.
"""

from aiohttp import web

from atoll.domain.errors import Conflict, Invalid
from atoll.domain.redaction.detector import Detector
from atoll.runtime.api.parts import parts_of


class Transfer:
    """Transfer of bytes out of the sandbox, searched for the secrets known at its beginning. Raises
    `Invalid` for a `?secrets=` that is neither `refuse` nor `allow`."""

    def __init__(self, request: web.Request) -> None:
        choice = request.query.get("secrets", "refuse")
        if choice not in ("refuse", "allow"):
            raise Invalid("secrets must be refuse or allow", field="secrets")
        self._parts = parts_of(request)
        self._request = request
        self._allowed = choice == "allow"
        self._lexicon = self._parts.redactions.lexicon
        self._detector = Detector(self._lexicon)

    @property
    def guarded(self) -> bool:
        """True when a secret in the transfer would be refused."""
        return self._lexicon.named and not self._allowed

    @property
    def reach(self) -> int:
        """Length of the longest secret, in bytes."""
        return self._lexicon.longest

    def anew(self) -> "Transfer":
        """Return a fresh transfer, for the same bytes once more."""
        return Transfer(self._request)

    def judge(self, data: bytes) -> None:
        """Look at bytes before anything was sent. Raises `Conflict`."""
        if self._finds(data) and not self._allowed:
            raise Conflict(
                "this holds a secret of the sandbox's owner; who may see it asks again "
                "with secrets=allow",
                code="holds_secret",
                field="path",
            )

    def pass_on(self, data: bytes) -> None:
        """Check bytes as they pass. Raises `ConnectionResetError`, because a cut connection is the
        clearest signal."""
        if self._finds(data) and not self._allowed:
            raise ConnectionResetError("a secret was in what was being sent")

    def _finds(self, data: bytes) -> bool:
        """Report whether there is one, recorded in the journal the first time."""
        before = self._detector.found
        if self._detector.feed(data) and not before:
            kind = "secret.exported" if self._allowed else "secret.withheld"
            path = self._request.query.get("path", "")[:512]
            self._parts.journal.append(kind, {"path": path})
        return self._detector.found
