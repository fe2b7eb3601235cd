"""The tools for scripts: one call by one plain request, whose answer a shell can use.

`POST /mcp/call` takes the name of a tool, a NUL and its arguments as JSON; `GET /mcp/tools` lists
the tools. The header `Atoll-Exit` says how `atoll-mcp` ends: 0 with what goes to its output, else
with what goes to its error output.
"""

import asyncio
from typing import ClassVar, Final

import msgspec

from atoll.domain.broker.passage import Refusal
from atoll.runtime.doors.broker.exchange import Requester
from atoll.runtime.doors.broker.tools.own_request import Begin, OwnRequest, Reply
from atoll.runtime.doors.broker.tools.session import Spawn
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.mcp.lines import MAX_LINE_BYTES
from atoll.wire.mcp.messages import one_line

FAILED: Final = 1
_FIELDS: Final = (
    ("Content-Type", "application/json"),
    ("Accept", "application/json, text/event-stream"),
)
_LIST: Final = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


class _Text(msgspec.Struct):
    text: str = ""


class _Result(msgspec.Struct):
    content: list[_Text] = []
    structured: msgspec.Raw = msgspec.field(name="structuredContent", default=msgspec.Raw(b"null"))
    failed: bool = msgspec.field(name="isError", default=False)
    tools: list[msgspec.Raw] = []


class _Error(msgspec.Struct):
    code: int | str = 0
    message: str = ""


class _Answer(msgspec.Struct):
    result: _Result | None = None
    error: _Error | None = None


class ToolScript:
    """A request of a script. `listing` asks for the tools and has no body."""

    half_closes: ClassVar[bool] = False

    def __init__(
        self, client: Requester, begin: Begin, target: str, spawn: Spawn, *, listing: bool
    ) -> None:
        self._client = client
        self._begin = begin
        self._target = target
        self._spawn = spawn
        self._listing = listing
        self._body = bytearray()
        self._task: asyncio.Task[None] | None = None
        self.ended = False

    def asked(self) -> None:
        """Do nothing: the call is made once its arguments are complete."""

    def body(self, data: bytes) -> None:
        """Take a piece of the tool's name and arguments."""
        if self.ended:
            return
        self._body += data
        if len(self._body) > MAX_LINE_BYTES:
            self._body.clear()
            self._refuse(Refusal(413, "too_large", f"a call may have {MAX_LINE_BYTES} bytes here"))

    def body_end(self) -> None:
        """Make the call."""
        if self.ended or self._task is not None:
            return
        line = _LIST if self._listing else _call_line(bytes(self._body))
        if line is None:
            self._refuse(Refusal(400, "invalid", "the arguments are no JSON object"))
        else:
            self._task = self._spawn(self._call(line), "call of a script")

    def raw(self, data: bytes) -> None:
        """Take nothing: this is HTTP."""

    def input_ended(self) -> None:
        """Do nothing, for the same reason."""

    def answer_hold(self, paused: bool) -> None:
        """Do nothing: the answer is one piece."""

    def gone(self) -> None:
        """End with the client."""
        self.ended = True
        if self._task is not None:
            self._task.cancel()

    async def _call(self, line: bytes) -> None:
        reply = await OwnRequest().answered(
            self._begin, "POST", self._target, fields=_FIELDS, body=line
        )
        if self.ended:
            return
        if reply.refusal is not None:
            self._refuse(reply.refusal)
        else:
            self._reply(*_print_answer(reply))

    def _reply(self, code: int, text: bytes) -> None:
        self.ended = True
        head = (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nAtoll-Exit: %d\r\n"
            b"Content-Length: %d\r\nCache-Control: no-store\r\n\r\n" % (code, len(text))
        )
        self._client.reply_data(self._client.reply_head(head, raw=False) + text)
        self._client.reply_end(close=False)

    def _refuse(self, refusal: Refusal) -> None:
        self._reply(FAILED, f"{refusal.error}: {refusal.message}\n".encode())


def _call_line(body: bytes) -> bytes | None:
    """Return the request for a call, None where its arguments are no object."""
    name, _, arguments = body.partition(b"\0")
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
        called = msgspec.json.encode(name.decode())
    except UNREADABLE:
        return None
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%b,"arguments":%b}}' % (
        called,
        one_line(arguments),
    )


def _print_answer(reply: Reply) -> tuple[int, bytes]:
    """Return the exit status and the text of an answer."""
    try:
        answer = msgspec.json.decode(reply.body, type=_Answer)
    except UNREADABLE:
        answer = _Answer()
    if answer.result is None:
        error = answer.error or _Error(f"status_{reply.status}", "the control plane did not answer")
        return FAILED, _error_text(error)
    result = answer.result
    if result.failed:
        return FAILED, _error_text(_read_failure(result))
    if result.tools:
        return 0, b"".join(bytes(tool) + b"\n" for tool in result.tools)
    value = bytes(result.structured)
    texts = [value] if value != b"null" else [content.text.encode() for content in result.content]
    return 0, b"".join(text.rstrip(b"\n") + b"\n" for text in texts)


def _read_failure(result: _Result) -> _Error:
    try:
        return msgspec.json.decode(result.structured, type=_Error)
    except UNREADABLE:
        return _Error("failed", " ".join(content.text for content in result.content))


def _error_text(error: _Error) -> bytes:
    return f"{error.code}: {error.message}\n".encode()
