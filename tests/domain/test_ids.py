import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.ids import ID_ENTROPY_BYTES, spell


@given(st.binary(min_size=ID_ENTROPY_BYTES, max_size=ID_ENTROPY_BYTES))
def test_spell_is_prefix_and_sixteen_lower_case_characters(entropy: bytes) -> None:
    prefix, _, rest = spell("sb", entropy).partition("_")
    assert prefix == "sb"
    assert len(rest) == 16
    assert rest.isalnum()
    assert rest == rest.lower()


def test_spell_too_little_randomness_is_refused() -> None:
    with pytest.raises(ValueError, match="random bytes"):
        spell("sb", b"short")


def test_spell_of_zeros_is_sixteen_letters() -> None:
    assert spell("sb", bytes(ID_ENTROPY_BYTES)) == "sb_" + "a" * 16
