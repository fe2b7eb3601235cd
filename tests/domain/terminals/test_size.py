import pytest

from atoll.domain.terminals.size import Size, clamp, nudge_size


@pytest.mark.parametrize(
    ("asked", "given"),
    [((80, 24), (80, 24)), ((0, 0), (2, 1)), ((-5, 10**9), (2, 500)), ((5000, 1), (1000, 1))],
)
def test_size_out_of_bounds_is_clamped(asked: tuple[int, int], given: tuple[int, int]) -> None:
    assert clamp(*asked) == Size(*given)


def test_size_nudged_is_one_row_off_and_never_empty() -> None:
    assert nudge_size(Size(80, 24)) == Size(80, 23)
    assert nudge_size(Size(80, 1)) == Size(80, 2)
