import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Conflict, Invalid
from atoll.domain.workers.ingest import Batch, Intake, Source, take_batch


def test_gap_takes_nothing_and_answers_the_number_expected() -> None:
    source = Source(1, 5)
    assert take_batch(source, Batch(1, 6, 3)) == Intake(source, 0, 0)


@pytest.mark.parametrize("epoch", [1, 3])
def test_another_epoch_is_a_stale_lease(epoch: int) -> None:
    with pytest.raises(Conflict) as refusal:
        take_batch(Source(2), Batch(epoch, 1, 1))
    assert refusal.value.code == "stale_lease"


def test_number_below_one_is_invalid() -> None:
    with pytest.raises(Invalid):
        take_batch(Source(1), Batch(1, 0, 1))


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 10)), max_size=40))
def test_items_are_taken_once_and_in_order(batches: list[tuple[int, int]]) -> None:
    source, taken = Source(1), list[int]()
    for first, count in batches:
        items = range(first, first + count)
        intake = take_batch(source, Batch(1, first, count))
        taken += items[intake.skip : intake.skip + intake.taken]
        source = intake.source
        assert taken == list(range(1, source.expected))


def test_batch_that_came_before_is_taken_from_where_the_log_ends() -> None:
    source = Source(1, 5)
    assert take_batch(source, Batch(1, 3, 4)) == Intake(Source(1, 7), 2, 2)
    assert take_batch(source, Batch(1, 1, 2)) == Intake(source, 2, 0)
