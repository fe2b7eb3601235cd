"""The inbox's item of a sandbox that ends soon."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.inbox.ending import MAX_LINES, item_of_end
from atoll.testing.samples import sandbox
from atoll.wire.words.agents import AnswerBy, ItemKind
from atoll.wire.words.sandboxes import State

HERE = sandbox("one")
ROOM = replace(HERE, max_expires_at=HERE.expires_at + timedelta(hours=1))


def test_end_shows_its_time_and_work_without_characters_that_hide() -> None:
    item = item_of_end(ROOM, ("only in /workspace: 1 commit: a\x1b[2J\u202eb",))
    assert (item.kind, item.by, item.sandbox_name) == (ItemKind.END, AnswerBy.PERSON, "one")
    assert item.lines[0].startswith(f"its time is over at {HERE.expires_at:%Y-%m-%d %H:%M} UTC")
    assert item.lines[1].endswith("a\\x1b[2J\\u202eb")
    assert [one.id for one in item.options] == ["extend", "let_end"]


def test_end_without_room_offers_no_extension() -> None:
    full = replace(HERE, max_expires_at=HERE.expires_at)
    assert [one.id for one in item_of_end(full, ()).options] == ["let_end"]


def test_item_is_of_one_end_whatever_the_work() -> None:
    one, two = item_of_end(ROOM, ()), item_of_end(ROOM, ("more",))
    assert (one.id, one.shown) == (two.id, two.shown)
    later = replace(ROOM, expires_at=ROOM.expires_at + timedelta(minutes=1))
    assert item_of_end(later, ()).id != one.id


def test_work_of_many_lines_is_bounded() -> None:
    item = item_of_end(ROOM, ("x",) * (MAX_LINES + 5))
    assert (len(item.lines), item.lines[-1]) == (MAX_LINES + 2, "… and 5 more lines")


def test_end_of_what_is_kept_says_that_it_is_removed() -> None:
    kept = replace(ROOM, state=State.EXPIRED, retained_until=ROOM.expires_at + timedelta(days=7))
    item = item_of_end(kept, ())
    assert item.lines[0].startswith("its files, and what is only in them, are removed for good at")
    assert item.id != item_of_end(ROOM, ()).id
    assert item_of_end(replace(kept, retained_until=None), ()).kind is ItemKind.END
