"""Response heads at the broker door: checked once per kind, and made ready to be sent.

Responses of one kind differ in header values and not in names. A decision is cached by the status,
the names and the few values that decide, for as long as its route lives.
"""

from dataclasses import dataclass, field

import msgspec

from atoll.domain.broker.answer import DECIDING, SWITCHING, judge_answer
from atoll.domain.broker.passage import Headers, Passage, Refusal

KEPT_PLANS = 8
KEPT_PLAN_BYTES = 4 * 1024
_DECIDING = frozenset(name.encode() for name in DECIDING)
_UPGRADE: Headers = (("Connection", "Upgrade"), ("Upgrade", "websocket"))


class ResponseHead(msgspec.Struct, frozen=True):
    """A response head as received: `names` and `values` have the same order."""

    status: int
    reason: bytes
    names: tuple[bytes, ...]
    values: list[bytes]


@dataclass(frozen=True, slots=True)
class ResponsePlan:
    """The common part of responses that are checked alike: the head without the values of each
    response, and whether the body is chunked or ends with the connection (`close`)."""

    opening: bytes
    passed: tuple[tuple[int, bytes], ...]
    ending: bytes
    chunked: bool
    close: bool

    def render(self, head: ResponseHead) -> bytes:
        """Return the head of one response as the client receives it."""
        values = head.values
        lines = [self.opening, *[prefix + values[at] for at, prefix in self.passed], self.ending]
        return b"".join(lines)


@dataclass(frozen=True, slots=True)
class ResponsePlans:
    """A bounded cache of the response plans for one passage and one request method. `http11` is
    true when the client can read chunks."""

    passage: Passage = field(repr=False)
    method: str
    http11: bool
    _deciding: dict[tuple[bytes, ...], tuple[int, ...]] = field(default_factory=dict)
    _kept: dict[tuple[object, ...], ResponsePlan] = field(default_factory=dict)

    def judge(self, head: ResponseHead) -> ResponsePlan | Refusal:
        """Return the plan for a response, or why it is refused."""
        deciding_at = self._deciding.get(head.names)
        if deciding_at is None:
            lowered = [name.lower() for name in head.names]
            deciding_at = tuple([at for at, low in enumerate(lowered) if low in _DECIDING])
        deciding = [head.values[at] for at in deciding_at]
        key = (head.status, head.reason, head.names, *deciding)
        plan = self._kept.get(key)
        if plan is not None:
            return plan
        judged = self._make_plan(head)
        size = len(head.reason) + sum(map(len, head.names)) + sum(map(len, deciding))
        if isinstance(judged, ResponsePlan) and size <= KEPT_PLAN_BYTES:
            if len(self._kept) >= KEPT_PLANS:
                self._kept.clear()
                self._deciding.clear()
            self._deciding[head.names], self._kept[key] = deciding_at, judged
        return judged

    def _make_plan(self, head: ResponseHead) -> ResponsePlan | Refusal:
        names = [name.decode("latin-1") for name in head.names]
        headers = tuple(zip(names, [value.decode("latin-1") for value in head.values], strict=True))
        verdict = judge_answer(self.passage, head.status, headers)
        if isinstance(verdict, Refusal):
            return verdict
        passed, ours = verdict
        sized = any(names[at].lower() == "content-length" for at in passed)
        unbodied = head.status in (204, 304) or head.status < 200 or self.method == "HEAD"
        chunked = not (sized or unbodied) and self.http11
        close = not (sized or unbodied or chunked)
        if chunked:
            ours += (("Transfer-Encoding", "chunked"),)
        if close:
            ours += (("Connection", "close"),)
        if head.status == SWITCHING:
            ours += _UPGRADE
        reason = bytes(each for each in head.reason if 0x20 <= each <= 0x7E)
        return ResponsePlan(
            opening=b"HTTP/1.1 %d %b" % (head.status, reason),
            passed=tuple([(at, b"\r\n%b: " % head.names[at]) for at in passed]),
            ending="\r\n".join(["", *map(": ".join, ours), "", ""]).encode("latin-1"),
            chunked=chunked,
            close=close,
        )
