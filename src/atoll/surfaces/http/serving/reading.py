"""Strict reading of the parameters and bodies of declared operations.

What fits is converted by msgspec; `findings` says what is wrong with the rest.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
from starlette.requests import Request

from atoll.domain.errors import Invalid
from atoll.surfaces.http.body.json_body import MAX_JSON_BYTES, parse, read_body
from atoll.surfaces.http.serving.findings import Finding, findings_of, read_duration
from atoll.wire.api.annotations import kind_of, only_member
from atoll.wire.api.fields import MAX_WAIT_SECONDS, Waiting
from atoll.wire.api.operation import REQUIRED, Parameter, Parameters, Place
from atoll.wire.json_shape import MAX_VALUES

MAX_FINDINGS: Final = 1000
"""The findings in a body that are counted: a wrong one may have fifty thousand."""

NOTHING: Final = object()
"""The value of what is not given."""

_HEAD: Final = (Place.PATH, Place.QUERY, Place.HEADER)
"""The parts of a request's head, in the order in which they are looked at."""

DEFAULT_WAIT_SECONDS: Final = 60.0
_PREFER_WAIT: Final = re.compile(r"\s*wait\s*=\s*\"?([0-9]{1,6})\"?\s*\Z", re.IGNORECASE)
_TRUE: Final = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE: Final = frozenset({"0", "false", "f", "no", "n", "off"})
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,4300}")
_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?"
)


class RequestReader:
    """Reader of the arguments of one operation. A body has at most `max_bytes` and `max_values`,
    the usual bounds where None."""

    def __init__(
        self,
        parameters: Sequence[Parameter],
        *,
        max_bytes: int | None = None,
        max_values: int | None = None,
    ) -> None:
        self._max_bytes = max_bytes or MAX_JSON_BYTES
        self._max_values = max_values or MAX_VALUES
        self._in_head = [one for place in _HEAD for one in parameters if one.place is place]
        self._body = next((one for one in parameters if one.place is Place.BODY), None)

    async def read(self, request: Request) -> tuple[dict[str, Any], Any]:
        """Return the arguments by name, and the JSON of the body. Raises `Invalid` with the first
        finding, and `LimitReached` for a body that is too large."""
        body = NOTHING if self._body is None else await self._json_of(request)
        arguments: dict[str, Any] = {}
        groups: dict[tuple[str, type[Parameters]], dict[str, Any]] = {}
        wrong_groups: set[str] = set()
        findings: list[Finding] = []
        for one in self._in_head:
            value, wrong = _read_head(request, one)
            findings += wrong
            if one.group is None:
                arguments[one.name] = value
            else:
                groups.setdefault((one.argument, one.group), {})[one.name] = value
                wrong_groups |= {one.argument} if wrong else set()
        for (name, group), values in groups.items():
            if name not in wrong_groups:
                arguments[name] = group(**values)
                _check_group(arguments[name])
        if self._body is not None:
            arguments[self._body.name], wrong = _read_body(self._body, body)
            findings += wrong
        if findings:
            raise invalid(findings)
        return arguments, body

    async def _json_of(self, request: Request) -> Any:
        """Return the value of a body; `NOTHING` where there is none."""
        data = await read_body(request, self._max_bytes)
        return parse(data, self._max_values) if data else NOTHING


def _check_group(parameters: Parameters) -> None:
    """Check parameters that go together. Raises `Invalid` whatever else is wrong."""
    if isinstance(parameters, Waiting):
        longest_wait(parameters)


def longest_wait(waiting: Waiting) -> float | None:
    """Return the seconds to wait at most for the result, by `?wait=…&timeout=…` or `Prefer:
    wait=…`; None: not at all. Raises `Invalid`."""
    if waiting.wait in {None, "false", "0"} and waiting.timeout is not None:
        raise Invalid("`timeout` is how long to wait at most: send `wait` with it", field="timeout")
    if waiting.wait is None:
        return _parse_prefer_wait(waiting.prefer or "")
    if waiting.wait in {"false", "0"}:
        return None
    if waiting.wait not in {"ready", "true", "1"}:
        raise Invalid("`wait` must be `ready` or `true`", field="wait")
    return waiting.timeout or DEFAULT_WAIT_SECONDS


