"""Strict reading of JSON bodies: bounded, shallow, unambiguous.

Python's own reader accepts NaN, repeated names and lone surrogates. Here each is refused with a
sentence, before any model sees it.
"""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from atoll.domain.errors import Invalid, LimitReached
from atoll.wire.json_shape import MAX_VALUES, Misshapen, check_shape

MAX_JSON_BYTES = 1024 * 1024
HELD: Final = "atoll.held"
"""The ASGI extension by which the server is told how many bytes of a body are kept."""

_SHOWN = 80
_HALF = re.compile("[\ud800-\udfff]")


def parse(data: bytes, max_values: int = MAX_VALUES) -> Any:
    """Parse JSON text to values. Raises `Invalid` with the reason and, where known, the name."""
    try:
        check_shape(data, values=max_values)
    except Misshapen as error:
        raise Invalid(f"the body is too large: {error}", field="body") from error
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_finite)
    except UnicodeDecodeError as error:
        raise Invalid(f"the body is not UTF-8 at byte {error.start}", field="body") from error
    except json.JSONDecodeError as error:
        sentence = f"the body is not JSON: {error.msg} at character {error.pos}"
        raise Invalid(sentence, field="body") from error
    except (RecursionError, ValueError) as error:
        # ValueError: a number of thousands of digits, which Python refuses to read.
        sentence = "the body is nested too deeply or has a number too long"
        raise Invalid(sentence, field="body") from error
    _check(value)
    return value


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Return a whole body of at most `max_bytes`.

    Raises `LimitReached` (`too_large`) past that, before reading when the client announces it.
    """
    check_declared(request, max_bytes)
    note_held = request.scope.get("extensions", {}).get(HELD)
    parts = bytearray()
    async for part in stream_body(request, max_bytes):
        parts += part
        if note_held is not None:
            note_held(len(parts))
    return bytes(parts)


async def stream_body(request: Request, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield a body as it arrives. Raises `LimitReached` (`too_large`) once past `max_bytes`."""
    total = 0
    try:
        async for part in request.stream():
            total += len(part)
            if total > max_bytes:
                raise _too_large(max_bytes)
            if part:
                yield part
    except ClientDisconnect as error:
        raise Invalid(
            "the connection broke before the whole body had arrived: send it again", field="body"
        ) from error


def check_declared(request: Request, max_bytes: int) -> None:
    """Refuse a body by its Content-Length alone."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared[:20]) > max_bytes:
        raise _too_large(max_bytes)


def _too_large(max_bytes: int) -> LimitReached:
    return LimitReached(f"the body is larger than {max_bytes} bytes", code="too_large")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        # Not by counting each name: a body of names would take the square of their number.
        count = Counter(name for name, _ in pairs)
        again = next(name for name, times in count.items() if times > 1)
        raise Invalid(f"{again[:_SHOWN]!r} is given twice: give it once", field="body")
    return values


def _finite(name: str) -> Any:
    raise Invalid(f"{name} is not a JSON number: give a finite one", field="body")


def _check(value: Any) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, list):
        for item in value:
            _check(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_text(name)
            _check(item)


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise Invalid("a text contains a NUL character: remove it", field="body")
    if not text.isascii() and _HALF.search(text):
        raise Invalid(
            "a text contains half of a surrogate pair, which is not valid Unicode", field="body"
        )
