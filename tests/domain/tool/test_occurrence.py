from dataclasses import replace
from datetime import UTC, datetime

import jsonschema_rs
import pytest

from atoll.domain.errors import Invalid, NotFound
from atoll.domain.event import Event, Json
from atoll.domain.event_kind import KINDS
from atoll.domain.ids import EventId, OrgId
from atoll.domain.tool.occurrence import (
    LISTED,
    Wanted,
    cursor_of,
    descriptor_of,
    listed_kinds,
    occurrence_of,
    position_of,
    wanted_of,
)

PAYLOAD: dict[str, Json] = {"sandbox_id": "sb_1", "name": "n", "generation": 1, "state": "ready"}
EVENT = Event(
    id=EventId("ev_1"),
    position=7,
    stream="sandbox:sb_1",
    seq=2,
    event_type="sandbox.ready",
    event_version=1,
    at=datetime(2026, 1, 1, 12, tzinfo=UTC),
    org_id=OrgId("personal"),
    actor_kind="atm",
    actor_id="atoll",
    reason=None,
    payload=PAYLOAD,
)


@pytest.mark.parametrize(
    ("arguments", "covered"),
    [
        ({}, True),
        ({"stream": "sandbox:sb_1"}, True),
        ({"stream": "sandbox:sb_2"}, False),
        ({"uri": "atoll://sandbox/*"}, True),
        ({"uri": "atoll://sandbox/sb_1"}, True),
        ({"uri": "atoll://sandbox/sb_2"}, False),
        ({"uri": "atoll://sandbox/sb_1", "stream": "sandbox:sb_2"}, False),
    ],
)
def test_subscription_covers_what_it_names(arguments: dict[str, Json], covered: bool) -> None:
    wanted = wanted_of("sandbox.ready", arguments, scheme="atoll")
    assert wanted.covers(EVENT) is covered
    assert not wanted.covers(replace(EVENT, event_type="sandbox.active"))


@pytest.mark.parametrize(
    "arguments",
    [
        {"other": "x"},
        {"stream": 1},
        {"stream": ""},
        {"stream": "s" * 301},
        {"uri": "atoll://nothing/x"},
        {"uri": "openova://sandbox/x"},
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Json]) -> None:
    with pytest.raises(Invalid):
        wanted_of("sandbox.ready", arguments, scheme="atoll")


def test_kind_there_is_not_is_not_found() -> None:
    with pytest.raises(NotFound):
        wanted_of("sandbox.reddy", {}, scheme="atoll")
    assert wanted_of("sandbox.ready", {}, scheme="a") == Wanted("sandbox.ready")


def test_cursor_is_a_position() -> None:
    assert position_of(None) is None
    assert position_of(cursor_of(2**53)) == 2**53
    assert position_of("9" * 16) == 2**53


@pytest.mark.parametrize("cursor", ["", "-1", "+1", " 1", "1.0", "x", "٣", "9" * 17, "1\n"])
def test_cursor_that_nobody_gave_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid):
        position_of(cursor)


def test_pages_list_every_kind_once() -> None:
    names: list[str] = []
    cursor = None
    while True:
        page, cursor = listed_kinds(cursor)
        assert len(page) <= LISTED
        names += [one.name for one in page]
        if cursor is None:
            break
    assert names == sorted(KINDS)
    with pytest.raises(Invalid):
        listed_kinds("no.such")


def test_data_fits_the_schema_and_unseen_characters_are_spelled() -> None:
    kind = KINDS["sandbox.ready"]
    described = descriptor_of(kind, ("poll",))
    odd = {**PAYLOAD, "name": "a\u202eb"}
    told = occurrence_of(replace(EVENT, payload=odd, reason="\x1b[0m"))
    data = told["data"]
    assert isinstance(data, dict)
    schema = described["payloadSchema"]
    assert isinstance(schema, dict)
    jsonschema_rs.validate(schema, data)
    assert data["payload"] == {**PAYLOAD, "name": r"a\u202eb"}
    assert data["reason"] == r"\x1b[0m"
    assert told["timestamp"] == "2026-01-01T12:00:00.000Z"


def test_texts_inside_of_a_payload_are_spelled() -> None:
    payload: dict[str, Json] = {"list": ["\x07", 1, None], "map": {"\x07": {"a": "\x07"}}}
    data = occurrence_of(replace(EVENT, payload=payload))["data"]
    assert isinstance(data, dict)
    shown = {"list": [r"\x07", 1, None], "map": {r"\x07": {"a": r"\x07"}}}
    assert data["payload"] == shown
