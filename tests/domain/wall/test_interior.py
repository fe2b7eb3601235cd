"""Limits of sandboxes whose profile names none."""

import pytest

from atoll.domain.wall.interior import default_cpu_millis


@pytest.mark.parametrize(("cores", "millis"), [(1, 500), (2, 1500), (64, 63_500)])
def test_processor_time_by_default_leaves_half_a_core(cores: int, millis: int) -> None:
    assert default_cpu_millis(cores) == millis
