import pytest

from atoll.domain.wall.isolation import Isolation, reaches, shortfall
from atoll.wire.words.walls import IsolationLevel

NONE, POLICY, CONTAINER, MICROVM = IsolationLevel


def _wall(level: IsolationLevel, *missing: str) -> Isolation:
    return Isolation(level, "test", tuple(f"{name}: not here" for name in missing))


@pytest.mark.parametrize(
    ("wall", "weak"),
    [
        (_wall(NONE), True),
        (_wall(POLICY), True),
        (_wall(CONTAINER), False),
        (_wall(MICROVM), False),
        (_wall(CONTAINER, "cpu", "swap", "root"), False),
        (_wall(CONTAINER, "cpu", "memory"), True),
        (_wall(CONTAINER, "uid"), True),
        (_wall(CONTAINER, "pids"), True),
        (_wall(CONTAINER, "disk"), True),
        (_wall(CONTAINER, "daemon"), True),
    ],
)
def test_wall_is_weak_where_a_part_that_protects_the_host_is_missing(
    wall: Isolation, weak: bool
) -> None:
    assert wall.weak is weak


def test_levels_are_ordered() -> None:
    assert reaches(MICROVM, CONTAINER) and reaches(CONTAINER, CONTAINER)
    assert not reaches(POLICY, CONTAINER)


@pytest.mark.parametrize(
    ("wall", "required", "why"),
    [
        (_wall(NONE), None, ""),
        (_wall(CONTAINER, "uid"), None, ""),
        (_wall(NONE), NONE, ""),
        (_wall(CONTAINER), CONTAINER, ""),
        (_wall(CONTAINER, "cpu"), POLICY, ""),
        (_wall(CONTAINER), MICROVM, "its isolation is container"),
        (_wall(CONTAINER, "uid"), POLICY, "its wall is weak (uid: not here)"),
    ],
)
def test_wall_falls_short_of_what_is_required(
    wall: Isolation, required: IsolationLevel | None, why: str
) -> None:
    assert shortfall(wall, required) == why
