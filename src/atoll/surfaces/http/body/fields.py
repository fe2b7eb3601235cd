"""Inputs that many routes share: texts with bounds, durations, and how long to wait.

Only their shape is checked here; the domain checks the content of names and requests.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import cache, partial
from typing import Annotated, Any, Final, get_args

from fastapi import Path
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)

from atoll.domain.duration import parse_duration
from atoll.services.identifiers import checked_id
from atoll.surfaces.http.body.answers import instant
from atoll.wire.contract.call import PathId


class Body(BaseModel):
    """A JSON object from a client: unknown fields are refused. Its texts, numbers and booleans are
    declared strict, so that nothing is coerced; words of an enum are looked up."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ResponseModel(BaseModel):
    """A JSON object of a response: every field is documented, and always sent. Values of the domain
    stand in it as they are, where their members are those of the API."""

    model_config = ConfigDict(
        extra="forbid", defer_build=True, json_schema_serialization_defaults_required=True
    )

    @classmethod
    def of(cls, source: object, **given: object) -> dict[str, Any]:
        """Return an object's members: the given ones as they are, the others from the attributes of
        `source` with their names."""
        return {
            alias: given[name] if name in given else _member(getattr(source, name), view)
            for name, alias, view in _members(cls)
        }


class Partial(ResponseModel):
    """A JSON object of a response that leaves members out where they say nothing."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)


def _member(value: Any, view: type[ResponseModel] | None) -> Any:
    if isinstance(value, datetime):
        return instant(value)
    if view is None or value is None:
        return value
    return [view.of(one) for one in value] if isinstance(value, list | tuple) else view.of(value)


@cache
def _members(shown: type[ResponseModel]) -> list[tuple[str, str, type[ResponseModel] | None]]:
    """Return each field's name, its name in JSON, and the view of its objects."""
    return [
        (name, field.alias or name, next(_views(field.annotation), None))
        for name, field in shown.model_fields.items()
    ]


def _views(kind: Any) -> Iterator[type[ResponseModel]]:
    if isinstance(kind, type) and issubclass(kind, ResponseModel):
        yield kind
    for one in get_args(kind):
        yield from _views(one)


DURATION_PATTERN: Final = (
    "^(?:[1-9][0-9]{0,2}d(?:[0-9]{1,2}h)?(?:[0-9]{1,2}m)?(?:[0-9]{1,2}s)?"
    "|[1-9][0-9]{0,3}h(?:[0-9]{1,2}m)?(?:[0-9]{1,2}s)?"
    "|[1-9][0-9]{0,4}m(?:[0-9]{1,2}s)?|[1-9][0-9]{0,6}s)$"
)
"""The durations that clients may send as text; the maximum of a year is checked separately."""

Word = Annotated[str, Field(min_length=1, max_length=200, strict=True)]
"""A short text."""

Seconds = Annotated[
    StrictInt | StrictStr,
    AfterValidator(parse_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": 31_536_000},
                {"type": "string", "pattern": DURATION_PATTERN},
            ],
            "description": "Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.",
            "examples": ["4h"],
        }
    ),
]
"""A duration on input, seconds inside."""

ItemId = Annotated[str, Path(min_length=1, max_length=200)]
_ID = Path(min_length=1, max_length=200)
RecordingId = Annotated[PathId, _ID, AfterValidator(partial(checked_id, noun="recording"))]
