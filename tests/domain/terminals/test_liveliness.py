"""When silence at a terminal says that a turn is over."""

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.terminals.liveliness import (
    ECHO_SECONDS,
    IDLE_SECONDS,
    QUIET_SECONDS,
    STREAK_SECONDS,
    Liveliness,
    OutputActivity,
)


def spinning(seconds: float, *, start: float = 100.0) -> Liveliness:
    """An agent that draws ten times a second for so long."""
    lively = Liveliness()
    lively.began()
    for tenth in range(int(seconds * 10) + 1):
        lively.drew(start + tenth / 10)
    return lively


def test_agent_that_draws_while_it_works_is_over_once_it_is_silent() -> None:
    lively = spinning(10)
    assert lively.deadline == 110 + QUIET_SECONDS
    assert not lively.over(110 + QUIET_SECONDS - 0.01)
    assert lively.over(110 + QUIET_SECONDS)


def test_agent_that_never_drew_so_says_nothing_by_its_silence() -> None:
    lively = Liveliness()
    for second in range(0, 60, 2):
        lively.drew(second)
    assert lively.deadline is None and not lively.over(10_000)


def test_interrupted_agent_is_over_once_it_is_silent() -> None:
    lively = Liveliness()
    lively.began()
    lively.interrupted(100.0)
    assert lively.deadline == 100 + QUIET_SECONDS
    assert lively.over(100 + QUIET_SECONDS)


def test_turn_that_begins_forgets_the_one_before() -> None:
    lively = spinning(10)
    lively.began()
    assert lively.deadline is None


@given(st.lists(st.floats(0, 1000), max_size=60).map(sorted))
def test_lock_is_never_shut_for_five_seconds_after_the_last_drawing(times: list[float]) -> None:
    lively = Liveliness()
    for at in times:
        lively.drew(at)
    seconds = {int(at) for at in times}
    streaks = any({s + n for n in range(STREAK_SECONDS)} <= seconds for s in seconds)
    assert (lively.deadline is not None) == streaks
    assert lively.deadline is None or lively.over(times[-1] + 5)


def test_output_is_activity_until_it_is_quiet_for_five_seconds() -> None:
    activity = OutputActivity()
    assert activity.deadline is None and not activity.tick(1.0)
    assert activity.drew(1.0) and not activity.drew(3.0)
    assert activity.deadline == 3.0 + IDLE_SECONDS
    assert not activity.tick(7.9) and activity.active
    assert activity.tick(8.0) and not activity.active
    assert activity.drew(9.0)


def test_echo_of_a_key_is_no_activity() -> None:
    activity = OutputActivity()
    for second in range(20):
        activity.caused(float(second))
        assert not activity.drew(second + ECHO_SECONDS - 0.1)
    assert not activity.active
    assert activity.drew(19 + ECHO_SECONDS)
