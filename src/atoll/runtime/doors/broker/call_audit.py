"""The audit record of one broker call, and the limit on records that one sandbox may write.

A record never holds a body, a key, a header's value or a whole path.
"""

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Literal

import msgspec

from atoll.domain.broker.audit_budget import AuditBudget
from atoll.domain.broker.price import Usage

Audit = Callable[[str, Mapping[str, object]], object]
"""A sink of audit entries, called with a kind and a payload."""

Step = Literal["read", "route", "judge", "admit", "dial", "answer", "pass"]
"""The steps of a request, in order: parse its head (`inbound`), find its route and judge it
(`route_table`), apply limits and connect (`broker`), judge the response head and forward the
response (`exchange`)."""

REFUSING: frozenset[Step] = frozenset({"read", "route", "judge", "admit"})
"""Steps before any byte goes out: a call that ends at one was refused by the broker itself."""


class BrokerCall(msgspec.Struct):
    """The audit record of one request. `step` is the last step it reached, and `outcome` the result
    of that step. `service` is a provider's name, `custom` or `git`."""

    method: str
    service: str = ""
    rule: str = ""
    step: Step = "read"
    outcome: str = "error"
    status: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    started: float = msgspec.field(default_factory=monotonic)
    usage: Usage | None = None
    cost_micros: int | None = None
    more: dict[str, object] = msgspec.field(default_factory=dict)

    def payload(self) -> dict[str, object]:
        """Return the payload of the audit entry."""
        payload: dict[str, object] = {
            "door": "broker",
            "provider": self.service[:64],
            "method": self.method[:16],
            "path_class": self.rule,
            "step": self.step,
            "outcome": self.outcome,
            "status": self.status,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
            "milliseconds": round((monotonic() - self.started) * 1000),
            **self.more,
        }
        usage = self.usage
        if usage is not None:
            payload.update(model=usage.model, tokens_in=usage.read, tokens_out=usage.written)
            payload.update(tokens_cached=usage.cached, estimated=usage.estimated)
        if self.cost_micros is not None:
            payload["cost_micros"] = self.cost_micros
        return payload


class CallAudit:
    """The audit of broker calls, within a budget. Omitted calls are summed into the next entry, or
    written as an entry of their own when none follows (`settle`). Refused calls cost no budget,
    because the audit below merges them: a flood of refusals must not hide calls that passed.
    `clock` is monotonic, in seconds."""

    def __init__(self, audit: Audit, clock: Callable[[], float] = monotonic) -> None:
        self._audit = audit
        self._clock = clock
        self._budget = AuditBudget(clock())
        self._missed: dict[str, int] = {}

    def record(self, call: BrokerCall) -> None:
        """Write one call, or count it when the budget is used up."""
        if call.step in REFUSING:
            self._audit("door.request", call.payload())
            return
        unrecorded = self._budget.take(self._clock())
        if unrecorded is None:
            self._count(call)
            return
        payload = call.payload()
        if unrecorded:
            payload.update(self._sums(unrecorded))
        self._audit("door.request", payload)

    def settle(self, *, last: bool = False) -> None:
        """Write the counted calls as one entry when the budget allows it, or always with `last`."""
        now = self._clock()
        if self._budget.missed and (last or self._budget.affords(now)):
            unrecorded = self._budget.told() if last else self._budget.take(now)
            self._audit("door.request", {"door": "broker", **self._sums(unrecorded or 0)})

    def _sums(self, unrecorded: int) -> dict[str, object]:
        sums: dict[str, object] = {"unrecorded": unrecorded, **self._missed}
        self._missed = {}
        return sums

    def _count(self, call: BrokerCall) -> None:
        usage = call.usage or Usage()
        for name, count in (
            ("bytes_in", call.bytes_in),
            ("bytes_out", call.bytes_out),
            ("tokens_in", usage.read),
            ("tokens_out", usage.written),
            ("tokens_cached", usage.cached),
            ("cost_micros", call.cost_micros or 0),
        ):
            if count:
                name = f"unrecorded_{name}"
                self._missed[name] = self._missed.get(name, 0) + count
