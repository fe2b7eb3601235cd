"""Messages of the Model Context Protocol, as much of each as a transport has to know.

The rest of a message passes as it came. A text that becomes a header's value is checked here.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from atoll.wire.http.unreadable import UNREADABLE

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
TRANSPORT_ERROR: Final = -32000
"""The codes of JSON-RPC 2.0 §5.1; the last one is in the range of a server's own."""

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
"""The member of `_meta` by which a request without a session names its revision."""

_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that the header `Mcp-Name` repeats, by method."""

_TOKEN = re.compile(r"[\x21-\x7e]{1,200}")
_MAX_NAME = 2000
_VALUE = re.compile(r"[\x21-\x7e]{1,4096}")
_ID_STARTS = frozenset(bytes([each]) for each in b'"-0123456789')


class _Meta(msgspec.Struct):
    version: msgspec.Raw = msgspec.field(name=VERSION_KEY, default=msgspec.Raw(b'""'))


class _Params(msgspec.Struct):
    meta: _Meta | None = msgspec.field(name="_meta", default=None)
    name: str = ""
    uri: str = ""
    request: msgspec.Raw = msgspec.field(name="requestId", default=msgspec.Raw(b""))


class _Envelope(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw(b"")
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Failure(msgspec.Struct):
    error: msgspec.Raw


class _Initialized(msgspec.Struct):
    version: str = msgspec.field(name="protocolVersion", default="")


class _Result(msgspec.Struct):
    result: _Initialized


@dataclass(frozen=True, slots=True)
class Message:
    """A message: the `line` as it came, and its `id` as spelled there, None where no answer is due.

    `method` is empty in an answer. `version` is the revision that a request without a session
    names. `name` is the tool, prompt or resource, `uri` the resource. `cancels` is the id of the
    request that a notification cancels.
    """

    line: bytes
    id: bytes | None = None
    method: str = ""
    version: str = ""
    name: str = ""
    uri: str = ""
    cancels: bytes | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that is no message, and the error to answer it with."""

    answer: bytes


def read_message(line: bytes) -> Message | Malformed:
    """Read one line. It may nest deeper than any stack and hold bytes that are no UTF-8."""
    try:
        envelope = msgspec.json.decode(line, type=_Envelope)
    except msgspec.ValidationError:
        refused = "a message is one object; batches are not taken"
        return Malformed(error_line(None, INVALID_REQUEST, refused))
    except UNREADABLE:
        return Malformed(error_line(None, PARSE_ERROR, "this line is not JSON that can be read"))
    identity = bytes(envelope.id)
    number = identity if identity[:1] in _ID_STARTS else None
    if not envelope.method and number is None:
        return Malformed(error_line(None, INVALID_REQUEST, "this object has no method and no id"))
    if identity not in (b"", b"null") and number is None:
        return Malformed(error_line(None, INVALID_REQUEST, "an id is a string or a number"))
    if envelope.method and not _TOKEN.fullmatch(envelope.method):
        return Malformed(error_line(number, INVALID_REQUEST, "no method is called so"))
    if not envelope.method:
        # An answer to a request of the server: nothing is due for it.
        return Message(line)
    params = _read_params(envelope.params)
    return Message(
        line,
        number,
        envelope.method,
        version=_version(params.meta),
        name=getattr(params, _NAMED_BY.get(envelope.method, ""), ""),
        uri=params.uri,
        cancels=bytes(params.request) or None,
    )


def _read_params(raw: msgspec.Raw) -> _Params:
    try:
        return msgspec.json.decode(raw, type=_Params)
    except UNREADABLE:
        return _Params()  # the server says what is wrong with them


def _version(meta: _Meta | None) -> str:
    try:
        found = msgspec.json.decode(meta.version, type=str) if meta is not None else ""
    except UNREADABLE:
        return ""
    return found if _TOKEN.fullmatch(found) else ""


def header_text(text: str) -> str:
    """Return a text as the value of a header such as `Mcp-Name`: as it is, or in Base64 behind a
    mark. Empty for one that is too long."""
    if len(text) > _MAX_NAME:
        return ""
    if _TOKEN.fullmatch(text) and not text.startswith("=?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def is_value(text: str) -> bool:
    """Report whether a text, such as the id of a session, may be the value of a header as it is."""
    return _VALUE.fullmatch(text) is not None


def read_error(body: bytes, number: bytes | None) -> bytes | None:
    """Return the line of an error that a server answered, for the request `number`; None where the
    body is no such error."""
    try:
        error = msgspec.json.decode(body, type=_Failure).error
    except UNREADABLE:
        return None
    return _build_answer(number, b'"error":' + bytes(error)) if bytes(error)[:1] == b"{" else None


def read_version(body: bytes) -> str:
    """Return the revision that a server agreed to; empty where the answer names none."""
    try:
        found = msgspec.json.decode(body, type=_Result).result.version
    except UNREADABLE:
        return ""
    return found if _TOKEN.fullmatch(found) else ""


def error_line(
    number: bytes | None, code: int, message: str, data: Mapping[str, str] | None = None
) -> bytes:
    """Return an error as a line without its end."""
    error: dict[str, object] = {"code": code, "message": message}
    if data:
        error["data"] = data
    return _build_answer(number, b'"error":' + msgspec.json.encode(error))


def request_line(number: bytes | None, method: str, params: Mapping[str, object]) -> bytes:
    """Return a request as a line without its end; a notification without a `number`."""
    told = b'"method":%b,"params":%b' % (msgspec.json.encode(method), msgspec.json.encode(params))
    if number is None:
        return b'{"jsonrpc":"2.0",' + told + b"}"
    return _build_answer(number, told)


def one_line(body: bytes) -> bytes:
    """Return a JSON text as one line: ends of lines stand between its tokens only."""
    return body.translate(_SPACES)


def _build_answer(number: bytes | None, rest: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,%b}' % (number or b"null", rest)


_SPACES = bytes.maketrans(b"\r\n", b"  ")
