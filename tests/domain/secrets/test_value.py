import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.secrets.value import MAX_BYTES, check_value, last4
from atoll.wire.words.secrets import Purpose

GOOD = "sk-proj-9fK2mQx7Lw"


@pytest.mark.parametrize("value", [GOOD, "hunter2!Xy", "correct horse battery", "4f1c9a2b7d"])
def test_value_with_something_to_it_is_taken(value: str) -> None:
    assert check_value(value, Purpose.CUSTOM) == value


def test_long_and_multi_line_values_are_for_variables() -> None:
    key = "-----BEGIN KEY-----\nMIIB7q\tzz\r\n-----END KEY-----\n"
    assert check_value(key, Purpose.ENV) == key
    assert check_value("ä" * 10 + GOOD, Purpose.ENV)
    for purpose in (Purpose.CUSTOM, Purpose.PROVIDER, Purpose.GIT):
        with pytest.raises(Invalid, match="one line"):
            check_value(key, purpose)


@pytest.mark.parametrize(
    "value",
    [
        "", "e", "short1!", " " * 8, "password", "PassWord", " password ", "aaaaaaaa", "abcabcabc",
        "abcdefghij", "98765432", "--------", "ababababab", "/workspace", "terminal", "functions",
        "undefined", "12345678", "aaaaaaab",
    ],
)  # fmt: skip
def test_value_that_would_blank_ordinary_output_is_refused(value: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_value(value, Purpose.ENV)
    assert caught.value.field == "value"


@pytest.mark.parametrize(
    "value", [GOOD + "\0", GOOD + "\x1b[2J", GOOD + "\x7f", GOOD + "\ud800", "x9" * MAX_BYTES]
)
def test_value_that_cannot_be_one_is_refused(value: str) -> None:
    with pytest.raises(Invalid):
        check_value(value, Purpose.ENV)


@given(st.text(max_size=80))
def test_shown_end_is_never_more_than_a_third(value: str) -> None:
    shown = last4(value)
    assert len(shown) <= 4
    assert not shown or len(value) >= 12
    assert shown.isascii() and shown.isprintable()


@given(st.text(alphabet="qxzQXZ0189~^", min_size=4, max_size=60))
def test_no_refusal_quotes_the_value(value: str) -> None:
    try:
        check_value(value, Purpose.CUSTOM)
    except Invalid as refused:
        assert value not in refused.message


def test_shown_end_of_a_long_value_is_four_letters() -> None:
    assert last4("sk-" + "a1B2" * 8 + "w\tyz") == "w?yz"
    assert last4("short") == ""
