from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.terminals.driver import Driving, Watermarks, watermarks

KIB = 1024
MARKS = Watermarks(128 * KIB, 32 * KIB)


def driving(*clients: str) -> Driving:
    state = Driving(MARKS)
    for client in clients:
        state.joined(client, 0, 0.0)
    if clients:
        state.set_driver(clients[0], 0.0)
    return state


def paused_by(client: str, *others: str) -> Driving:
    """A driver that acknowledged 1 KiB and then fell 128 KiB behind at second 5."""
    state = driving(client, *others)
    state.produced(KIB, 1.0)
    state.acked(client, KIB, 2.0)
    state.produced(129 * KIB, 5.0)
    assert state.paused
    return state


def standing(state: Driving) -> tuple[bool, float | None, str | None]:
    """Return the state as it is now, whatever was asserted of it before."""
    return state.paused, state.deadline, state.driver


def test_marks_of_a_small_ring_stay_below_it() -> None:
    assert watermarks(2048 * KIB) == Watermarks(192 * KIB, 144 * KIB)
    assert watermarks(256 * KIB) == Watermarks(192 * KIB, 144 * KIB)
    assert watermarks(64 * KIB) == Watermarks(16 * KIB, 12 * KIB)
    assert [watermarks(ring * KIB).ack_every for ring in (256, 64)] == [16 * KIB, 4 * KIB]


def test_driver_that_acknowledges_as_it_was_told_is_never_waited_for() -> None:
    for ring in (8 * KIB, 64 * KIB, 256 * KIB, 4096 * KIB):
        marks = watermarks(ring)
        state = Driving(marks)
        state.joined("a", 0, 0.0)
        state.set_driver("a", 0.0)
        state.produced(1, 1.0)
        state.acked("a", 1, 1.0)
        state.produced(marks.high + 1, 2.0)
        assert state.paused
        # An end of 64 bytes is held back until more comes, and the rest is less than a window.
        state.acked("a", state.end - 64 - marks.ack_every + 1, 3.0)
        assert not state.paused


def test_driver_is_whoever_has_the_turn() -> None:
    state = driving()
    assert (state.driver, state.present, state.deadline) == (None, False, None)
    state.tick(1.0)
    state.joined("a", 0, 0.0)
    assert (state.driver, state.present) == (None, False)
    state.set_driver("a", 1.0)
    assert (state.driver, state.present) == ("a", True)
    state.set_driver(None, 2.0)
    assert (state.driver, state.present) == (None, False)


def test_driver_that_never_acknowledged_never_pauses() -> None:
    state = driving("a")
    state.produced(10_000 * KIB, 1.0)
    assert not state.paused


def test_driver_backlog_pauses_at_the_high_mark_and_resumes_at_the_low_one() -> None:
    state = driving("a")
    state.produced(KIB, 0.0)
    assert state.acked("a", KIB, 0.0)
    state.produced(129 * KIB - 1, 1.0)
    assert not state.paused
    state.produced(129 * KIB, 1.0)
    assert state.paused
    state.acked("a", 96 * KIB, 2.0)
    assert state.paused
    state.acked("a", 97 * KIB, 3.0)
    assert not state.paused


def test_observer_backlog_never_pauses() -> None:
    state = driving("a", "b")
    state.produced(KIB, 0.0)
    state.acked("a", KIB, 0.0)
    state.acked("b", 1, 0.0)
    state.produced(100 * KIB, 0.0)
    state.acked("a", 100 * KIB, 0.0)
    state.produced(200 * KIB, 0.0)
    assert not state.paused


def test_acknowledgement_that_cannot_be_is_refused() -> None:
    state = driving("a")
    state.produced(10, 0.0)
    assert state.acked("a", 5, 0.0)
    assert not state.acked("a", 4, 0.0)
    assert not state.acked("a", 11, 0.0)
    assert not state.acked("stranger", 5, 0.0)
    assert state.acked("a", 5, 0.0)


