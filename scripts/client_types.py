"""Types of the client's made modules: words, shapes of answers, dictionaries of bodies."""

import inspect
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from importlib import import_module
from keyword import iskeyword
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, Final, get_args, get_origin

import msgspec

from atoll.wire import api
from atoll.wire.api.annotations import Kind, kind_of, only_member
from atoll.wire.api.fields import JsonObject, Seconds
from atoll.wire.api.operation import (
    Answer,
    Area,
    OpenAnswer,
    PartialAnswer,
    Request,
    operations_of,
)
from scripts.client_names import NAMED_OTHERWISE, NOT_MADE, NULL_NUMBERS, SHAPE_BASES

DECLARED: Final = api.__name__
AREAS: Final = [
    name
    for one in walk_packages(api.__path__, f"{DECLARED}.")
    if not one.ispkg and (name := one.name.removeprefix(f"{DECLARED}.")) not in NOT_MADE
]
"""The modules of declarations of which the client has shapes, bodies and nouns."""
CONTRACT: Final = "atoll.wire.contract"
MADE: Final = "atoll.client.made"

_FIELDS: Final = {str: "text", bool: "flag", int: "number", float: "decimal"}
_LISTS: Final = {str: "texts", int: "numbers"}
_MAPPINGS: Final = {str: "named_texts"}
_ROOTS: Final = (Answer, OpenAnswer, PartialAnswer, msgspec.Struct)
_MEMBERS_OF_SHAPES: Final = ("read", "value")


class Imports:
    """The imports of a module."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def need(self, module: str, name: str) -> None:
        """Import a name."""
        self._names.setdefault(module, set()).add(name)

    def lines(self) -> str:
        """Return the statements."""
        return "\n".join(
            f"from {module} import {', '.join(sorted(names))}"
            for module, names in sorted(self._names.items())
        )


class AreaTypes:
    """The types of one area, and their names in the code of its module."""

    def __init__(self, area: str, imports: Imports) -> None:
        self._area = area
        self._need = imports.need
        self._module = declarations(area)
        self._shapes = [each for each, owner in owners().items() if owner == area]
        self._words: dict[str, type[Enum]] = {}
        self._requests = classes(self._module, Request)

    def code(self, spread: set[type]) -> Iterator[str]:
        """Yield shapes and bodies. Those that are `spread` over keywords have none."""
        for struct in self._shapes:
            yield self._shape_code(struct)
        for struct in self._requests:
            if struct not in spread:
                yield self._body_code(struct)

    def words(self) -> Iterator[str]:
        """Yield the words that the code so far has."""
        for name, one in self._words.items():
            values = ", ".join(f'"{word.value}"' for word in one)
            self._need("typing", "Literal")
            yield f"{name} = Literal[{values}]"

    def _shape_code(self, struct: type[msgspec.Struct]) -> str:
        parent: Any = struct.__bases__[0]
        inherited = () if parent in _ROOTS else parent.__struct_fields__
        bases = [self.shape(parent)] if inherited else []
        if by_hand := SHAPE_BASES.get(struct.__name__):
            module, _, name = by_hand.rpartition(".")
            self._need(module, name)
            bases.insert(0, name)
        if not bases:
            self._need("atoll.client.fields", "Shape")
        lines = [f"class {shape_name(struct)}({', '.join(bases or ['Shape'])}):"]
        lines += [docstring(struct.__doc__, 4), ""]
        for field in msgspec.structs.fields(struct):
            name = field.encode_name
            if field.name in inherited or iskeyword(name) or name in _MEMBERS_OF_SHAPES:
                continue
            kind = kind_of(field.type)
            line = self._field(name, kind, may_lack=issubclass(struct, PartialAnswer))
            if line and kind.is_optional:
                line = line.replace("number()", f"number({_number_of_null(struct, name)})")
            lines += [f"    {line}"] if line else []
        return "\n" + "\n".join(lines)

    def _field(self, name: str, kind: Kind, *, may_lack: bool) -> str | None:
        """Return the line of a shape's field; None for one that is read from `value` only."""
        inner = kind_of(only_member(kind))
        if _is_enum(inner.plain) or inner.words is not None:
            self._need("atoll.client", "fields")
            self._need("atoll.client.fields", "Field")
            return f"{name}: Field[{self.python(inner.plain)}] = fields.word()"
        made = self._maker(inner)
        if made is None:
            return None
        self._need("atoll.client", "fields")
        if may_lack and kind.is_optional:
            made = made.replace("one(", "optional(")
        return f"{name} = fields.{made}"

    def _maker(self, inner: Kind) -> str | None:
        if inner.item is not None:
            item = kind_of(inner.item).plain
            if _is_struct(item):
                return f"many({self.shape(item)})"
            return f"{_LISTS[item]}()" if item in _LISTS else None
        if inner.plain == JsonObject:
            self._need("atoll.client.fields", "Shape")
            return "one(Shape)"
        if inner.entry is not None:
            value = kind_of(inner.entry[1]).plain
            return f"{_MAPPINGS[value]}()" if value in _MAPPINGS else None
        if inner.plain in _FIELDS:
            return f"{_FIELDS[inner.plain]}()"
        return f"one({self.shape(inner.plain)})" if _is_struct(inner.plain) else None

    def shape(self, struct: type) -> str:
        """Return the name of an answer's shape, imported."""
        name = shape_name(struct)
        owner = owners().get(struct)
        if owner is None:
            raise LookupError(f"{struct.__module__} of {struct.__name__} is not among the areas")
        if owner != self._area:
            self._need(f"{MADE}.{owner}", name)
        return name

    def _body_code(self, struct: type[msgspec.Struct]) -> str:
        self._need("typing", "TypedDict")
        kinds = {}
        for field in msgspec.structs.fields(struct):
            kind = self.python(field.type)
            if field.required:
                self._need("typing", "Required")
                kind = f"Required[{kind}]"
            kinds[field.encode_name] = kind
        return _typed_dict(struct, kinds)

    def python(self, annotation: Any) -> str:
        """Return the type of a value that is sent."""
        kind = kind_of(annotation)
        if len(kind.members) > 1:
            return " | ".join(self.python(one) for one in kind.members)
        if kind.item is not None:
            return f"list[{self.python(kind.item)}]"
        if kind.entry is not None:
            return f"dict[{', '.join(map(self.python, kind.entry))}]"
        if kind.words is not None:
            self._need("typing", "Literal")
            return f"Literal[{', '.join(map(repr, kind.words))}]"
        return self._plain(kind.plain)

    def _plain(self, plain: Any) -> str:
        """Return the type of a value that is neither a union nor a list."""
        if plain is type(None):
            return "None"
        if plain is Any:
            return "object"
        if issubclass(plain, Seconds):
            return "int | str"
        if _is_enum(plain):
            self._words[plain.__name__] = plain
        if issubclass(plain, Request):
            area = plain.__module__.removeprefix(f"{DECLARED}.")
            if area != self._area:
                self._need(f"{MADE}.{area}", plain.__name__)
        return str(plain.__name__)


