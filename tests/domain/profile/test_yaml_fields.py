"""Refusals of a file are said all at once, up to a number of them."""

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.profile.yaml_fields import MAX_REFUSALS, Refusals


@pytest.mark.parametrize(("count", "said"), [(2, 2), (MAX_REFUSALS + 3, MAX_REFUSALS)])
def test_refusals_are_said_at_once_and_the_rest_counted(count: int, said: int) -> None:
    refusals = Refusals()
    for number in range(count):
        with refusals.collected():
            raise Invalid(f"Field {number} is wrong.", field=f"f{number}")
    with pytest.raises(Invalid) as refused:
        refusals.check()
    assert refused.value.field == "f0"
    assert refused.value.message.count("is wrong.") == said
    assert ("There are 3 more." in refused.value.message) == (count > said)


def test_file_without_a_refusal_passes() -> None:
    Refusals().check()
