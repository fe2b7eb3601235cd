import json
from typing import Any

import pytest

from atoll.client import fields, shapes
from atoll.client.fields import Field, Shape
from atoll.domain.errors import Failed
from tests.places import ROOT

SCHEMAS = json.loads((ROOT / "docs" / "openapi.json").read_text())["components"]["schemas"]
SHAPES = [
    found
    for found in vars(shapes).values()
    if isinstance(found, type) and issubclass(found, Shape) and found is not Shape
]


def _schema(shape: type[Shape]) -> dict[str, Any]:
    named = [word for word in (shape.__doc__ or "").split("`") if word in SCHEMAS]
    schema: dict[str, Any] = SCHEMAS[named[0] if named else shape.__name__]
    return schema


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_field_of_a_shape_is_in_its_schema(shape: type[Shape]) -> None:
    read = {name for name, field in vars(shape).items() if isinstance(field, Field)}
    assert read
    assert read <= _schema(shape)["properties"].keys()


class Example(Shape):
    name = fields.text()
    count = fields.number()


def test_a_field_that_is_absent_or_null_is_empty() -> None:
    assert (Example({}).name, Example({"count": None}).count) == ("", 0)


def test_a_field_of_the_wrong_type_fails_when_it_is_read() -> None:
    example = Example({"name": 3, "count": 4})
    assert example.count == 4
    with pytest.raises(Failed, match="`name` with int where a string belongs"):
        _ = example.name


def test_what_is_not_named_passes_through() -> None:
    assert Example({"more": [1]}).value == {"more": [1]}
