"""Errors: what a record says that has no place for the field."""

import pytest

from atoll.domain.errors import AtollError, Invalid


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Invalid("it is too long"), "it is too long"),
        (Invalid("it is too long", field="name"), "name: it is too long"),
        (Invalid("the name is too long", field="name"), "the name is too long"),
    ],
)
def test_reason_names_the_field_once(error: AtollError, reason: str) -> None:
    assert error.reason == reason
