"""Bodies of requests to `/mcp`, read within bounds before the SDK parses them.

A request is counted before its body is read. What it may hold is small for all but calls of tools
that take long texts, and it is looked at without being parsed: parsed, a body of nothing but
brackets takes fifty times its own memory.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive

from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.json_shape import Misshapen, check_shape

MAX_BODY_BYTES: Final = 4 * 1024 * 1024
USUAL_BYTES: Final = 64 * 1024
"""The bytes of a request that calls no tool with longer arguments."""

MAX_VALUES: Final = 2000
READ_SECONDS: Final = 15.0
LARGE_AT_ONCE: Final = 8
"""The bodies beyond `USUAL_BYTES` that are read at a time, whoever sends them."""

JSON_TYPE: Final = "application/json"
CALL: Final = "tools/call"
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600


class _Params(msgspec.Struct):
    """The part of a call's parameters that names the tool."""

    name: str = ""


class _Head(msgspec.Struct):
    """The part of a JSON-RPC message that is read before the SDK reads it."""

    method: str = ""


class _Call(msgspec.Struct):
    """A message that calls a tool."""

    params: _Params = msgspec.field(default_factory=_Params)


class Refusal(Exception):
    """A body that is not read or not passed on. `answer` says why."""

    def __init__(self, status: int, text: str, code: int = INVALID_REQUEST) -> None:
        super().__init__(text)
        self.answer = refuse(status, text, code)


class BodyReader:
    """Reads bodies. `bytes_of` returns the most bytes of a call of a tool, by its name."""

    def __init__(self, bytes_of: Callable[[str], int]) -> None:
        self._bytes_of = bytes_of
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def read(
        self, headers: Headers, receive: Receive, counted: AbstractContextManager[None]
    ) -> bytes:
        """Return the body of a request, empty where the client left. It counts while it is read.
        Raises `Refusal`, and what `counted` raises."""
        if not headers.get("content-type", "").lower().startswith(JSON_TYPE):
            raise Refusal(415, f"Unsupported Media Type: send {JSON_TYPE}")
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > MAX_BODY_BYTES:
            raise Refusal(413, "Request body too large")
        with counted:
            try:
                async with asyncio.timeout(READ_SECONDS):
                    body = await self._read_body(receive)
            except TimeoutError:
                raise Refusal(408, "The body did not arrive in time") from None
            self._check(body)
        return body

    async def _read_body(self, receive: Receive) -> bytes:
        """Return a body; one that is large waits for a place before more of it is read."""
        parts, size, has_place = [], 0, False
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return b""
                part: bytes = message.get("body", b"")
                size += len(part)
                if size > MAX_BODY_BYTES:
                    raise Refusal(413, "Request body too large")
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
                if size > USUAL_BYTES and not has_place:
                    await self._large.acquire()
                    has_place = True
        finally:
            if has_place:
                self._large.release()

    def _check(self, body: bytes) -> None:
        try:
            check_shape(body, values=MAX_VALUES)
        except Misshapen as error:
            raise Refusal(400, f"Parse error: {error}", PARSE_ERROR) from error
        most = USUAL_BYTES
        if len(body) > most and method_of(body) == CALL:
            most = max(most, self._bytes_of(_tool_of(body)))
        if len(body) > most:
            raise Refusal(413, f"Request body too large: it may have {most} bytes")


def is_short(headers: Headers) -> bool:
    """Report whether a request says that its body is short."""
    declared = headers.get("content-length", "")
    return declared.isdecimal() and int(declared[:20]) <= USUAL_BYTES


def method_of(body: bytes) -> str:
    """Return the method of a message; empty for one that is none, of which the SDK says why."""
    try:
        return msgspec.json.decode(body, type=_Head).method
    except UNREADABLE:
        return ""


def _tool_of(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Call).params.name
    except UNREADABLE:
        return ""


def refuse(status: int, text: str, code: int = INVALID_REQUEST) -> Response:
    """Return an answer with an error of JSON-RPC."""
    error = {"code": code, "message": text}
    told = {"jsonrpc": "2.0", "id": None, "error": error}
    return Response(msgspec.json.encode(told), status, media_type=JSON_TYPE)
