"""Request on its way out and its answer on the way in, byte by byte.

The exchange decides nothing. It got a route, and lets `domain.broker.answer` judge the answer.
Nothing is gathered but the head, so streams pass as they come. Each side is paused while the other
is slow. When one side leaves, the other is closed.
"""

from typing import Protocol

from atoll.domain.broker.answer import SWITCHING
from atoll.domain.broker.passage import Refusal
from atoll.domain.redaction.redactor import Redactor
from atoll.runtime.doors.broker.body_gate import BodyGate
from atoll.runtime.doors.broker.call_audit import BrokerCall
from atoll.runtime.doors.broker.outbound import Outbound
from atoll.runtime.doors.broker.push_gate import PushGate
from atoll.runtime.doors.broker.request import BrokerRequest
from atoll.runtime.doors.broker.response import ResponseHead
from atoll.runtime.doors.broker.route import BrokerRoute
from atoll.runtime.stage import Flow
from atoll.wire.http.usage import UsageReader

PENDING_BYTES = 256 * 1024
MAX_BODY_BYTES = 1024 * 1024 * 1024


class Requester(Protocol):
    """The side that asked."""

    def reply(self, refusal: Refusal) -> None:
        """Send a whole answer of the door's own."""

    def reply_head(self, head: bytes, *, raw: bool) -> bytes:
        """Return an answer's head as this connection needs it, to be sent with `reply_data`; `raw`
        hands the connection over to both sides' bytes."""

    def reply_data(self, data: bytes) -> None:
        """Send framed bytes of a body, or raw ones."""

    def reply_end(self, *, close: bool) -> None:
        """End the answer."""

    def drop(self) -> None:
        """Cut the connection: the answer is not whole, and nothing else can say so."""

    def hold(self, paused: bool) -> None:
        """Stop or go on reading the request."""


class ExchangeOwner(Protocol):
    """Starter of an exchange, which receives byte counts and its end."""

    def took(self, count: int) -> bool:
        """Count bytes; False when there may be no more."""

    def over(self, exchange: "Exchange") -> None:
        """Finish an exchange: its connection, if any, may be used again when `usable`."""


