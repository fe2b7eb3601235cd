"""Mentions: whom a text names, and for whom a todo waits."""

import pytest

from atoll.domain.dashboards.item import Fields, RichText
from atoll.domain.dashboards.mention import MAX_SAID, Assignment, assignment_of, named_in
from atoll.domain.ids import PrincipalId

ANN, ANNA, BOB, BOBBY, NOBODY = (PrincipalId(one) for one in ("a", "aa", "b", "bb", "n"))
NAMES = {ANN: "Ann", ANNA: "Anna Lee", BOB: "bob", BOBBY: "Bob", NOBODY: " "}


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("@Ann, look", {ANN}),
        ("(@ANN)", {ANN}),
        ("@anna lee and @ann", {ANNA, ANN}),
        ("@Anna alone", set()),
        ("@bob", {BOB, BOBBY}),
        ("write to me@ann or @Annabel", set()),
        ("Ann @ bob", set()),
        ("@", set()),
    ],
)
def test_text_names_people_after_an_at_sign(text: str, people: set[PrincipalId]) -> None:
    assert set(named_in(text, NAMES)) == people


def test_name_of_somebody_who_is_given_means_them_alone() -> None:
    assert named_in("@Bob and @Ann", NAMES, (BOBBY,)) == (ANN,)


@pytest.mark.parametrize(
    ("fields", "assignment"),
    [
        ({"kind": "todo", "assignee": "a", "title": " Fix "}, Assignment(ANN, "Fix")),
        (
            {"kind": "todo", "assignee": "a", "title": "Fix", "text": RichText((("it", {}),))},
            Assignment(ANN, "Fix\nit"),
        ),
        (
            {"kind": "todo", "assignee": "a", "done": False, "text": "x" * 9999},
            Assignment(ANN, "x" * MAX_SAID),
        ),
        ({"kind": "todo", "assignee": "a", "done": True}, None),
        ({"kind": "todo", "assignee": None, "title": "Fix"}, None),
        ({"kind": "todo", "assignee": ""}, None),
        ({"kind": "note", "assignee": "a"}, None),
        (None, None),
    ],
)
def test_todo_waits_for_its_person_until_it_is_done(
    fields: Fields | None, assignment: Assignment | None
) -> None:
    assert assignment_of(fields) == assignment
