"""Operations: what a signature declares."""

from datetime import date
from importlib import import_module
from pkgutil import walk_packages
from typing import Annotated

import pytest
from msgspec import Meta, field

from atoll.domain.people.capability import Capability
from atoll.surfaces.http.server.permissions import WITHOUT_PERMISSION
from atoll.wire import api
from atoll.wire.api.annotations import Header, QueryKey
from atoll.wire.api.operation import (
    REQUIRED,
    Answer,
    Area,
    Operation,
    Parameters,
    Place,
    Removal,
    Request,
    operation,
    operations_of,
)
from atoll.wire.api.secrets import NewSecretBody

MODULES = [import_module(one.name) for one in walk_packages(api.__path__, f"{api.__name__}.")]
AREAS = [
    one
    for module in MODULES
    for one in vars(module).values()
    if isinstance(one, type)
    and issubclass(one, Area)
    and one is not Area
    and one.__module__ == module.__name__
]


class BoatBody(Request):
    """A boat."""

    name: str


class BoatView(Answer):
    """A boat."""

    name: str


class Harbour(Parameters):
    """The place where boats are."""

    port: str
    piers: list[int] = field(default_factory=list)
    near: Annotated[str | None, Header("near")] = None


class Boats(Area):
    """Boats."""

    tag = "boats"
    needs = "sandbox.read"

    @operation("PUT /v1/boats/{boat}", name="change_boat", status=201, problems=(404,))
    def change(  # type: ignore[empty-body]
        self,
        boat: str,
        body: BoatBody | None = None,
        *,
        colour: Annotated[str | None, Meta(max_length=9)] = None,
        tag: Annotated[str, Header("if-match")] = "",
        every: Annotated[bool, QueryKey("all")] = False,
    ) -> BoatView:
        """Change a boat.

        Its colour, too.
        """

    @operation(
        "DELETE /v1/boats/{boat}",
        name="sink",
        needs="sandbox.manage",
        removal=Removal(date(2026, 1, 1), date(2027, 1, 1), "/docs"),
    )
    def sink(self, boat: str) -> None:
        """Sink a boat."""

    @operation("GET /v1/boats", name="list_boats", public=True)
    def list(self, *, harbour: Harbour) -> BoatView:  # type: ignore[empty-body]
        """Return the boats."""

    @operation("POST /v1/boats/board", name="board", any_caller=True)
    def board(self) -> BoatView:  # type: ignore[empty-body]
        """Board a boat."""


def test_each_parameter_has_its_place_and_default() -> None:
    found = {one.name: (one.key, one.place, one.default) for one in Boats.change.parameters()}
    assert found == {
        "boat": ("boat", Place.PATH, REQUIRED),
        "body": ("body", Place.BODY, None),
        "colour": ("colour", Place.QUERY, None),
        "tag": ("if-match", Place.HEADER, ""),
        "every": ("all", Place.QUERY, False),
    }


def test_group_is_taken_apart_into_its_parameters() -> None:
    found = {one.name: one for one in Boats.list.parameters()}
    assert {(one.argument, one.group) for one in found.values()} == {("harbour", Harbour)}
    assert [one.place for one in found.values()] == [Place.QUERY, Place.QUERY, Place.HEADER]
    assert [one.default for one in found.values()] == [REQUIRED, [], None]
    assert [one.is_list for one in found.values()] == [False, True, False]


def test_facts_of_the_area_hold_for_operations_that_name_none() -> None:
    change, sink, listed, board = operations_of(Boats)
    assert (change.method, change.path, change.status) == ("PUT", "/v1/boats/{boat}", 201)
    assert (change.needs, sink.needs) == ("sandbox.read", "sandbox.manage")
    assert (listed.needs, board.needs) == ("", "")
    assert {one.tag for one in (change, sink, listed)} == {"boats"}


def test_operation_may_stand_at_another_path_too() -> None:
    other = Boats.sink.at("POST /v1/boats/{boat}/sink")
    assert (other.method, other.path) == ("POST", "/v1/boats/{boat}/sink")
    assert (other.name, other.needs, other.text) == ("sink", "sandbox.manage", "Sink a boat.")
    assert [one.place for one in other.parameters()] == [Place.PATH]


def test_documentation_and_answer_are_those_of_the_signature() -> None:
    assert Boats.change.text == "Change a boat.\n\nIts colour, too."
    assert Boats.change.answer is BoatView
    assert Boats.sink.answer is None


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.__name__)
def test_every_operation_is_documented_and_needs_a_permission_that_there_is(
    area: type[Area],
) -> None:
    for one in operations_of(area):
        assert one.text.endswith("."), one.name
        if one.any_caller:
            assert one.path in WITHOUT_PERMISSION, one.name
        else:
            assert one.public or one.needs in set(Capability), one.name


def test_names_and_paths_of_operations_are_each_used_once() -> None:
    declared: list[Operation[..., object]] = [one for area in AREAS for one in operations_of(area)]
    # One that stands at several paths has one name.
    assert len({one.name for one in declared}) == len({one.declared for one in declared})
    assert len({(one.method, one.path) for one in declared}) == len(declared)


def test_text_of_a_body_with_a_secret_does_not_show_it() -> None:
    body = NewSecretBody(name="KEY", value="the-value-of-the-secret")
    assert repr(body) == "NewSecretBody()"
