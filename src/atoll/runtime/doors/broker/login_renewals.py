"""Requests that wait for a newer token of a login: its vendor refused the one they were sent with.

Only the control plane refreshes. This module writes that a token was refused to the journal, once
for each token, and holds the requests until a policy brings a newer one.
"""

from collections.abc import Mapping
from time import monotonic
from typing import Final

from atoll.runtime.doors.broker.call_audit import Audit
from atoll.runtime.doors.broker.exchange import Exchange
from atoll.wire.contract.policy import LoginToken

RENEWAL_SECONDS: Final = 40.0
"""The time for which a request waits: longer than an issuer may take to answer."""

SAME_AGAIN_SECONDS: Final = 60.0
MAX_PER_MINUTE: Final = 30
"""The bound on entries, since programs inside can provoke refusals."""


class LoginRenewals:
    """The waiting requests of one sandbox's broker."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._waiting: dict[Exchange, float] = {}
        self._written: dict[tuple[str, int], float] = {}

    def wait(self, exchange: Exchange) -> None:
        """Hold a request until `take_renewed` or `take_expired` returns it, from its first refusal
        on."""
        self._waiting[exchange] = (exchange.refused_at or monotonic()) + RENEWAL_SECONDS
        credential = exchange.route.credential
        self._write(credential.login_id, credential.version)

    def forget(self, exchange: Exchange) -> None:
        """Forget a request that ended; one that does not wait is not an error."""
        self._waiting.pop(exchange, None)

    def take_renewed(self, logins: Mapping[str, LoginToken]) -> list[Exchange]:
        """Return the requests for which there is a newer token among `logins`, and forget them."""
        renewed = [exchange for exchange in self._waiting if is_renewed(exchange, logins)]
        for exchange in renewed:
            del self._waiting[exchange]
        return renewed

    def take_expired(self) -> list[Exchange]:
        """Return the requests that waited for too long, and forget them."""
        now = monotonic()
        expired = [exchange for exchange, until in self._waiting.items() if until <= now]
        for exchange in expired:
            del self._waiting[exchange]
        return expired

    def _write(self, login_id: str, version: int) -> None:
        now = monotonic()
        self._written = {k: at for k, at in self._written.items() if now - at < SAME_AGAIN_SECONDS}
        if (login_id, version) in self._written or len(self._written) >= MAX_PER_MINUTE:
            return
        self._written[login_id, version] = now
        self._audit("login.refused", {"login_id": login_id, "version": version})


def is_late(exchange: Exchange) -> bool:
    """Report whether a request has waited for as long as it may."""
    first = exchange.refused_at
    return first is not None and monotonic() - first > RENEWAL_SECONDS


def is_renewed(exchange: Exchange, logins: Mapping[str, LoginToken]) -> bool:
    """Report whether the login of a request has a newer token than it was sent with."""
    credential = exchange.route.credential
    login = logins.get(credential.name)
    same = login is not None and login.login_id == credential.login_id
    return login is not None and same and login.version > credential.version