def declarations(area: str) -> ModuleType:
    """Return the module of an area's declarations."""
    return import_module(f"{DECLARED}.{area}")


def classes(module: ModuleType, parent: type) -> list[Any]:
    """Return the classes of a kind that a module defines."""
    return [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, parent) and one.__module__ == module.__name__
    ]


def shape_name(struct: type) -> str:
    """Return the client's name of an answer."""
    name = struct.__name__
    return NAMED_OTHERWISE.get(name, name.removesuffix("View"))


def _number_of_null(struct: type, field: str) -> int | str:
    shape = shape_name(struct)
    return NULL_NUMBERS.get(f"{shape}.{field}", NULL_NUMBERS.get(shape, ""))


@cache
def owners() -> dict[type[msgspec.Struct], str]:
    """Return the area in whose module each answer is made, parts before their wholes. A part that
    the runtime's contract declares is made by the first area that has it."""
    found: dict[type[msgspec.Struct], str] = {}
    for area in AREAS:
        module = declarations(area)
        answers = [one.answer for each in classes(module, Area) for one in operations_of(each)]
        for root in (*classes(module, Answer), *answers):
            for struct in _parts(root):
                if struct.__module__.startswith(f"{CONTRACT}."):
                    found.setdefault(struct, area)
                elif struct.__module__ == module.__name__:
                    found[struct] = area
    return found


def _parts(annotation: Any) -> Iterator[type[msgspec.Struct]]:
    """Yield the Structs of a type, each after its parent and its own parts."""
    for one in _leaves(annotation):
        if _is_struct(one) and one not in _ROOTS:
            yield from _parts(one.__bases__[0])
            for field in msgspec.structs.fields(one):
                yield from _parts(field.type)
            yield one


def _leaves(annotation: Any) -> Iterator[Any]:
    plain = kind_of(annotation).plain
    if get_origin(plain) is None:
        yield plain
    for one in get_args(plain):
        yield from _leaves(one)


def _is_struct(plain: Any) -> bool:
    return isinstance(plain, type) and issubclass(plain, msgspec.Struct)


def _is_enum(plain: Any) -> bool:
    return isinstance(plain, type) and issubclass(plain, Enum)


def _typed_dict(struct: type, kinds: Mapping[str, str]) -> str:
    """Return the dictionary of a body; one with a key that Python has as a keyword is a call."""
    name = struct.__name__
    if not any(map(iskeyword, kinds)):
        lines = [f"class {name}(TypedDict, total=False):", docstring(struct.__doc__, 4), ""]
        return "\n" + "\n".join([*lines, *(f"    {key}: {kind}" for key, kind in kinds.items())])
    items = ", ".join(f'"{key}": {kind}' for key, kind in kinds.items())
    call = f'{name} = TypedDict("{name}", {{{items}}}, total=False)'
    return f"{call}\n{docstring(struct.__doc__, 0)}\n"


def docstring(text: str | None, indent: int) -> str:
    """Return a docstring of lines that fit, indented."""
    pad = " " * indent
    lines = inspect.cleandoc(text or "").splitlines()
    if len(lines) > 1 or len(lines[0]) + indent + 6 > 100:
        words = " ".join(lines).split(" ")
        lines = [""]
        for word in words:
            room = 97 - indent - (3 if len(lines) == 1 else 0)
            if len(lines[-1]) + 1 + len(word) > room:
                lines.append(word)
            else:
                lines[-1] = f"{lines[-1]} {word}".strip()
    body = f"\n{pad}".join(lines)
    return f'{pad}"""{body}"""'
