"""Annotations of declared fields: plain types, bounds, headers and unions."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from atoll.wire.api.annotations import Header, QueryKey, Unshown, kind_of, only_member

NAME = Annotated[str, Meta(min_length=1, max_length=9)]


def test_marks_of_nested_annotations_are_gathered() -> None:
    kind = kind_of(Annotated[NAME, Meta(max_length=5, description="A name.")])
    assert kind.plain is str
    assert kind.bounds == {"min_length": 1, "max_length": 5, "description": "A name."}


def test_header_is_found_beside_bounds() -> None:
    kind = kind_of(Annotated[str, Header("last-event-id"), Meta(max_length=20)])
    assert (kind.header, kind.bounds) == ("last-event-id", {"max_length": 20})
    assert kind_of(str).header is None


def test_mark_names_the_parameter_or_keeps_its_default_out_of_the_document() -> None:
    kind = kind_of(Annotated[str, QueryKey("next")])
    assert (kind.query_key, kind.shows_default) == ("next", True)
    assert not kind_of(Annotated[str, Unshown()]).shows_default


def test_union_with_null_has_one_other_member() -> None:
    kind = kind_of(NAME | None)
    assert kind.is_optional
    assert only_member(kind) is NAME
    assert not kind_of(int | str).is_optional
    assert only_member(kind_of(int | str)) == int | str


def test_words_of_a_literal_keep_their_order() -> None:
    assert kind_of(Literal["b", "a"]).words == ("b", "a")
    assert kind_of(str).words is None


def test_item_of_a_list_is_its_annotation() -> None:
    assert kind_of(list[NAME]).item is NAME
    assert kind_of(list).item is Any
    assert kind_of(tuple[int, ...]).item is int
    assert kind_of(str).item is None


def test_keys_and_values_of_a_mapping_are_annotations() -> None:
    assert kind_of(dict[NAME, int]).entry == (NAME, int)
    assert kind_of(dict).entry == (str, Any)
    assert kind_of(list[str]).entry is None


def test_tuple_of_any_length_is_told_from_a_list() -> None:
    assert kind_of(tuple[int, ...]).is_tuple
    assert not kind_of(list[int]).is_tuple