def test_driver_silent_for_ten_seconds_above_the_mark_loses_the_right_until_it_acknowledges() -> (
    None
):
    state = paused_by("a")
    assert state.deadline == 15.0
    state.acked("a", KIB, 14.0)
    assert state.deadline == 15.0
    state.tick(14.9)
    assert state.paused
    state.tick(15.0)
    assert standing(state) == (False, None, "a")
    state.produced(400 * KIB, 16.0)
    assert not state.paused
    state.acked("a", 2 * KIB, 17.0)
    assert state.paused


def test_driver_gone_keeps_pausing_until_its_turn_is_over() -> None:
    state = paused_by("a", "b", "c")
    state.left("a", 20.0)
    assert (state.driver, state.paused, state.present, state.deadline) == ("a", True, False, None)
    state.tick(1000.0)
    assert (state.driver, state.paused) == ("a", True)
    state.set_driver("b", 1000.0)
    assert (state.driver, state.paused, state.present) == ("b", False, True)
    assert not state.acked("a", 129 * KIB, 1001.0)


def test_last_driver_gone_for_good_leaves_nobody() -> None:
    state = paused_by("a")
    state.left("a", 6.0)
    state.set_driver(None, 16.0)
    assert (state.driver, state.deadline, state.paused) == (None, None, False)


def test_driver_back_within_the_grace_keeps_control_and_right() -> None:
    state = paused_by("a", "b")
    state.left("a", 6.0)
    state.joined("a", 129 * KIB, 9.0)
    assert (state.driver, state.paused, state.present, state.deadline) == ("a", False, True, None)
    state.produced(257 * KIB, 10.0)
    assert state.paused


def test_driver_back_and_still_far_behind_stays_paused_for_its_own_ten_seconds() -> None:
    state = paused_by("a")
    state.left("a", 6.0)
    state.joined("a", KIB, 9.0)
    assert (state.paused, state.deadline) == (True, 19.0)


def test_observer_that_leaves_changes_nothing() -> None:
    state = paused_by("a", "b")
    state.left("b", 6.0)
    state.left("stranger", 6.0)
    assert (state.driver, state.paused) == ("a", True)


def test_driver_resynced_has_no_backlog_from_before() -> None:
    state = driving("a")
    state.produced(400 * KIB, 0.0)
    state.skipped("a", 390 * KIB)
    state.skipped("stranger", 1)
    state.acked("a", 391 * KIB, 0.0)
    assert not state.paused


CLIENTS = st.sampled_from("abc")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["joined", "left", "set_driver", "acked", "produced", "skipped", "tick"]
            ),
            CLIENTS,
            st.integers(0, 300 * KIB),
            st.floats(0, 8),
        ),
        max_size=60,
    )
)
def test_driving_under_any_stimuli_pauses_only_for_an_attached_driver_and_never_without_end(
    stimuli: list[tuple[str, str, int, float]],
) -> None:
    state, now = Driving(MARKS), 0.0
    for kind, client, amount, seconds in stimuli:
        now += seconds
        stimulate(state, kind, client, amount=amount, now=now)
        if state.paused:
            assert state.driver is not None
            assert not state.present or state.deadline is not None
            assert state.deadline is None or state.deadline <= now + 10
    while state.deadline is not None:
        state.tick(state.deadline)
    if state.driver is not None and not state.present:
        state.set_driver(None, now)
    assert not state.paused


def stimulate(state: Driving, kind: str, client: str, *, amount: int, now: float) -> None:
    if kind == "set_driver" and client not in state._progress:
        return
    acts: dict[str, Callable[[], object]] = {
        "joined": lambda: state.joined(client, min(amount, state.end), now),
        "left": lambda: state.left(client, now),
        "set_driver": lambda: state.set_driver(client, now),
        "acked": lambda: state.acked(client, amount, now),
        "produced": lambda: state.produced(state.end + (0 if state.paused else amount), now),
        "skipped": lambda: state.skipped(client, min(amount, state.end)),
        "tick": lambda: state.tick(now),
    }
    acts[kind]()


def test_driver_named_again_changes_nothing() -> None:
    state = paused_by("a", "b")
    before = (state.deadline, state.paused)
    state.set_driver("a", 7.0)
    assert (state.driver, state.deadline, state.paused) == ("a", *before)
