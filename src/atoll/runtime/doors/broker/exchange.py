"""A request on its way out and its response on the way in, byte by byte.

An exchange decides nothing: its route was checked, `domain.broker.answer` checks the response, and
`machine.phases.step` says how the exchange ends. Only heads are gathered, so streams pass as they
come. Each side is paused while the other is slow, and the end of one side ends the other.
"""

from time import monotonic, time
from typing import ClassVar, Final, Protocol

from atoll.domain.broker.answer import SWITCHING
from atoll.domain.broker.passage import Refusal
from atoll.runtime.doors.broker.body_gate import BodyGate
from atoll.runtime.doors.broker.call_audit import BrokerCall
from atoll.runtime.doors.broker.machine.phases import (
    SENT_REQUEST,
    UNSENT_REQUEST,
    ClientEnding,
    Ending,
    ExchangeStimulus,
    RequestPhase,
    ResponsePhase,
    step,
)
from atoll.runtime.doors.broker.outbound import Outbound
from atoll.runtime.doors.broker.push_gate import PushGate, RefusedPush
from atoll.runtime.doors.broker.request import BrokerRequest
from atoll.runtime.doors.broker.response import ResponseHead
from atoll.runtime.doors.broker.response_body import ResponseBody, make_chunk
from atoll.runtime.doors.broker.route import BrokerRoute
from atoll.wire.git.receive_pack import HeldRefs
from atoll.wire.http.usage import UsageReader

PENDING_BYTES = 256 * 1024
REPEATED_BYTES = 4 * 1024 * 1024
"""The longest request that can be repeated with a newer token."""

MAX_BODY_BYTES = 1024 * 1024 * 1024
_UNAUTHORIZED: Final = 401
# Python 3.11 finds a member of an enum many times slower than a global.
_ENDED: Final = ResponsePhase.ENDED
_REQUEST_ENDED: Final = ExchangeStimulus.REQUEST_ENDED
_HEAD_ACCEPTED: Final = ExchangeStimulus.HEAD_ACCEPTED
_RESPONSE_ENDED: Final = ExchangeStimulus.RESPONSE_ENDED
_END: Final = ClientEnding.END
_DROP: Final = ClientEnding.DROP
_REPLY: Final = ClientEnding.REPLY


class Requester(Protocol):
    """The client's connection."""

    def reply(self, refusal: Refusal) -> None:
        """Send a whole response of the door's own."""

    def reply_head(self, head: bytes, *, raw: bool) -> bytes:
        """Return a response head as this connection needs it, to be sent with `reply_data`. With
        `raw` the connection carries another protocol from now on."""

    def reply_data(self, data: bytes) -> None:
        """Send framed bytes of a body, or raw ones."""

    def reply_end(self, *, close: bool) -> None:
        """End the response; with `close` its end is the connection's."""

    def drop(self) -> None:
        """Close the connection of an incomplete response."""

    def hold(self, paused: bool) -> None:
        """Pause or resume reading the request."""


class ExchangeOwner(Protocol):
    """The broker, as its exchanges see it."""

    def take(self, count: int, /) -> bool:
        """Count bytes. Returns False when no more may pass."""

    def hold(self, exchange: "Exchange", push: RefusedPush, /) -> None:
        """Hold what may be held of a refused push, and end the exchange by `pushed`."""

    def renew(self, exchange: "Exchange", /) -> None:
        """Repeat the request with a newer token, once there is one, or end the exchange."""

    def finish(self, exchange: "Exchange") -> None:
        """Record the end of an exchange and release its upstream connection."""


