"""Reading of declared parameters and bodies: what is wrong is said as clients know it."""

import re
import time
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, field

from atoll.surfaces.http.serving.reading import (
    MAX_FINDINGS,
    invalid,
    named_fields,
    read_text,
    read_value,
)
from atoll.wire.api.fields import Seconds, SecondsOrZero
from atoll.wire.api.operation import Request
from atoll.wire.api.sandboxes.requests import CreateBody, WorkspaceBody
from atoll.wire.words.sandboxes import WorkspaceMode

Name = Annotated[str, Meta(min_length=1, max_length=3)]
Code = Annotated[str, Meta(pattern=r"^[A-Z]{3}\Z")]


class Colour(StrEnum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Sail(Request):
    """A sail."""

    area: Annotated[float, Meta(gt=0.5, lt=100.0)]


class Boat(Request):
    """A boat."""

    name: Name
    colour: Colour | None = None
    names: Annotated[list[Name], Meta(max_length=2, min_length=1)] = field(default_factory=list)
    sails: list[Sail] = field(default_factory=list)
    crew: Annotated[int, Meta(ge=0, le=5)] = 0
    ready: bool = False
    kind: Literal["sloop", "yawl"] = "sloop"
    ttl: Seconds | None = None
    delay: SecondsOrZero = SecondsOrZero(0)
    flags: dict[str, Any] = field(default_factory=dict)
    env: Annotated[dict[Name, str], Meta(max_length=2)] | None = None
    currency: Code | None = None
    ports: Annotated[tuple[Name, ...], Meta(max_length=2)] = ()


def refusal(body: object) -> str:
    _, findings = read_value(Boat, body, ())
    return invalid(findings).message


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ([], "the body: Input should be a valid dictionary or object to extract fields from"),
        ({}, "name: Field required"),
        ({"name": None}, "name: Input should be a valid string"),
        ({"name": ""}, "name: String should have at least 1 character"),
        ({"name": "long"}, "name: String should have at most 3 characters"),
        ({"name": ["a"] * 9}, "name: Input should be a valid string"),
        ({"name": "a", "colour": "green"}, "colour: Input should be 'red' or 'blue'"),
        ({"name": "a", "colour": True}, "colour: Input should be 'red' or 'blue'"),
        ({"name": "a", "names": "a"}, "names: Input should be a valid list"),
        ({"name": "a", "names": ["a", ""]}, "names.1: String should have at least 1 character"),
        (
            {"name": "a", "names": ["", "", ""]},
            "names: List should have at most 2 items after validation, not 3",
        ),
        (
            {"name": "a", "names": []},
            "names: List should have at least 1 item after validation, not 0",
        ),
        ({"name": "a", "sails": [{"area": 0}]}, "sails.0.area: Input should be greater than 0.5"),
        ({"name": "a", "sails": [{"area": 100}]}, "sails.0.area: Input should be less than 100"),
        ({"name": "a", "sails": [{"area": "1"}]}, "sails.0.area: Input should be a valid number"),
        ({"name": "a", "crew": True}, "crew: Input should be a valid integer"),
        ({"name": "a", "crew": 2**70}, "crew: Input should be less than or equal to 5"),
        ({"name": "a", "crew": -1}, "crew: Input should be greater than or equal to 0"),
        ({"name": "a", "ready": "yes"}, "ready: Input should be a valid boolean"),
        ({"name": "a", "ports": "a"}, "ports: Input should be a valid tuple"),
        (
            {"name": "a", "ports": ["", "", ""]},
            "ports.0: String should have at least 1 character (and 2 more)",
        ),
        (
            {"name": "a", "ports": ["a", "b", "c"]},
            "ports: Tuple should have at most 2 items after validation, not 3",
        ),
        ({"name": "a", "kind": "ketch"}, "kind: Input should be 'sloop' or 'yawl'"),
        ({"name": "a", "flags": []}, "flags: Input should be a valid dictionary"),
        ({"name": "a", "env": {"A": 1}}, "env.A: Input should be a valid string"),
        (
            {"name": "a", "env": {"LONG": "x"}},
            "env.LONG.[key]: String should have at most 3 characters",
        ),
        (
            {"name": "a", "env": {"A": "", "B": "", "C": ""}},
            "env: Dictionary should have at most 2 items after validation, not 3",
        ),
        ({"name": "a", "ttl": 0}, "ttl: a duration lies between 1 second and 365 days"),
        ({"name": "a", "ttl": "5"}, "ttl: a duration needs a unit: write 5s, 5m, 5h or 5d"),
        (
            {"name": "a", "delay": False},
            "delay: a duration is a number of seconds or text such as 90s, 15m, 4h or 2d",
        ),
        ({"name": "a", "currency": "USD\n"}, "currency: String should match pattern '^[A-Z]{3}$'"),
        ({"name": "a", "mast": 1}, "mast: Extra inputs are not permitted"),
        ({"mast": 1, "crew": "x"}, "name: Field required (and 2 more)"),
    ],
)
def test_first_finding_and_the_number_of_others_are_said(body: object, sentence: str) -> None:
    assert refusal(body) == sentence