class Exchange:
    """Exchange of one request and its answer, until `ExchangeOwner.over`."""

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
        self._client = client
        self._owner = owner
        self._request = request
        self._gate = PushGate(route.pushed) if route.pushed is not None else None
        self._body = BodyGate(route.credential.name, request) if route.judged else None
        self._flow: Flow | None = None
        self._pending: list[bytes] = []
        self._waiting = 0
        self._asked_all = request.length == 0
        self._answered = self._over = self._chunked = self._raw = self._close = False
        self._shown_head = b""
        self._out: list[bytes] = []
        self._gathering = False

    @property
    def answered(self) -> bool:
        """True when the upstream's answer has begun, and may be passed in."""
        return self._answered

    # The client's side.

    def connected(self, outbound: Outbound) -> None:
        """Send the request: there is a connection."""
        if self._over:
            outbound.close()
            return
        self.outbound = outbound
        outbound.begin(self, bodyless=self.route.method == "HEAD")
        self._pending.insert(0, self.route.render_head(self._request))
        if self._waiting > PENDING_BYTES:
            self._client.hold(False)
        self._waiting = 0

    def body(self, data: bytes) -> None:
        """Pass a piece of the request's body on, out of its chunks."""
        self.call.bytes_in += len(data)
        if self._over:
            return
        if self.call.bytes_in > MAX_BODY_BYTES:
            self.fail(Refusal(413, "too_large", f"a body may have {MAX_BODY_BYTES} bytes here"))
            return
        if not self._owner.took(len(data)):
            self.fail(Refusal(429, "bytes_used_up", "this sandbox's bytes of the hour are used"))
            return
        if len(self.asked_head) < PENDING_BYTES // 4:
            self.asked_head += data[: PENDING_BYTES // 4]
        gate = self._gate or self._body
        self._pass(gate.feed(data) if gate else data)

    def asked(self) -> None:
        """Send what has come of the request for now, in one piece."""
        if self.outbound is not None and self._pending and not self._over:
            pending, self._pending = self._pending, []
            self.outbound.send(b"".join(pending))

    def body_end(self) -> None:
        """End the request."""
        self._asked_all = True
        if self._over:
            return
        if self._body is not None:
            self._pass(self._body.finish())
            if self._over:
                return
        answer = self._gate.finish() if self._gate else None
        if answer is not None:
            self._own_answer(answer)
        elif self._request.length is None:
            self._send(b"0\r\n\r\n")

    def _pass(self, judged: bytes | Refusal) -> None:
        if isinstance(judged, Refusal):
            self.fail(judged)
        elif judged:
            self._send(judged if self._request.length is not None else _chunk(judged))

    def raw(self, data: bytes) -> None:
        """Pass bytes of a protocol both sides switched to."""
        self.call.bytes_in += len(data)
        if not self._owner.took(len(data)):
            self.cut("bytes_used_up")
        elif self.outbound is not None:
            self.outbound.send(data)

    def answer_hold(self, paused: bool) -> None:
        """Pause or resume the answer: the client reads slower than it comes."""
        if self.outbound is not None:
            self.outbound.pause(paused)

    def gone(self) -> None:
        """End the exchange of a client that is gone."""
        if not self._over:
            self._finish("passed" if self._raw else "client_gone", reuse=False)

    # The upstream's side.

    def answer_head(self, status: int, reason: bytes, said: list[bytes]) -> None:
        """Judge an answer and pass its head in."""
        self.call.step, self.call.status = "answer", status
        http11 = self._request.shape.http11
        head = ResponseHead(status, reason, tuple(said[0::2]), said[1::2], http11)
        plan = self.route.plans.judge(head)
        if isinstance(plan, Refusal):
            self.fail(plan)
            return
        self._answered, self.call.step = True, "pass"
        self._raw = status == SWITCHING
        self._chunked, self._close = plan.chunked, plan.close
        rendered = self.route.keys.redact(plan.render(head))
        self._shown_head = self._client.reply_head(rendered, raw=self._raw)
        if self._raw:
            self._flush()

    def answer_body(self, data: bytes) -> None:
        """Pass a piece of the answer's body on."""
        self.call.bytes_out += len(data)
        if self._over:
            return
        if self.usage is not None:
            self.usage.feed(data)
        if not self._owner.took(len(data)):
            self.cut("bytes_used_up")
            return
        self._gathering = True
        self._mask(data)

    def answer_pause(self) -> None:
        """Send what has come of the answer for now, in one piece."""
        self._gathering = False
        self._flush()

    def answer_raw(self, data: bytes) -> None:
        """Pass bytes of a protocol both sides switched to."""
        if self._over:
            return
        self.call.bytes_out += len(data)
        self._mask(data)
        if not self._owner.took(len(data)):
            self.cut("bytes_used_up")

    def answer_end(self) -> None:
        """End the answer."""
        if self._over:
            return
        self._gathering = True
        if self._flow is not None:
            self._flow.end()
        self._flush(last=True)
        if self._raw:
            self._finish("passed", reuse=False)
            self._client.drop()
            return
        self._finish("passed", reuse=self._asked_all)
        self._client.reply_end(close=self._close)

    def answer_lost(self, why: str) -> None:
        """Fail or cut: the upstream went before its answer was whole."""
        if self._over:
            return
        if not self._answered:
            message = f"{self.call.service} could not be reached: {why}"
            self.fail(Refusal(502, "upstream_unreachable", message))
        else:
            self.cut("cut_short")

    def asking_paused(self, paused: bool) -> None:
        """Pause or resume the request: the upstream reads slower than it comes."""
        self._client.hold(paused)

    # Its end.

    def fail(self, refusal: Refusal) -> None:
        """End it with an answer of the door's own, or a cut when another has begun."""
        if self._over:
            return
        if self._answered:
            self.cut(refusal.error)
            return
        self.call.status = refusal.status
        self._finish(refusal.error, reuse=False)
        self._client.reply(refusal)

    def cut(self, outcome: str) -> None:
        """End it at once: what it leans on is gone, or one side is."""
        if self._over:
            return
        self._flush()
        self._finish(outcome, reuse=False)
        self._client.drop()

    def _own_answer(self, answer: bytes) -> None:
        """Answer in the upstream's stead, in its own language."""
        self.call.status = 200
        self._finish("push_refused", reuse=False)
        kind = "application/x-git-receive-pack-result"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\n\r\n"
        self._client.reply_data(self._client.reply_head(head.encode(), raw=False) + answer)
        self._client.reply_end(close=False)

    def _finish(self, outcome: str, *, reuse: bool) -> None:
        self._over = True
        self.call.outcome = outcome
        if self._flow is not None:
            self._flow.close()
        if self.outbound is not None and not reuse:
            self.outbound.close()
        self._owner.over(self)

    def _send(self, data: bytes) -> None:
        self._pending.append(data)
        if self.outbound is None:
            self._waiting += len(data)
            if self._waiting > PENDING_BYTES:
                self._client.hold(True)

    def _mask(self, data: bytes) -> None:
        """Show bytes of an answer without the keys in them. Most answers have none, and nothing
        that begins like one: those need no stream that remembers."""
        if self._flow is None:
            if not self.route.keys.touches(data):
                self._show(data)
                return
            self._flow = Flow(Redactor(self.route.keys), self._show)
        self._flow.feed(data)

    def _show(self, data: bytes) -> None:
        """Show bytes of an answer; outside a batch they are sent at once."""
        self._out.append(data)
        if not self._gathering:
            self._flush()

    def _flush(self, *, last: bool = False) -> None:
        out, self._out = self._out, []
        data = out[0] if len(out) == 1 else b"".join(out)
        if self._chunked:
            data = (_chunk(data) if data else b"") + (b"0\r\n\r\n" if last else b"")
        head, self._shown_head = self._shown_head, b""
        data = head + data
        if data:
            self._client.reply_data(data)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
