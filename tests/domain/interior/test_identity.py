"""What names a sandbox to the programs inside."""

import re
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.interior.identity import generation_text, machine_id_text


@given(st.sets(st.text(), min_size=2, max_size=20))
def test_machine_ids_are_of_one_sandbox_and_of_the_form_of_random_ones(ids: set[str]) -> None:
    texts = {machine_id_text(each) for each in ids}
    assert len(texts) == len(ids)
    assert texts == {machine_id_text(each) for each in ids}
    for text in texts:
        assert re.fullmatch(r"[0-9a-f]{32}\n", text)
        assert UUID(text.strip()).version == 4


def test_machine_id_never_changes() -> None:
    """A sandbox that was made by an earlier version keeps its own."""
    assert machine_id_text("sb_heron") == "0d1616d1e284476fab8fc48de2daca61\n"


def test_generation_is_what_was_random() -> None:
    assert generation_text(bytes(range(16))) == "000102030405060708090a0b0c0d0e0f\n"
