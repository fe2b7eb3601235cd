"""Messages of the Model Context Protocol on stdio: one JSON-RPC message a line. Pure.

A message passes as it came; only what HTTP says beside it is read: its method, its revision, and
what it names. Lines are bounded, and what is no message is answered with a JSON-RPC error.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from atoll.client.fields import Json
from atoll.domain.errors import AtollError

MAX_LINE_BYTES: Final = 4 * 1024 * 1024
"""The longest message in bytes, as the server has it."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603
"""Codes of JSON-RPC 2.0, section 5.1."""

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
"""The member of `_meta` with the revision, in those without a handshake."""

_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header `Mcp-Name` repeats, by method."""

_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_LIKE_ENCODED = re.compile(r"=\?base64\?.*\?=")

MessageId = str | int


class BadMessage(Exception):
    """A line that is no message. `code` and `text` are the error that its sender receives."""

    def __init__(self, code: int, text: str, request_id: MessageId | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.request_id = request_id


class Message(NamedTuple):
    """A message as far as it was read. `body` is the whole of it; `id` is None for a notification,
    and `method` is empty for a response."""

    body: bytes
    method: str
    id: MessageId | None
    params: Mapping[str, Json]
    value: Mapping[str, Json]

    @property
    def is_request(self) -> bool:
        """Report whether it needs an answer."""
        return bool(self.method) and self.id is not None

    @property
    def version(self) -> str | None:
        """Return the revision that it names, None in those with a handshake."""
        meta = self.params.get("_meta")
        version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
        return version if isinstance(version, str) else None

    def names(self, name: str) -> str:
        """Return a parameter that is text; empty for any other."""
        parameter = self.params.get(name)
        return parameter if isinstance(parameter, str) else ""


class Lines:
    """Lines out of bytes as they come. None stands for a line beyond the bound, which is dropped
    while it comes."""

    def __init__(self, longest: int = MAX_LINE_BYTES) -> None:
        self._longest = longest
        self._pending = bytearray()
        self._too_long = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """Take bytes; yield the lines that they end, without empty ones."""
        *ended, begun = data.split(b"\n")
        for piece in ended:
            self._add(piece)
            yield from self.rest()
        self._add(begun)

    def rest(self) -> Iterator[bytes | None]:
        """End the line; yield it unless it is empty."""
        line, too_long = bytes(self._pending).strip(), self._too_long
        self._pending, self._too_long = bytearray(), False
        if too_long:
            yield None
        elif line:
            yield line

    def _add(self, piece: bytes) -> None:
        if self._too_long or len(self._pending) + len(piece) > self._longest:
            self._pending.clear()
            self._too_long = True
        else:
            self._pending += piece


def read_message(line: bytes) -> Message:
    """Return the message of a line. Raises `BadMessage`."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        raise BadMessage(PARSE_ERROR, "this line is not JSON") from None
    if isinstance(value, list):
        raise BadMessage(INVALID_REQUEST, "batches are not taken: send one message a line")
    if not isinstance(value, dict):
        raise BadMessage(INVALID_REQUEST, "a message is an object")
    named, method, params = value.get("id"), value.get("method", ""), value.get("params")
    known = named if isinstance(named, str | int) and not isinstance(named, bool) else None
    if value.get("jsonrpc") != "2.0":
        raise BadMessage(INVALID_REQUEST, "a message has `jsonrpc` 2.0", known)
    if known is None and "id" in value and method:
        raise BadMessage(INVALID_REQUEST, "the id of a request is a string or a whole number")
    if not isinstance(method, str) or not (method or "result" in value or "error" in value):
        raise BadMessage(INVALID_REQUEST, "a message has a method, a result or an error", known)
    return Message(line, method, known, params if isinstance(params, dict) else {}, value)


def headers_of(message: Message) -> dict[str, str]:
    """Return the headers that repeat what a message of a revision without a handshake says; none
    for those with one. Raises `BadMessage` for what no header can say."""
    version = message.version
    if version is None:
        return {}
    if not _PLAIN.fullmatch(version):
        raise BadMessage(INVALID_REQUEST, f"{VERSION_KEY} is no revision", message.id)
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": _header(message, message.method)}
    name = message.params.get(_NAMED_BY.get(message.method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = _header(message, name)
    return headers


def _header(message: Message, text: str) -> str:
    """Return text as a header says it, by the rule of revision 2026-07-28."""
    if _PLAIN.fullmatch(text) and not _LIKE_ENCODED.fullmatch(text):
        return text
    try:
        return f"=?base64?{b64encode(text.encode()).decode()}?="
    except UnicodeEncodeError:
        raise BadMessage(INVALID_REQUEST, "a name has half a character", message.id) from None


def one_line(body: bytes) -> Message:
    """Return a message of the server so that its body is one line. Raises `BadMessage`."""
    message = read_message(body.strip())
    if b"\n" in message.body or b"\r" in message.body:
        return message._replace(body=json.dumps(message.value).encode())
    return message


def error_line(request_id: MessageId | None, code: int, text: str, data: Json = None) -> bytes:
    """Return a JSON-RPC error as a line without its end."""
    error: dict[str, Json] = {"code": code, "message": text}
    if data is not None:
        error["data"] = data
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()


def failure_line(request_id: MessageId | None, error: AtollError) -> bytes:
    """Return an error of ours as a line: its own code is in `data`."""
    return error_line(request_id, INTERNAL_ERROR, error.message, {"code": error.code})
