import json

import pytest

from atoll.client import fields, shapes, terminal_shapes
from atoll.client.fields import Field, Shape
from atoll.domain.errors import Failed
from tests.places import ROOT

SCHEMAS = json.loads((ROOT / "docs" / "openapi.json").read_text())["components"]["schemas"]
SHAPES = [
    found
    for found in {**vars(shapes), **vars(terminal_shapes)}.values()
    if isinstance(found, type)
    and issubclass(found, Shape)
    and found not in {Shape, terminal_shapes.Payload}
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_field_of_a_shape_is_in_one_schema_of_the_contract(shape: type[Shape]) -> None:
    read = {name for name, field in vars(shape).items() if isinstance(field, Field)}
    assert read
    assert any(read <= schema.get("properties", {}).keys() for schema in SCHEMAS.values()), read


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
