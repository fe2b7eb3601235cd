"""What a guest with an edit link may change of one item."""

import pytest

from atoll.domain.dashboards.guest import (
    GUEST_ITEMS,
    GUEST_TEXT_BYTES,
    check_guest_change,
    check_guest_room,
    check_guest_size,
)
from atoll.domain.dashboards.item import Fields
from atoll.domain.errors import Forbidden, LimitReached
from atoll.domain.ids import PrincipalId

EVE = PrincipalId("guest_e")
NOTE: Fields = {"kind": "note", "x": 0, "y": 0, "w": 1, "h": 1, "text": "hello", "by": "ann"}
PANE: Fields = {**NOTE, "kind": "terminal", "sandbox_id": "sb_1", "terminal_id": "t_1"}
TODO: Fields = {**NOTE, "kind": "todo", "task": {"sandbox_id": "sb_1"}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, None),
        (None, {**NOTE, "by": EVE}),
        (None, {**NOTE, "by": ""}),
        (NOTE, {**NOTE, "text": "bye", "colour": "pink", "x": 9}),
        (NOTE, None),
        (PANE, {**PANE, "x": 9, "w": 9, "z": 3, "frame": "itm_f", "to:itm_1": True}),
        (TODO, {**TODO, "y": 9}),
        ({**NOTE, "kind": "todo"}, {**NOTE, "kind": "todo", "done": True}),
    ],
)
def test_guest_writes_notes_and_arranges(before: Fields | None, after: Fields | None) -> None:
    check_guest_change(EVE, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, PANE),
        (None, NOTE),
        (None, {**NOTE, "by": EVE, "kind": "frame", "sandbox_id": "sb_1"}),
        (NOTE, {**NOTE, "kind": "terminal"}),
        (NOTE, {**NOTE, "assignee": "bob"}),
        (NOTE, {**NOTE, "by": EVE}),
        (PANE, None),
        (PANE, {**PANE, "terminal_id": "t_2"}),
        (PANE, {**PANE, "title": "mine"}),
        (TODO, None),
        (TODO, {**TODO, "text": "another"}),
    ],
)
def test_guest_changes_nothing_of_members(before: Fields | None, after: Fields | None) -> None:
    with pytest.raises(Forbidden):
        check_guest_change(EVE, before, after)


def test_guest_leaves_room_for_members() -> None:
    check_guest_room(GUEST_ITEMS, adds=True)
    check_guest_room(GUEST_ITEMS + 1, adds=False)
    with pytest.raises(LimitReached):
        check_guest_room(GUEST_ITEMS + 1, adds=True)
    check_guest_size(GUEST_TEXT_BYTES)
    with pytest.raises(LimitReached):
        check_guest_size(GUEST_TEXT_BYTES + 1)
