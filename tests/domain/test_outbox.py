import pytest

from atoll.domain.ids import EventId
from atoll.domain.outbox import Cursor, Resumption, Tip, resume

KEPT = Tip(7, 40, EventId("ev_40"))


@pytest.mark.parametrize("cursor", [None, Cursor(38, 5), Cursor(40, 7), Cursor(90, 50)])
def test_last_message_of_the_stream_decides_whatever_was_saved(cursor: Cursor | None) -> None:
    assert resume(KEPT, cursor) == Resumption(40)


def test_messages_since_the_cursor_are_counted_when_the_last_one_is_gone() -> None:
    assert resume(Tip(7), Cursor(38, 5)) == Resumption(38, skip=2)
    assert resume(Tip(7), Cursor(40, 7)) == Resumption(40)


@pytest.mark.parametrize("cursor", [None, Cursor(40, 7)])
def test_new_stream_receives_the_whole_log(cursor: Cursor | None) -> None:
    assert resume(Tip(0), cursor) == Resumption(0)