class Exchange:
    """A request and its response, until `ExchangeOwner.finish`."""

    half_closes: ClassVar[bool] = False

    def __init__(
        self,
        route: BrokerRoute,
        request: BrokerRequest,
        *,
        call: BrokerCall,
        client: Requester,
        owner: ExchangeOwner,
    ) -> None:
        self.route = route
        self.call = call
        self.outbound: Outbound | None = None
        self.usage = UsageReader() if route.costs else None
        self.asked_head = bytearray()
        self.request = request
        self._client = client
        self._owner = owner
        self._repeated: list[bytes] | None = [] if route.credential.kind == "login" else None
        self._repeated_bytes = 0
        self._refused = False
        self.refused_at: float | None = None
        self._push_gate = PushGate(route.pushed) if route.pushed is not None else None
        self._body_gate = BodyGate(route.credential.name, request) if route.judged else None
        self._pending: list[bytes] = []
        self._waiting = 0
        self._phases = SENT_REQUEST if request.length == 0 else UNSENT_REQUEST
        self._body: ResponseBody | None = None

    @property
    def answered(self) -> bool:
        """True when a response head of the upstream was accepted."""
        return self._body is not None

    @property
    def ended(self) -> bool:
        """True when the exchange has ended."""
        return self._phases.response is _ENDED

    # The client's side.

    def connected(self, outbound: Outbound) -> None:
        """Use an open connection for the request."""
        if self._phases.response is _ENDED:
            outbound.close()
            return
        self.outbound = outbound
        outbound.begin(self, bodiless=self.route.method == "HEAD")
        self._pending.insert(0, self.route.render_head(self.request))
        if self._waiting > PENDING_BYTES:
            self._client.hold(False)
        self._waiting = 0

    def body(self, data: bytes) -> None:
        """Take a piece of the request's body, out of its chunks."""
        self.call.bytes_in += len(data)
        if self._phases.response is _ENDED:
            return
        if self.call.bytes_in > MAX_BODY_BYTES:
            self.fail(Refusal(413, "too_large", f"a body may have {MAX_BODY_BYTES} bytes here"))
            return
        if not self._owner.take(len(data)):
            self.fail(Refusal(429, "bytes_used_up", "this sandbox's bytes of the hour are used"))
            return
        if len(self.asked_head) < PENDING_BYTES // 4:
            self.asked_head += data[: PENDING_BYTES // 4]
        gate = self._push_gate or self._body_gate
        self._send_judged(gate.feed(data) if gate else data)

    def asked(self) -> None:
        """Send what came of the request by now, in one piece."""
        if self.outbound is None or not self._pending:
            return
        if self._phases.response is not _ENDED:
            pending, self._pending = self._pending, []
            self.outbound.send(b"".join(pending))

    def body_end(self) -> None:
        """End the request."""
        self._phases, _ = step(self._phases, _REQUEST_ENDED)
        if self._phases.response is not _ENDED and self._body_gate is not None:
            self._send_judged(self._body_gate.finish())
        if self._phases.response is _ENDED:
            return
        refused = self._push_gate.finish() if self._push_gate else None
        if refused is not None:
            self._owner.hold(self, refused)
        elif self.request.length is None:
            self._send(b"0\r\n\r\n")

    def pushed(self, push: RefusedPush, held: HeldRefs) -> None:
        """End the exchange of a refused push, some refs of which may be held."""
        outcome = "push_held" if held.refs else "push_refused"
        self._apply_stimulus(ExchangeStimulus.REPLACED, outcome, push.report(held))

    def raw(self, data: bytes) -> None:
        """Take bytes of another protocol from the client."""
        self.call.bytes_in += len(data)
        if not self._owner.take(len(data)):
            self.cut("bytes_used_up")
        elif self.outbound is not None:
            self.outbound.send(data)

    def input_ended(self) -> None:
        """Do nothing: another protocol ends with either side."""

    def answer_hold(self, paused: bool) -> None:
        """Pause or resume the response, as fast as the client reads."""
        if self.outbound is not None:
            self.outbound.pause(paused)

    def gone(self) -> None:
        """End the exchange of a client that hung up."""
        self._apply_stimulus(ExchangeStimulus.CLIENT_LOST)

    # The upstream's side.

    def answer_head(self, head: ResponseHead) -> None:
        """Judge a response and forward its head."""
        self.call.step, self.call.status = "answer", head.status
        complete = self._phases.request is RequestPhase.COMPLETE
        if head.status == _UNAUTHORIZED and complete and self._take_refusal():
            self._await_renewal()
            return
        self._repeated = None
        plan = self.route.plans.judge(head)
        if isinstance(plan, Refusal):
            self.fail(plan)
            return
        self.call.step, switching = "pass", head.status == SWITCHING
        accepted = ExchangeStimulus.SWITCH_ACCEPTED if switching else _HEAD_ACCEPTED
        self._phases, _ = step(self._phases, accepted)
        rendered = self.route.keys.redact(plan.render(head))
        shown = self._client.reply_head(rendered, raw=switching)
        self._body = ResponseBody(plan, shown, keys=self.route.keys, send=self._client.reply_data)
        if switching:
            self._body.flush()

    def answer_body(self, data: bytes) -> None:
        """Take a piece of the response's body."""
        self.call.bytes_out += len(data)
        if self._body is None or self._phases.response is _ENDED:
            return
        if self.usage is not None:
            self.usage.feed(data)
        if not self._owner.take(len(data)):
            self.cut("bytes_used_up")
            return
        self._body.feed(data)

    def answer_pause(self) -> None:
        """Forward what came of the response by now, in one piece."""
        if self._body is not None:
            self._body.flush()

    def answer_raw(self, data: bytes) -> None:
        """Take bytes of another protocol from the upstream."""
        if self._body is None or self._phases.response is _ENDED:
            return
        self.call.bytes_out += len(data)
        self._body.feed(data)
        self._body.flush()
        if not self._owner.take(len(data)):
            self.cut("bytes_used_up")

    def answer_end(self) -> None:
        """End the response."""
        self._apply_stimulus(_RESPONSE_ENDED)

    def answer_lost(self, why: str) -> None:
        """End a response whose upstream connection broke or stalled."""
        message = f"{self.call.service} could not be reached: {why}"
        refusal = Refusal(502, "upstream_unreachable", message)
        self._apply_stimulus(ExchangeStimulus.UPSTREAM_LOST, refusal.error, refusal)

    def asking_paused(self, paused: bool) -> None:
        """Pause or resume the request, as fast as the upstream reads."""
        self._client.hold(paused)

    # A newer token.

    def repeat(self, route: BrokerRoute) -> None:
        """Prepare the request to be sent again with the token of `route`."""
        self.route, self._pending = route, [*(self._repeated or ())]

    def _take_refusal(self) -> bool:
        """Count a refusal. Returns whether the request is sent again, which happens once for a
        token that had not ended: one that lives short may have ended on its way."""
        ends_at, first = self.route.credential.ends_at, not self._refused
        ended = ends_at is not None and ends_at <= time()
        self._refused = self._refused or not ended
        return self._repeated is not None and (first or ended)

    def _await_renewal(self) -> None:
        outbound, self.outbound = self.outbound, None
        if outbound is not None:
            outbound.close()
        self.refused_at = self.refused_at or monotonic()
        self._owner.renew(self)

    # The end.

    def fail(self, refusal: Refusal) -> None:
        """End the exchange with a response of the door's own, or cut one that has begun."""
        self._apply_stimulus(ExchangeStimulus.REFUSED, refusal.error, refusal)

    def cut(self, outcome: str) -> None:
        """End the exchange at once."""
        self._apply_stimulus(ExchangeStimulus.CUT, outcome)

    def _apply_stimulus(
        self, stimulus: ExchangeStimulus, outcome: str = "", reply: Refusal | bytes = b""
    ) -> None:
        """Step the phases, and end the exchange when they have ended."""
        self._phases, ending = step(self._phases, stimulus)
        if ending is not None:
            self._end(ending, outcome, reply)

    def _end(self, ending: Ending, outcome: str, reply: Refusal | bytes) -> None:
        call, body, client_ending = self.call, self._body, ending.client
        if body is not None:
            body.end(ending.flush)
        call.outcome = ending.outcome or outcome
        if client_ending is _REPLY:
            call.status = reply.status if isinstance(reply, Refusal) else 200
        if self.outbound is not None and not ending.reuse:
            self.outbound.close()
        self._owner.finish(self)
        if client_ending is _END:
            self._client.reply_end(close=body is not None and body.ends_connection)
        elif client_ending is _REPLY:
            self._reply(reply)
        elif client_ending is _DROP:
            self._client.drop()

    def _reply(self, reply: Refusal | bytes) -> None:
        """Send a refusal, or git's own report of a refused push."""
        if isinstance(reply, Refusal):
            self._client.reply(reply)
            return
        kind = "application/x-git-receive-pack-result"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(reply)}\r\n\r\n"
        self._client.reply_data(self._client.reply_head(head.encode(), raw=False) + reply)
        self._client.reply_end(close=False)

    def _send_judged(self, judged: bytes | Refusal) -> None:
        if isinstance(judged, Refusal):
            self.fail(judged)
        elif judged:
            self._send(judged if self.request.length is not None else make_chunk(judged))

    def _send(self, data: bytes) -> None:
        self._pending.append(data)
        if self._repeated is not None:
            self._repeated_bytes += len(data)
            self._repeated.append(data)
            if self._repeated_bytes > REPEATED_BYTES:
                self._repeated = None
        if self.outbound is None:
            self._waiting += len(data)
            if self._waiting > PENDING_BYTES:
                self._client.hold(True)
