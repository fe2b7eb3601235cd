"""The bridge between a client on stdio and the endpoint `/mcp`: a pump, and no second server.

Each request is one thread and one connection, so that a slow tool holds up no other. What a client
sends and what it is sent passes unchanged; the bridge adds what HTTP says beside a message.
"""

import threading
from collections.abc import Callable
from typing import Final

from atoll.client.bridge.endpoint import Endpoint, McpAnswer, OpenRequest, RequestCancelled
from atoll.client.bridge.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MAX_LINE_BYTES,
    BadMessage,
    Lines,
    Message,
    MessageId,
    error_line,
    failure_line,
    headers_of,
    one_line,
    read_message,
)
from atoll.client.bridge.session import LOST, HandshakeSession
from atoll.client.bridge.standing import StandingStream
from atoll.domain.errors import AtollError, LimitReached, Unavailable

MAX_PENDING: Final = 32
"""The requests under way at a time."""

LAST_SECONDS: Final = 30.0
"""The wait for answers after the client has closed its end."""

_CANCELLED: Final = "notifications/cancelled"
_REFUSED: Final = 300
_ACCEPTED: Final = 202


class Bridge:
    """The pump of one client. `write` sends a line without its end; any thread may call it."""

    def __init__(self, endpoint: Endpoint, write: Callable[[bytes], None]) -> None:
        self._endpoint = endpoint
        self._write = write
        self._session = HandshakeSession(endpoint)
        self._standing = StandingStream(endpoint, self._session, write)
        self._changed = threading.Condition()
        self._open: dict[MessageId, OpenRequest] = {}

    def run(self, read: Callable[[], bytes]) -> None:
        """Pump until `read` returns nothing: the client has closed its end."""
        lines = Lines()
        try:
            while data := read():
                for line in lines.feed(data):
                    self._take(line)
            for line in lines.rest():
                self._take(line)
            self._wait_for_answers()
        finally:
            self._standing.end()
            with self._changed:
                left = list(self._open.values())
            for pending in left:
                pending.cancel()
            self._session.end()

    def _take(self, line: bytes | None) -> None:
        if line is None:
            text = f"a message has at most {MAX_LINE_BYTES // 1024**2} MiB"
            self._write(error_line(None, INVALID_REQUEST, text))
            return
        try:
            message = read_message(line)
            headers = headers_of(message)
        except BadMessage as error:
            self._write(error_line(error.request_id, error.code, error.text))
            return
        if message.method == _CANCELLED:
            self._cancel(message)
        elif not message.is_request:
            self._notify(message, headers)
        elif message.method == "initialize":
            # In order: what follows belongs to the session that it begins.
            self._serve(message, headers, OpenRequest())
        else:
            self._start(message, headers)

    def _cancel(self, message: Message) -> None:
        """Close the connection of a request, which ends it in every revision."""
        named = message.params.get("requestId")
        if isinstance(named, str | int) and not isinstance(named, bool):
            with self._changed:
                pending = self._open.get(named)
            if pending is not None:
                pending.cancel()

    def _notify(self, message: Message, headers: dict[str, str]) -> None:
        """Send what needs no answer. Nobody can be told that it was not sent."""
        try:
            fields = headers or self._session.headers()
            answer = self._endpoint.post(message, fields, OpenRequest())
            answer.close()
        except AtollError:
            pass
        if message.method == "notifications/initialized":
            self._standing.begin()

    def _start(self, message: Message, headers: dict[str, str]) -> None:
        pending = OpenRequest()
        refused = self._admit(message, pending)
        if refused is not None:
            self._write(refused)
            return
        work = (message, headers, pending)
        threading.Thread(target=self._work, args=work, daemon=True).start()

    def _admit(self, message: Message, pending: OpenRequest) -> bytes | None:
        """Count a request among those under way. Returns the answer to one too many."""
        known = message.id
        with self._changed:
            if known is None or known in self._open:
                return error_line(known, INVALID_REQUEST, "a request with this id is under way")
            if len(self._open) >= MAX_PENDING:
                full = LimitReached(f"{MAX_PENDING} requests are under way: wait for one of them")
                return failure_line(known, full)
            self._open[known] = pending
        return None

    def _work(self, message: Message, headers: dict[str, str], pending: OpenRequest) -> None:
        try:
            self._serve(message, headers, pending)
        finally:
            with self._changed:
                if message.id is not None:
                    del self._open[message.id]
                self._changed.notify_all()

    def _serve(self, message: Message, headers: dict[str, str], pending: OpenRequest) -> None:
        """Write the answer to a request, unless it is cancelled."""
        try:
            self._exchange(message, headers, pending)
        except RequestCancelled:
            return
        except AtollError as error:
            if not pending.cancelled:
                self._write(failure_line(message.id, error))

    def _exchange(self, message: Message, headers: dict[str, str], pending: OpenRequest) -> None:
        fields = headers
        if not headers and message.method != "initialize":
            fields = self._session.headers()
        session = fields.get("Mcp-Session-Id", "")
        answer = self._endpoint.post(message, fields, pending)
        if answer.status == LOST and session:
            # It was refused before anything was done, so it may be sent in another session.
            answer.close()
            for line in self._session.renew(session, pending):
                self._write(line)
            answer = self._endpoint.post(message, self._session.headers(), pending)
        try:
            self._answer(message, answer, pending)
        finally:
            answer.close()

    def _answer(self, message: Message, answer: McpAnswer, pending: OpenRequest) -> None:
        """Write what the server answers, and note what it says of the session."""
        if answer.status >= _REFUSED:
            refused = answer.refusal()
            if isinstance(refused, AtollError):
                raise refused
            code, text = refused.get("code"), refused.get("message")
            line = error_line(
                message.id,
                code if isinstance(code, int) else INTERNAL_ERROR,
                text if isinstance(text, str) else "the server refused this",
                refused.get("data"),
            )
            self._write(line)
        elif answer.is_stream:
            pending.streams = True
            with self._changed:
                self._changed.notify_all()
            self._relay(message, answer, pending)
        elif answer.status == _ACCEPTED or not self._pass(message, answer, answer.whole(), pending):
            raise Unavailable("the server did not answer this request", code="reply_lost")

    def _relay(self, message: Message, answer: McpAnswer, pending: OpenRequest) -> None:
        """Write the messages of a stream, up to the answer that ends it."""
        for event in answer.events(silence=None):
            if self._pass(message, answer, event.data, pending):
                return
        if not pending.cancelled:
            raise Unavailable("the stream of this request broke off", code="reply_lost")

    def _pass(self, message: Message, answer: McpAnswer, body: bytes, pending: OpenRequest) -> bool:
        """Write one message of the server; returns whether it is the answer."""
        try:
            reply = one_line(body)
        except BadMessage as error:
            raise Unavailable(
                "the server sent what is no message: is this Atoll's address?", code="reply_lost"
            ) from error
        if pending.cancelled:
            return True
        ends = not reply.method and reply.id == message.id
        if ends and message.method == "initialize":
            self._session.begin(message, answer, reply)
        elif ends:
            self._session.note(message, reply)
        self._write(reply.body)
        return ends

    def _wait_for_answers(self) -> None:
        def are_answered() -> bool:
            return all(request.streams for request in self._open.values())

        with self._changed:
            self._changed.wait_for(are_answered, LAST_SECONDS)
