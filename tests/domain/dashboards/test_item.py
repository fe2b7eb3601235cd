from typing import Any

import pytest

from atoll.domain.dashboards.item import (
    MAX_FIELDS,
    MAX_ITEMS,
    MAX_TEXT_BYTES,
    RichText,
    check_count,
    check_item,
)
from atoll.domain.errors import Invalid, LimitReached

ID = "itm_0123456789abcdef"
NOTE: dict[str, Any] = {"kind": "note", "x": 1, "y": -2.5, "w": 200, "h": 100}


def text(*runs: tuple[str, dict[str, Any]]) -> RichText:
    return RichText(runs)


GOOD: dict[str, dict[str, Any]] = {
    "note": {"colour": "yellow", "text": text(("a", {"bold": True}), ("b", {"heading": 2}))},
    "link": {"text": text(("a", {"link": "https://example.org/x"}), ("b", {"bold": False}))},
    "todo": {"done": True, "due": "2026-01-31", "assignee": "usr_1", "task": {"branch": "b"}},
    "nothing": {"due": None, "colour": None, "task": None, "frame": None, "text": "plain"},
    "preview": {"port": 8000, "path": "/", "sandbox_id": "sb_1", "z": 0, "locked": False},
    "web": {"url": "http://example.org/"},
    "no web": {"url": ""},
    "newer": {"unknown": [1, {"a": "b"}], "kind": "hologram"},
}


@pytest.mark.parametrize("name", GOOD)
def test_item_as_the_page_writes_it_is_accepted(name: str) -> None:
    check_item(ID, {**NOTE, **GOOD[name]})


BAD: list[dict[str, Any]] = [
    {"kind": 5},
    {"kind": "<script>"},
    {"x": "1"},
    {"x": True},
    {"y": float("nan")},
    {"x": 1_000_001},
    {"w": 0},
    {"h": -5},
    {"locked": 1},
    {"done": "yes"},
    {"title": "x" * 201},
    {"by": {"a": "b"}},
    {"colour": "url(https://evil)"},
    {"due": "tomorrow"},
    {"due": 5},
    {"port": 0},
    {"port": "80"},
    {"task": "now"},
    {"task": {"a": 5}},
    {"url": "javascript:alert(1)"},
    {"url": "mailto:a@b"},
    {"url": None},
    {"text": 5},
    {"text": text(("a", {"link": "javascript:alert(1)"}))},
    {"text": text(("a", {"link": 5}))},
    {"text": text(("a", {"bold": "x"}))},
]


@pytest.mark.parametrize("fields", BAD, ids=map(str, BAD))
def test_field_that_no_page_writes_is_invalid(fields: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        check_item(ID, {**NOTE, **fields})


@pytest.mark.parametrize("name", NOTE)
def test_item_without_a_place_or_kind_is_invalid(name: str) -> None:
    with pytest.raises(Invalid) as error:
        check_item(ID, {one: value for one, value in NOTE.items() if one != name})
    assert error.value.field == name


@pytest.mark.parametrize("item_id", ["itm_1", "", "itm_0123456789ABCDEF", f"{ID}0"])
def test_item_with_an_id_that_is_none_is_invalid(item_id: str) -> None:
    with pytest.raises(Invalid):
        check_item(item_id, NOTE)


@pytest.mark.parametrize(
    "fields",
    [
        {f"f{number}": 1 for number in range(MAX_FIELDS)},
        {"text": text(("x" * MAX_TEXT_BYTES, {}), ("x", {}))},
        {"more": ["x" * MAX_TEXT_BYTES, {"é": None}]},
        {"more": {"x" * MAX_TEXT_BYTES: 1}},
    ],
    ids=range(4),
)
def test_item_that_is_too_large_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(LimitReached):
        check_item(ID, {**NOTE, **fields})


def test_items_are_counted() -> None:
    check_count(MAX_ITEMS)
    with pytest.raises(LimitReached):
        check_count(MAX_ITEMS + 1)
