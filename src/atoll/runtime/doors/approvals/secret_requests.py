"""Telling the owner that a secret wants to go to a host nobody has approved yet.

The request itself is refused at once; this only writes the ask into the journal, each the
same one at most once a minute, since whoever is inside could ask without end.
"""

import secrets
from time import monotonic

from atoll.domain.broker.passage import Refusal
from atoll.runtime.doors.broker.call_audit import Audit, Call

SAME_AGAIN_SECONDS = 60.0
MAX_ASKS_PER_MINUTE = 30
_SUBJECT = ("secret", "secret_id", "version", "host", "port")


class Asking:
    """The asks of one sandbox's broker."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._asked: dict[tuple[object, ...], float] = {}

    def heard(self, call: Call, refusal: Refusal) -> None:
        """A request was refused: ask when it was for want of an approval."""
        if refusal.error != "domain_not_approved":
            return
        now = monotonic()
        subject = {name: call.more[name] for name in _SUBJECT}
        key = tuple(subject.values())
        recent = {k: at for k, at in self._asked.items() if now - at < SAME_AGAIN_SECONDS}
        self._asked = recent
        if key in recent or len(recent) >= MAX_ASKS_PER_MINUTE:
            return
        recent[key] = now
        ask = {"ask_id": f"ask_{secrets.token_hex(10)}", "kind": "secret", "subject": subject}
        self._audit("approval.asked", ask)