def _parse_prefer_wait(header: str) -> float | None:
    """Return the wait that a `Prefer` header asks for (RFC 7240)."""
    found = next(filter(None, map(_PREFER_WAIT.match, header.split(","))), None)
    return None if found is None else min(float(found[1]), float(MAX_WAIT_SECONDS))


def named_fields(body: Any, place: Sequence[str]) -> frozenset[str]:
    """Return the names of the object at a place within a body; none where no object is there."""
    value = body
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    return frozenset(value) if isinstance(value, dict) else frozenset()


def invalid(findings: Sequence[Finding]) -> Invalid:
    """Return the error for findings in a request; its `field` is the first of them."""
    first = findings[0]
    field = ".".join(first.path)
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return Invalid(f"{field or 'the body'}: {first.text}{more}", field=field or "body")


def _read_head(request: Request, parameter: Parameter) -> tuple[Any, list[Finding]]:
    """Return a parameter of the head, and what is wrong with it."""
    path = (parameter.key,)
    if parameter.is_list:
        texts = request.query_params.getlist(parameter.key)
        return read_value(parameter.annotation, texts, path) if texts else (parameter.default, [])
    text = _text_of(request, parameter)
    if text is not None:
        return read_text(parameter.annotation, text, path)
    wrong = [Finding(path, "Field required")] if parameter.default is REQUIRED else []
    return parameter.default, wrong


def read_text(annotation: Any, text: str, path: tuple[str, ...]) -> tuple[Any, list[Finding]]:
    """Return a value that was sent as text, and what is wrong with it."""
    kind = kind_of(annotation)
    plain = kind_of(only_member(kind)).plain
    value = _READERS[plain](text) if plain in _READERS else text
    if value is NOTHING:
        return None, [Finding(path, _UNREADABLE[plain])]
    return read_value(annotation, value, path)


def read_value(annotation: Any, value: Any, path: tuple[str, ...]) -> tuple[Any, list[Finding]]:
    """Return a value of JSON as the declared type, and what is wrong with it."""
    try:
        return msgspec.convert(value, annotation, dec_hook=read_duration), []
    except (msgspec.ValidationError, OverflowError):
        findings = [*islice(findings_of(kind_of(annotation), value, path), MAX_FINDINGS)]
        return None, findings or [Finding(path, "Input is not valid")]


def _read_body(body: Parameter, value: Any) -> tuple[Any, list[Finding]]:
    if value is not NOTHING:
        return read_value(body.annotation, value, ())
    if body.default is REQUIRED:
        return None, [Finding((), "Field required")]
    return body.default, []


def _text_of(request: Request, parameter: Parameter) -> str | None:
    """Return a parameter of the head as it was sent, None where it was not."""
    match parameter.place:
        case Place.PATH:
            return str(request.path_params[parameter.key])
        case Place.QUERY:
            return request.query_params.get(parameter.key)
        case Place.HEADER:
            return request.headers.get(parameter.key)
        case Place.BODY | Place.FIELD:
            raise LookupError("a body has no text")


def _parse_integer(text: str) -> Any:
    trimmed = text.strip()
    return int(trimmed) if _WHOLE.fullmatch(trimmed) else NOTHING


def _parse_number(text: str) -> Any:
    trimmed = text.strip()
    return float(trimmed) if _NUMBER.fullmatch(trimmed) else NOTHING


def _boolean(text: str) -> Any:
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else NOTHING


_READERS: Final[Mapping[Any, Callable[[str], Any]]] = {
    int: _parse_integer,
    float: _parse_number,
    bool: _boolean,
}
_UNREADABLE: Final[Mapping[Any, str]] = {
    int: "Input should be a valid integer, unable to parse string as an integer",
    float: "Input should be a valid number, unable to parse string as a number",
    bool: "Input should be a valid boolean, unable to interpret input",
}
