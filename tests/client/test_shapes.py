import pytest

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.domain.errors import Failed


class Example(Shape):
    name = fields.text()
    count = fields.number()
    ports = fields.numbers()
    cores = fields.decimal()
    labels = fields.named_texts()


def test_a_field_that_is_absent_or_null_is_empty() -> None:
    assert (Example({}).name, Example({"count": None}).count) == ("", 0)


def test_a_field_of_the_wrong_type_fails_when_it_is_read() -> None:
    example = Example({"name": 3, "count": 4})
    assert example.count == 4
    with pytest.raises(Failed, match="`name` with int where a string belongs"):
        _ = example.name
    assert Example({"ports": [80]}).ports == [80]
    with pytest.raises(Failed, match="`ports` with list where a list of numbers belongs"):
        _ = Example({"ports": ["http"]}).ports


def test_what_is_not_named_passes_through() -> None:
    assert Example({"more": [1]}).value == {"more": [1]}


def test_a_decimal_is_none_when_it_is_absent_and_no_text() -> None:
    assert (Example({}).cores, Example({"cores": 2}).cores) == (None, 2.0)
    with pytest.raises(Failed, match="`cores` with str where a number belongs"):
        _ = Example({"cores": "2"}).cores


def test_named_texts_are_empty_when_they_are_absent_and_an_object_else() -> None:
    assert (Example({}).labels, Example({"labels": {"a": "b"}}).labels) == ({}, {"a": "b"})
    with pytest.raises(Failed, match="`labels` with list where an object belongs"):
        _ = Example({"labels": []}).labels
