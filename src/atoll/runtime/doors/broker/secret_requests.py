"""Approval requests for secrets: a call would send a secret to a host that is not approved yet.

The call itself is refused at once. This module only writes the approval request to the journal.
Equal requests are written once a minute, because a program inside could repeat them without end.
"""

import secrets
from time import monotonic

from atoll.domain.broker.passage import Refusal
from atoll.runtime.doors.broker.call_audit import Audit, BrokerCall

SAME_AGAIN_SECONDS = 60.0
MAX_PER_MINUTE = 30
_SUBJECT = ("secret", "secret_id", "version", "host", "port")


class SecretRequests:
    """The approval requests for secrets of one sandbox's broker."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._written: dict[tuple[object, ...], float] = {}

    def write(self, call: BrokerCall, refusal: Refusal) -> None:
        """Write an approval request when a call was refused for want of an approval."""
        if refusal.error != "domain_not_approved":
            return
        now = monotonic()
        subject = {name: call.more[name] for name in _SUBJECT}
        key = tuple(subject.values())
        recent = {k: at for k, at in self._written.items() if now - at < SAME_AGAIN_SECONDS}
        self._written = recent
        if key in recent or len(recent) >= MAX_PER_MINUTE:
            return
        recent[key] = now
        request = {"ask_id": f"ask_{secrets.token_hex(10)}", "kind": "secret", "subject": subject}
        self._audit("approval.asked", request)
