"""Schemas of declared types."""

from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, field

from atoll.surfaces.http.serving.schemas import Schemas
from atoll.wire.api.annotations import Unshown
from atoll.wire.api.fields import Seconds, SecondsOrZero
from atoll.wire.api.operation import Answer, PartialAnswer, Request


class Colour(StrEnum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Sail(Request):
    """A sail."""

    area: int = 3
    colour: Colour | None = None


class Boat(Request):
    """A boat."""

    name: Annotated[str, Meta(min_length=1)]
    colour: Colour | None = None
    tags: list[str] = field(default_factory=list)
    sail: Sail = field(default_factory=Sail)
    crew: int = 2
    oars: Annotated[list[int], Meta(max_length=9), Unshown()] = field(default_factory=list)


class BoatView(Answer):
    """A boat."""

    name: str
    captain: str | None = None


class Wreck(PartialAnswer):
    """A wreck."""

    name: str
    depth: int = 0


NULL = {"type": "null"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (
            Annotated[int, Meta(ge=1, lt=9)],
            {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
        ),
        (float | None, {"anyOf": [{"type": "number"}, NULL]}),
        (Annotated[str, Meta(pattern=r"^a\Z")], {"type": "string", "pattern": "^a$"}),
        (
            Annotated[Annotated[str, Meta(max_length=3)] | None, Meta(description="A word.")],
            {"anyOf": [{"type": "string", "maxLength": 3}, NULL], "description": "A word."},
        ),
        (
            Annotated[list[str], Meta(max_length=3)],
            {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        ),
        (Literal["b", "a"], {"enum": ["b", "a"], "type": "string"}),
        (Literal[0], {"const": 0, "type": "integer"}),
        (dict[str, Any], {"type": "object", "additionalProperties": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Any, {}),
    ],
)
def test_schema_of_a_type(annotation: Any, schema: dict[str, Any]) -> None:
    assert Schemas().of(annotation) == schema


def test_body_names_what_is_required_and_the_defaults_of_the_rest() -> None:
    schemas = Schemas()
    assert schemas.of(Boat) == {"$ref": "#/components/schemas/Boat"}
    boat = schemas.named["Boat"]
    assert boat["required"] == ["name"]
    assert boat["additionalProperties"] is False
    assert boat["properties"]["crew"] == {"type": "integer", "default": 2}
    assert boat["properties"]["tags"]["default"] == []
    assert boat["properties"]["sail"]["default"] == {"area": 3}
    assert "default" not in boat["properties"]["colour"]
    assert boat["properties"]["oars"] == {
        "type": "array",
        "items": {"type": "integer"},
        "maxItems": 9,
    }
    assert schemas.named["Colour"]["enum"] == ["red", "blue"]


def test_answer_always_has_every_field_and_a_partial_one_those_without_a_default() -> None:
    schemas = Schemas()
    schemas.of(BoatView)
    schemas.of(Wreck)
    assert schemas.named["BoatView"]["required"] == ["name", "captain"]
    assert schemas.named["Wreck"]["required"] == ["name"]


def test_duration_is_a_number_or_text_and_may_be_zero() -> None:
    duration, with_zero = Schemas().of(Seconds), Schemas().of(SecondsOrZero)
    assert [one["type"] for one in duration["anyOf"]] == ["integer", "string"]
    assert with_zero["anyOf"][0] == {"const": 0, "type": "integer"}
    assert with_zero["anyOf"][1] == duration
