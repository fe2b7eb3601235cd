"""Findings in values of JSON that do not fit a declared type, in the words that clients know.

Every wrong field is found in the order of the declaration, then the fields that nobody declared.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, Final

import msgspec

from atoll.domain.duration import parse_duration
from atoll.wire.api.annotations import Kind, kind_of
from atoll.wire.api.fields import Seconds, SecondsOrZero


@dataclass(frozen=True, slots=True)
class Finding:
    """A wrong part of a request: its path within it, and the sentence."""

    path: tuple[str, ...]
    text: str


def read_duration(kind: type, value: Any) -> Any:
    """Return a value of a type that msgspec does not know: a duration. Raises `ValueError`."""
    if not issubclass(kind, Seconds):
        raise NotImplementedError(kind)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("a duration is a number of seconds or text such as 90s, 15m, 4h or 2d")
    if kind is SecondsOrZero and value == 0 and isinstance(value, int):
        return kind(0)
    return kind(parse_duration(value))


def findings_of(kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    """Yield what is wrong with a value, each part with its path."""
    members = [one for one in kind.members if one is not type(None)]
    if value is None and kind.is_optional:
        return
    if len(members) > 1:
        yield from _union_findings(members, value, path)
        return
    inner = kind_of(members[0]) if kind.is_optional else kind
    bounds = inner.bounds
    check = _check_of(inner)
    if inner.item is not None and not inner.is_tuple and _is_too_long(value, bounds):
        # None of the items is looked at: there may be very many.
        yield from _bound_findings(bounds, value, path)
        return
    fits = True
    for one in () if check is None else check(inner, value, path):
        fits = False
        yield one
    if fits:
        yield from _bound_findings(bounds, tuple(value) if inner.is_tuple else value, path)


def _union_findings(members: list[Any], value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    tried = [[*findings_of(kind_of(one), value, path)] for one in members]
    if all(tried):
        yield tried[0][0]


_SLICE: Final = 256

Check = Callable[[Kind, Any, tuple[str, ...]], Iterator[Finding]]


def _check_of(kind: Kind) -> Check | None:
    """Return the check of a type."""
    if kind.words is not None:
        return _literal_findings
    if kind.item is not None:
        return _list_findings
    if kind.entry is not None:
        return _mapping_findings
    plain = kind.plain
    if not isinstance(plain, type):
        return None
    for parent, check in _CHECKS.items():
        if issubclass(plain, parent):
            return check
    return None


def _literal_findings(kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    words = kind.words or ()
    if not any(value == one and type(value) is type(one) for one in words):
        yield Finding(path, f"Input should be {_join_choices(words)}")


def _enum_findings(kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    try:
        known = not isinstance(value, bool) and kind.plain(value) is not None
    except ValueError:
        known = False
    if not known:
        yield Finding(path, f"Input should be {_join_choices([one.value for one in kind.plain])}")


def _struct_findings(kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    if not isinstance(value, Mapping):
        yield Finding(path, "Input should be a valid dictionary or object to extract fields from")
        return
    fields = _fields(kind.plain)
    for field in fields:
        own = (*path, field.encode_name)
        if field.encode_name in value:
            yield from findings_of(kind_of(field.type), value[field.encode_name], own)
        elif field.required:
            yield Finding(own, "Field required")
    known = {field.encode_name for field in fields}
    if kind.plain.__struct_config__.forbid_unknown_fields:
        for name in value:
            if name not in known:
                yield Finding((*path, name), "Extra inputs are not permitted")


@cache
def _fields(struct: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(struct)


def _list_findings(kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield Finding(path, f"Input should be a valid {'tuple' if kind.is_tuple else 'list'}")
        return
    for at in _misfits(kind.item, value):
        yield from findings_of(kind_of(kind.item), value[at], (*path, str(at)))


def _misfits(annotation: Any, items: Sequence[Any]) -> Iterator[int]:
    """Yield the places of items that do not fit. There may be very many that do: they are looked at
    in C, a slice at a time."""
    for begin in range(0, len(items), _SLICE):
        part = items[begin : begin + _SLICE]
        if not _fits_type(list[annotation], part):
            yield from (at for at, one in enumerate(part, begin) if not _fits_type(annotation, one))


def _fits_type(annotation: Any, value: Any) -> bool:
    try:
        msgspec.convert(value, annotation, dec_hook=read_duration)
    except (msgspec.ValidationError, OverflowError):
        return False
    return True


def _mapping_findings(kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    if not isinstance(value, Mapping):
        yield Finding(path, "Input should be a valid dictionary")
        return
    keys, values = kind.entry or (str, Any)
    names, items = [*value], [*value.values()]
    wrong_names, wrong_items = {*_misfits(keys, names)}, {*_misfits(values, items)}
    for at in sorted(wrong_names | wrong_items):
        if at in wrong_names:
            yield from findings_of(kind_of(keys), names[at], (*path, names[at], "[key]"))
        if at in wrong_items:
            yield from findings_of(kind_of(values), items[at], (*path, names[at]))


def _duration_findings(kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    try:
        read_duration(kind.plain, value)
    except ValueError as error:
        yield Finding(path, str(error))


def _bool_findings(_kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    if not isinstance(value, bool):
        yield Finding(path, "Input should be a valid boolean")


def _int_findings(_kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    if isinstance(value, bool) or not isinstance(value, int):
        yield Finding(path, "Input should be a valid integer")


def _float_findings(_kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield Finding(path, "Input should be a valid number")


def _str_findings(_kind: Kind, value: Any, path: tuple[str, ...]) -> Iterator[Finding]:
    if not isinstance(value, str):
        yield Finding(path, "Input should be a valid string")


_CHECKS: Final[Mapping[type, Check]] = {
    msgspec.Struct: _struct_findings,
    Seconds: _duration_findings,
    Enum: _enum_findings,
    bool: _bool_findings,
    int: _int_findings,
    float: _float_findings,
    str: _str_findings,
}


def _is_too_long(value: Any, bounds: Mapping[str, Any]) -> bool:
    """Report whether a list has so many items that none of them is looked at."""
    return isinstance(value, list) and len(value) > bounds.get("max_length", len(value))


def _bound_findings(
    bounds: Mapping[str, Any], value: Any, path: tuple[str, ...]
) -> Iterator[Finding]:
    """Yield the first bound that a value of the right type breaks."""
    for name, (breaks, sentence) in _BOUNDS.items():
        if name in bounds and breaks(value, bounds[name]):
            yield Finding(path, sentence(value, bounds[name]))
            return


def _join_choices(words: Any) -> str:
    """Return the quoted values as a list in words: `'a', 'b' or 'c'`."""
    shown = [f"'{one}'" if isinstance(one, str) else repr(one) for one in words]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _count_phrase(value: Any, number: int) -> str:
    noun = "character" if isinstance(value, str) else "item"
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _too_long(value: Any, most: int) -> str:
    return _length_message(value, f"at most {_count_phrase(value, most)}")


def _too_short(value: Any, least: int) -> str:
    return _length_message(value, f"at least {_count_phrase(value, least)}")


_NOUNS: Final[Mapping[type, str]] = {list: "List", tuple: "Tuple", dict: "Dictionary"}


def _length_message(value: Any, bound: str) -> str:
    if isinstance(value, str):
        return f"String should have {bound}"
    noun = _NOUNS[type(value)]
    return f"{noun} should have {bound} after validation, not {len(value)}"


def _spell(bound: float) -> str:
    """Return a bound without a fraction that is none."""
    return str(int(bound) if bound == int(bound) else bound)


_BOUNDS: Final[Mapping[str, tuple[Callable[[Any, Any], bool], Callable[[Any, Any], str]]]] = {
    "min_length": (lambda value, least: len(value) < least, _too_short),
    "max_length": (lambda value, most: len(value) > most, _too_long),
    "pattern": (
        lambda value, pattern: re.search(pattern, value) is None,
        lambda _, pattern: f"String should match pattern '{shown_pattern(pattern)}'",
    ),
    "le": (
        lambda value, most: value > most,
        lambda _, most: f"Input should be less than or equal to {_spell(most)}",
    ),
    "lt": (
        lambda value, most: value >= most,
        lambda _, most: f"Input should be less than {_spell(most)}",
    ),
    "ge": (
        lambda value, least: value < least,
        lambda _, least: f"Input should be greater than or equal to {_spell(least)}",
    ),
    "gt": (
        lambda value, least: value <= least,
        lambda _, least: f"Input should be greater than {_spell(least)}",
    ),
}


def shown_pattern(pattern: str) -> str:
    r"""Return a pattern as clients know it: `$` for Python's `\Z`, which is the end and nothing
    else."""
    return pattern.replace(r"\Z", "$")
