from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.dashboards.history import Counts, StoredUpdate, count_changes, group_updates
from atoll.domain.dashboards.item import Fields, check_item
from atoll.domain.dashboards.template import TEMPLATES, copy_items, items_of
from atoll.domain.errors import Invalid
from atoll.domain.ids import PrincipalId
from atoll.wire.words.dashboards import BLANK

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANN, BOB = PrincipalId("ann"), PrincipalId("bob")


def test_updates_of_one_person_within_a_minute_are_one_entry() -> None:
    made = [
        StoredUpdate(seq, NOW + timedelta(seconds=at), who, (b"",))
        for seq, (at, who) in enumerate(
            [(0, ANN), (59, ANN), (60, ANN), (61, BOB), (62, ANN), (63, ANN)]
        )
    ]
    assert [[one.seq for one in group] for group in group_updates(made)] == [
        [0, 1],
        [2],
        [3],
        [4, 5],
    ]


def test_items_are_counted_by_their_kind() -> None:
    note: Fields = {"kind": "note", "x": 1}
    moved: Fields = {"kind": "note", "x": 2}
    before: dict[str, Fields | None] = {
        "a": None,
        "b": note,
        "c": note,
        "d": note,
        "e": {"kind": 5},
        "f": None,
    }
    after: dict[str, Fields | None] = {"a": note, "b": None, "c": moved, "d": note, "e": None}
    assert count_changes(before, after) == Counts({"note": 1}, {"note": 1}, {"note": 1, "other": 1})


@pytest.mark.parametrize("name", TEMPLATES)
def test_items_of_a_template_are_as_the_page_writes_them(name: str) -> None:
    ids = [f"itm_{number:016d}" for number in range(len(TEMPLATES[name]))]
    made = items_of(name, ids, ANN, NOW)
    assert len(made) == len(ids) and (made == {}) == (name == BLANK)
    for item_id, fields in made.items():
        check_item(item_id, fields)
        assert (fields["by"], fields["at"]) == ("ann", NOW.isoformat())


def test_template_that_is_none_is_invalid() -> None:
    with pytest.raises(Invalid, match="agent-and-notes"):
        items_of("none", [], ANN, NOW)


def test_copy_has_no_sandbox_of_the_original() -> None:
    item: Fields = {
        "kind": "terminal",
        "x": 1,
        "sandbox_id": "sb_1",
        "terminal_id": "t_1",
        "by": "ann",
    }
    made = copy_items({"a": item}, BOB, NOW)
    assert made == {"a": {"kind": "terminal", "x": 1, "by": "bob", "at": NOW.isoformat()}}