def test_findings_of_a_large_body_are_counted_up_to_a_bound() -> None:
    _, findings = read_value(Boat, {"name": "a", **{f"x{n}": 0 for n in range(5000)}}, ())
    assert len(findings) == MAX_FINDINGS
    assert refusal({"name": "a", "sails": [1] * 5000}).startswith("sails.0: ")


@pytest.mark.parametrize(
    ("odd", "place"), [({}, ("env",)), ({"ODD": 1}, ("env", "ODD"))], ids=["all", "but one"]
)
def test_items_that_fit_take_no_time_however_many(
    odd: dict[str, object], place: tuple[str, ...]
) -> None:
    body = {"repos": [{}] * 40_000, "env": {**{f"A{n}": "" for n in range(40_000)}, **odd}}
    begun = time.process_time()
    _, findings = read_value(CreateBody, body, ())
    assert time.process_time() - begun < 0.4
    assert [one.path for one in findings] == [("repos",), place]


def test_what_fits_is_converted() -> None:
    given = {"name": "a", "colour": "red", "ttl": "1h", "delay": 0, "sails": [{"area": 5}]}
    boat, findings = read_value(Boat, given, ())
    assert not findings
    assert (boat.colour, boat.ttl, boat.delay) == (Colour.RED, 3600, 0)
    assert boat.sails[0].area == 5.0


@pytest.mark.parametrize(
    ("body", "place", "named"),
    [
        ({"url": "x", "state": None}, (), {"url", "state"}),
        ({"task": {"mode": "tui"}}, ("task",), {"mode"}),
        ({"task": None}, ("task",), set()),
        ({}, ("task", "mode"), set()),
        (None, (), set()),
    ],
)
def test_fields_that_a_body_names_are_known(
    body: object, place: tuple[str, ...], named: set[str]
) -> None:
    assert named_fields(body, place) == named


def test_word_of_an_enum_that_means_another_is_no_finding() -> None:
    body, findings = read_value(WorkspaceBody, {"mode": "remote"}, ())
    assert not findings
    assert body.mode is WorkspaceMode.REMOTE_CANONICAL
    _, findings = read_value(WorkspaceBody, {"mode": "remote", "access": "all"}, ())
    assert [one.path for one in findings] == [("access",)]


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, " 5 ", 5),
        (int, "+5", 5),
        (float, "1e3", 1000.0),
        (bool, "Yes", True),
        (bool, "off", False),
        (Colour, "red", Colour.RED),
        (str | None, "", ""),
        (Annotated[int, Meta(ge=0)] | None, "7", 7),
    ],
)
def test_text_is_read_by_its_type(annotation: Any, text: str, value: object) -> None:
    assert read_text(annotation, text, ("limit",)) == (value, [])


@pytest.mark.parametrize(
    ("annotation", "text", "words"),
    [
        (int, "1_000", "valid integer, unable to parse"),
        (int, "5.0", "valid integer, unable to parse"),
        (int, "٣", "valid integer, unable to parse"),
        (float, "nan", "valid number, unable to parse"),
        (bool, "2", "valid boolean, unable to interpret"),
        (Colour, "green", "'red' or 'blue'"),
        (Annotated[int, Meta(ge=0, le=10**6)], "9" * 4000, "less than or equal to 1000000"),
    ],
)
def test_text_that_does_not_fit_is_refused(annotation: Any, text: str, words: str) -> None:
    value, findings = read_text(annotation, text, ("limit",))
    error = invalid(findings)
    assert value is None
    assert error.field == "limit"
    assert re.search(re.escape(words), error.message)
