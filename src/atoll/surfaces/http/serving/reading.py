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
from atoll.wire.api.operation import REQUIRED, Parameter, Parameters, Place

MAX_FINDINGS: Final = 1000
"""The findings in a body that are counted: a wrong one may have fifty thousand."""

NOTHING: Final = object()
"""The value of what is not given."""

_HEAD: Final = (Place.PATH, Place.QUERY, Place.HEADER)
"""The parts of a request's head, in the order in which they are looked at."""

_TRUE: Final = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE: Final = frozenset({"0", "false", "f", "no", "n", "off"})
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,4300}")
_NUMBER: Final = re.compile(
    r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,4})?"
)


class RequestReader:
    """Reader of the arguments of one operation."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._in_head = [one for place in _HEAD for one in parameters if one.place is place]
        self._body = next((one for one in parameters if one.place is Place.BODY), None)

    async def read(self, request: Request) -> dict[str, Any]:
        """Return the arguments by name. Raises `Invalid` with the first finding, and `LimitReached`
        for a body that is too large."""
        body = NOTHING if self._body is None else await _json_of(request)
        arguments: dict[str, Any] = {}
        groups: dict[tuple[str, type[Parameters]], dict[str, Any]] = {}
        findings: list[Finding] = []
        for one in self._in_head:
            value, wrong = _read_head(request, one)
            findings += wrong
            if one.group is None:
                arguments[one.name] = value
            else:
                groups.setdefault((one.argument, one.group), {})[one.name] = value
        if self._body is not None:
            arguments[self._body.name], wrong = _read_body(self._body, body)
            findings += wrong
        if findings:
            raise invalid(findings)
        return arguments | {name: group(**values) for (name, group), values in groups.items()}


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


async def _json_of(request: Request) -> Any:
    """Return the value of a body; `NOTHING` where there is none."""
    data = await read_body(request, MAX_JSON_BYTES)
    return parse(data) if data else NOTHING


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


def _whole(text: str) -> Any:
    trimmed = text.strip()
    return int(trimmed) if _WHOLE.fullmatch(trimmed) else NOTHING


def _number(text: str) -> Any:
    trimmed = text.strip()
    return float(trimmed) if _NUMBER.fullmatch(trimmed) else NOTHING


def _boolean(text: str) -> Any:
    word = text.lower()
    return True if word in _TRUE else False if word in _FALSE else NOTHING


_READERS: Final[Mapping[Any, Callable[[str], Any]]] = {int: _whole, float: _number, bool: _boolean}
_UNREADABLE: Final[Mapping[Any, str]] = {
    int: "Input should be a valid integer, unable to parse string as an integer",
    float: "Input should be a valid number, unable to parse string as a number",
    bool: "Input should be a valid boolean, unable to interpret input",
}
