"""One request's record for the audit, and how much of the audit a sandbox may fill.

Never a body, a key, a header's value or a whole path.
"""

from collections.abc import Callable, Mapping
from time import monotonic

import msgspec

from atoll.domain.broker.audit_budget import AuditBudget
from atoll.domain.broker.price import Usage

Audit = Callable[[str, Mapping[str, object]], object]
"""Called with a kind and what happened."""

REFUSING = frozenset({"read", "route", "judge", "admit"})
"""Steps at which the broker refuses a request by itself, so that none of it went out."""


class Call(msgspec.Struct):
    """What became of one request. `step` is the last one it reached: read, route, admit, judge,
    dial, answer, pass; `outcome` how that ended. `who` is a provider's name, `custom` or `git`."""

    method: str
    who: str = ""
    rule: str = ""
    step: str = "read"
    outcome: str = "error"
    status: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    started: float = msgspec.field(default_factory=monotonic)
    usage: Usage | None = None
    cost_micros: int | None = None
    more: dict[str, object] = msgspec.field(default_factory=dict)

    def payload(self) -> dict[str, object]:
        """As it is written down."""
        said: dict[str, object] = {
            "door": "broker",
            "provider": self.who[:64],
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
            said.update(model=usage.model, tokens_in=usage.read, tokens_out=usage.written)
            said.update(tokens_cached=usage.cached, estimated=usage.estimated)
        if self.cost_micros is not None:
            said["cost_micros"] = self.cost_micros
        return said


class Ledger:
    """Writes calls down while the budget lasts; what it leaves out is summed into the next, or told
    by itself when none comes (`settle`). Refused ones cost no budget, because the audit merges
    them: else a flood of them would hide what passed. `clock` is a steady one, in seconds."""

    def __init__(self, audit: Audit, clock: Callable[[], float] = monotonic) -> None:
        self._audit = audit
        self._clock = clock
        self._budget = AuditBudget(clock())
        self._missed: dict[str, int] = {}

    def record(self, call: Call) -> None:
        """Write one request down, or count it."""
        if call.step in REFUSING:
            self._audit("door.request", call.payload())
            return
        unrecorded = self._budget.take(self._clock())
        if unrecorded is None:
            self._add(call)
            return
        said = call.payload()
        if unrecorded:
            said.update(self._sums(unrecorded))
        self._audit("door.request", said)

    def settle(self, *, last: bool = False) -> None:
        """Tell of what was counted and is followed by nothing; `last` whatever the budget says."""
        now = self._clock()
        if self._budget.missed and (last or self._budget.affords(now)):
            unrecorded = self._budget.told() if last else self._budget.take(now)
            self._audit("door.request", {"door": "broker", **self._sums(unrecorded or 0)})

    def _sums(self, unrecorded: int) -> dict[str, object]:
        sums: dict[str, object] = {"unrecorded": unrecorded, **self._missed}
        self._missed = {}
        return sums

    def _add(self, call: Call) -> None:
        usage = call.usage or Usage()
        for name, count in (
            ("bytes_in", call.bytes_in),
            ("bytes_out", call.bytes_out),
            ("tokens_in", usage.read),
            ("tokens_out", usage.written),
            ("cost_micros", call.cost_micros or 0),
        ):
            if count:
                name = f"unrecorded_{name}"
                self._missed[name] = self._missed.get(name, 0) + count
