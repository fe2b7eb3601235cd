from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.terminals.contact import AWAY_SECONDS, Contact
from atoll.domain.terminals.turn import GRACE_SECONDS, Act, Party, Turn
from atoll.wire.words.terminals import Role

OWNER = Party("ann", "Ann", "a1", Role.OWNER)
BOB = Party("bob", "Bob", "b1", Role.CONTROLLER)


def driven() -> Turn:
    turn = Turn()
    turn.joined(OWNER, 0.0)
    turn.drain()
    return turn


def acts(turn: Turn) -> list[Act]:
    return [change.act for change in turn.drain()]


def test_runtime_nobody_ever_asked_has_no_control_plane_to_wait_for() -> None:
    contact = Contact()
    contact.closed(7)
    assert not contact.away
    assert contact.held_until(5.0) is None


def test_control_plane_is_away_once_the_last_of_its_connections_is_closed() -> None:
    contact = Contact()
    assert not contact.asked(1)
    assert not contact.asked(2)
    contact.closed(1)
    assert not contact.away
    contact.closed(2)
    assert contact.away
    assert contact.held_until(5.0) == 5.0 + AWAY_SECONDS


def test_cut_client_means_that_the_control_plane_is_away_until_it_asks() -> None:
    contact = Contact()
    contact.cut()
    assert contact.away, "though it never asked"
    assert contact.asked(1)
    contact.asked(2)
    contact.cut()
    assert contact.away
    contact.closed(2)
    assert contact.asked(3)
    assert contact.held_until(1.0) is None


def test_first_question_after_an_absence_is_a_return_and_the_second_is_none() -> None:
    contact = Contact()
    contact.asked(1, 30.0)
    contact.closed(1)
    assert contact.held_until(1.0) == 31.0
    assert contact.asked(2)
    assert not contact.asked(3)
    assert contact.held_until(1.0) is None


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3))))
def test_control_plane_is_away_exactly_while_none_of_its_connections_is_open(
    said: list[tuple[bool, int]],
) -> None:
    contact, opened, met = Contact(), set[int](), False
    for asks, connection in said:
        if asks:
            assert contact.asked(connection) == (met and not opened)
            opened.add(connection)
            met = True
        else:
            contact.closed(connection)
            opened.discard(connection)
        assert contact.away == (met and not opened)


def test_grace_held_over_an_absence_begins_anew_when_the_control_plane_answers() -> None:
    turn = driven()
    turn.left("a1", 5.0)
    turn.hold(5.0 + AWAY_SECONDS)
    turn.tick(60.0)
    assert turn.driver == OWNER
    assert turn.deadline == 5.0 + AWAY_SECONDS
    turn.resume(60.0)
    assert turn.deadline == 60.0 + GRACE_SECONDS
    turn.tick(60.0 + GRACE_SECONDS)
    assert acts(turn) == [Act.LAPSED]


def test_absence_longer_than_it_is_waited_for_ends_the_lease() -> None:
    turn = driven()
    turn.left("a1", 5.0)
    turn.hold(5.0 + AWAY_SECONDS)
    turn.tick(5.0 + AWAY_SECONDS)
    assert acts(turn) == [Act.LAPSED]


def test_hold_that_is_shorter_than_the_grace_does_not_shorten_it() -> None:
    turn = driven()
    turn.left("a1", 5.0)
    turn.hold(6.0)
    assert turn.deadline == 5.0 + GRACE_SECONDS


def test_driver_back_during_the_absence_drives_on_and_leaves_with_a_usual_grace() -> None:
    turn = driven()
    turn.left("a1", 5.0)
    turn.hold(125.0)
    turn.joined(OWNER, 50.0)
    assert (turn.deadline, acts(turn)) == (None, [])
    turn.left("a1", 51.0)
    assert turn.deadline == 51.0 + GRACE_SECONDS


def test_return_of_the_control_plane_means_nothing_to_a_driver_who_is_here() -> None:
    turn = driven()
    turn.resume(9.0)
    assert (turn.driver, turn.left_at, turn.deadline) == (OWNER, None, None)


def test_control_given_away_during_the_absence_is_not_held_for_the_next_driver() -> None:
    turn = driven()
    turn.joined(BOB, 1.0)
    turn.left("a1", 5.0)
    turn.hold(125.0)
    assert turn.requested("b1", 6.0) is None
    turn.tick(125.0)
    assert turn.driver == BOB
    turn.left("b1", 130.0)
    assert turn.deadline == 130.0 + GRACE_SECONDS
