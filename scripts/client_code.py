"""Write the client's nouns from the declarations of the API, blocking and awaited.

    python -m scripts.client_code            write src/atoll/client/{made,aio/made}
    python -m scripts.client_code --check    compare with what is there

What is written needs the standard library only. `scripts/client_names.py` has the areas, and where
the client has names of its own.
"""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_args, get_origin

import msgspec

from atoll.wire.api.annotations import Kind, kind_of, only_member
from atoll.wire.api.fields import JsonObject, Paging, SandboxRef, Seconds
from atoll.wire.api.operation import (
    REQUIRED,
    Answer,
    Area,
    OpenAnswer,
    Operation,
    Parameter,
    PartialAnswer,
    Place,
    Request,
    operations_of,
)
from scripts.client_names import (
    AREAS,
    ARGUMENTS,
    BY_HAND,
    BY_PLACE,
    ITERATED,
    KEYWORDS,
    NAMED,
    NAMED_OTHERWISE,
    NOUNS_BY_HAND,
    UNLIMITED,
)

ROOT: Final = Path(__file__).parents[1]
MADE: Final = ROOT / "src" / "atoll" / "client" / "made"
AWAITED: Final = ROOT / "src" / "atoll" / "client" / "aio" / "made"
DECLARED: Final = "atoll.wire.api"
MADE_PACKAGE: Final = "atoll.client.made"
_MADE_BY: Final = "Made from the declarations of the API by `scripts/client`."

_FIELDS: Final = {str: "text", bool: "flag", int: "number", float: "decimal"}
_LISTS: Final = {str: "texts", int: "numbers"}
_MAPPINGS: Final = {str: "named_texts"}
_SEGMENT: Final = re.compile(r"\{(\w+)\}")


class AreaCode:
    """The code of one area's module: its words, shapes, bodies and nouns."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._imports: dict[str, set[str]] = {}
        self.areas: list[type[Area]] = []
        if module.__name__.removeprefix(f"{DECLARED}.") not in NOUNS_BY_HAND:
            self.areas = _classes(module, Area)

    def blocking(self) -> str:
        """Return the module of the blocking client."""
        parts = [*self._words(), *self._shapes(), *self._bodies()]
        parts += [self._noun(area) for area in self.areas]
        head = f'"""{_opening(self._module)}\n\n{_MADE_BY}\n"""'
        return "\n\n".join([head, self._import_lines(), *parts]) + "\n"

    def awaited(self) -> str:
        """Return the module of the awaited client."""
        name = self._module.__name__.removeprefix(DECLARED)
        folder, _, name = f"atoll.client.made{name}".rpartition(".")
        nouns = [_awaited_noun(area) for area in self.areas]
        head = f'"""{_opening(self._module)}\n\nAwaited. {_MADE_BY}\n"""'
        lines = (
            "from atoll.client.aio.nouns import AsyncNoun, Awaited\n"
            f"from {folder} import {name} as made"
        )
        return "\n\n".join([head, lines, *nouns]) + "\n"

    def _words(self) -> Iterator[str]:
        for one in _enums(self._structs()):
            values = ", ".join(f'"{word.value}"' for word in one)
            self._need("typing", "Literal")
            yield f"{one.__name__} = Literal[{values}]"

    def _structs(self) -> list[type[msgspec.Struct]]:
        return [*_classes(self._module, Answer), *_classes(self._module, Request)]

    def _shapes(self) -> Iterator[str]:
        for struct in _classes(self._module, Answer):
            self._need("atoll.client.fields", "Shape")
            parent = struct.__bases__[0]
            inherited = (
                set()
                if parent in (Answer, OpenAnswer, PartialAnswer)
                else set(parent.__struct_fields__)
            )
            base = self._shape(parent) if inherited else "Shape"
            lines = [f"class {shape_name(struct)}({base}):", _docstring(struct.__doc__, 4), ""]
            for field in msgspec.structs.fields(struct):
                if field.name not in inherited and not iskeyword(field.encode_name):
                    kind = kind_of(field.type)
                    line = self._field(field.encode_name, kind)
                    if line is None:
                        continue
                    if shape_name(struct) in UNLIMITED and kind.is_optional:
                        line = line.replace("number()", "number(-1)")
                    lines.append(f"    {line}")
            yield "\n" + "\n".join(lines)

    def _field(self, name: str, kind: Kind) -> str | None:
        """Return the line of a shape's field; None for one that is read from `value` only."""
        self._need("atoll.client", "fields")
        inner = kind_of(only_member(kind))
        if isinstance(inner.plain, type) and issubclass(inner.plain, Enum):
            self._need("atoll.client.fields", "Field")
            return f"{name}: Field[{inner.plain.__name__}] = fields.word()"
        if inner.words is not None:
            self._need("atoll.client.fields", "Field")
            return f"{name}: Field[{self._python(inner.plain)}] = fields.word()"
        if inner.item is not None:
            if kind_of(inner.item).item is not None:
                return None
            item = kind_of(inner.item).plain
            return (
                f"{name} = fields.{_LISTS[item]}()"
                if item in _LISTS
                else (f"{name} = fields.many({self._shape(item)})")
            )
        if inner.plain == JsonObject:
            self._need(BY_HAND["Payload"], "Payload")
            return f"{name} = fields.one(Payload)"
        if inner.entry is not None:
            return f"{name} = fields.{_MAPPINGS[kind_of(inner.entry[1]).plain]}()"
        if inner.plain in _FIELDS:
            return f"{name} = fields.{_FIELDS[inner.plain]}()"
        return f"{name} = fields.one({self._shape(inner.plain)})"

    def _shape(self, struct: type) -> str:
        name = shape_name(struct)
        self._need_of(struct, name)
        return name

    def _need_of(self, struct: type, name: str) -> None:
        """Import the shape or body of a Struct that is not of this area."""
        area = struct.__module__.removeprefix(f"{DECLARED}.")
        if name in BY_HAND:
            self._need(BY_HAND[name], name)
        elif area in AREAS and struct.__module__ != self._module.__name__:
            self._need(f"{MADE_PACKAGE}.{area}", name)

    def _bodies(self) -> Iterator[str]:
        for struct in _classes(self._module, Request):
            if struct in self._spread_bodies():
                continue
            self._need("typing", "TypedDict")
            kinds = {}
            for field in msgspec.structs.fields(struct):
                kind = self._python(field.type)
                if field.required:
                    self._need("typing", "Required")
                    kind = f"Required[{kind}]"
                kinds[field.encode_name] = kind
            yield _typed_dict(struct, kinds)

    def _spread_bodies(self) -> set[type]:
        """Return the bodies whose fields are keywords."""
        return {
            only_member(kind_of(each.annotation))
            for area in self.areas
            for name, one in _named_operations(area).items()
            if f"{area.__name__}.{name}" in KEYWORDS
            for each in one.parameters()
            if each.place is Place.BODY
        }

    def _python(self, annotation: Any) -> str:
        """Return the type of a value that is sent."""
        kind = kind_of(annotation)
        if len(kind.members) > 1:
            return " | ".join(self._python(one) for one in kind.members)
        if kind.item is not None:
            return f"list[{self._python(kind.item)}]"
        if kind.entry is not None:
            return f"dict[{', '.join(map(self._python, kind.entry))}]"
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
        if issubclass(plain, Request):
            self._need_of(plain, plain.__name__)
        return str(plain.__name__)

    def _noun(self, area: type[Area]) -> str:
        self._need("atoll.client.transport", "Transport")
        text = f"{area.__doc__} Every method raises the classes of `atoll.domain.errors`."
        lines = [
            f"class {area.__name__}:",
            _docstring(text, 4),
            "",
            "    def __init__(self, transport: Transport) -> None:",
            "        self._transport = transport",
        ]
        for name, one in _named_operations(area).items():
            lines += ["", *self._method(name, one, f"{area.__name__}.{name}")]
        return "\n" + "\n".join(lines)

    def _method(self, name: str, one: Operation[..., Any], full_name: str) -> Iterator[str]:
        parameters = _spread(one.parameters()) if full_name in KEYWORDS else one.parameters()
        paged = any(each.group is Paging for each in parameters)
        parameters = [each for each in parameters if each.group is not Paging]
        named = {each.name: _argument(each) for each in parameters}
        answer = "None" if one.answer is None else self._shape(one.answer)
        arguments = [*self._arguments(parameters, paged=paged)]
        if full_name in BY_PLACE:
            arguments.remove("*")
        signature = ", ".join(["self", *arguments])
        yield f"    def {name}({signature}) -> {answer}:"
        yield _docstring(one.text, 8)
        call = self._call(one, parameters, named, paged=paged)
        if one.answer is None:
            yield f"        self._transport.call({call})"
        else:
            read = "read_all" if paged else "read"
            yield f"        return self._transport.{read}({answer}, {call})"

    def _arguments(self, parameters: Iterable[Parameter], *, paged: bool) -> Iterator[str]:
        keywords = has_query = False
        for one in parameters:
            match one.place:
                case Place.PATH:
                    yield f"{_argument(one)}: str"
                case Place.BODY:
                    yield f"body: {self._python(one.annotation)}{_default_of(one)}"
                case Place.QUERY | Place.HEADER | Place.FIELD:
                    if not keywords:
                        yield "*"
                    keywords = True
                    plain = self._python(only_member(kind_of(one.annotation)))
                    default = "" if one.default is REQUIRED else " | None = None"
                    if one.is_list:
                        # A noun has a method `list`, which hides the type in its class.
                        self._need("collections.abc", "Sequence")
                        plain = plain.replace("list[", "Sequence[", 1)
                        default = default and " = ()"
                    yield f"{one.name}: {plain}{default}"
                    has_query |= one.place is Place.QUERY
        if has_query or paged:
            # Further parameters, of a newer server.
            self._need("atoll.client.transport", "Pairs")
            yield "query: Pairs = ()" if keywords else "*, query: Pairs = ()"

    def _call(
        self,
        one: Operation[..., Any],
        parameters: Sequence[Parameter],
        named: dict[str, str],
        *,
        paged: bool,
    ) -> str:
        segments = ", ".join(
            named[found[1]] if (found := _SEGMENT.fullmatch(part)) else f'"{part}"'
            for part in one.path.removeprefix("/v1/").strip("/").split("/")
        )
        queries = [each for each in parameters if each.place is Place.QUERY]
        query = ", ".join(f"{each.key}={each.name}" for each in queries)
        if query:
            self._need("atoll.client.transport", "query_of")
            query = f", query=query_of({query}) + query"
        elif paged:
            query = ", query=query"
        value = _value(parameters)
        if value.startswith("omit_absent("):
            self._need("atoll.client.transport", "omit_absent")
        verb = one.method.lower()
        if verb == "delete":
            self._need("atoll.client.transport", "Call")
            self._need("atoll.client.transport", "at")
            return f'Call("DELETE", at({segments}){query.replace("query=", "")})'
        self._need("atoll.client.transport", verb)
        moved = "" if one.path.startswith("/v1/") else f'._replace(path="{one.path}")'
        return f"{verb}({segments}{value and f', value={value}'}{query}){moved}"

    def _need(self, module: str, name: str) -> None:
        self._imports.setdefault(module, set()).add(name)

    def _import_lines(self) -> str:
        return "\n".join(
            f"from {module} import {', '.join(sorted(names))}"
            for module, names in sorted(self._imports.items())
        )


def _awaited_noun(area: type[Area]) -> str:
    own = f"made.{area.__name__}"
    lines = [f"class Async{area.__name__}(AsyncNoun[{own}]):", _docstring(area.__doc__, 4), ""]
    lines += [f"    blocking = {own}"]
    names = [one for one in _named_operations(area) if f"{area.__name__}.{one}" not in ITERATED]
    lines += [f"    {one} = Awaited({own}.{one})" for one in names]
    return "\n" + "\n".join(lines)


def shape_name(struct: type) -> str:
    """Return the client's name of an answer."""
    name = struct.__name__
    return NAMED_OTHERWISE.get(name, name.removesuffix("View"))


def made_files() -> dict[Path, str]:
    """Return what is written, by its path."""
    files = {}
    for name in AREAS:
        code = AreaCode(import_module(f"{DECLARED}.{name}"))
        path = Path(*name.split(".")).with_suffix(".py")
        files[MADE / path] = code.blocking()
        if code.areas:
            files[AWAITED / path] = code.awaited()
    return files


def _named_operations(area: type[Area]) -> dict[str, Operation[..., Any]]:
    """Return the operations whose bodies and answers are JSON; the client has the others by
    hand."""
    mine = {one for one in operations_of(area) if not (one.stream or one.takes or one.reads)}
    return {name: one for name, one in vars(area).items() if one in mine}


def _typed_dict(struct: type, kinds: Mapping[str, str]) -> str:
    """Return the dictionary of a body; one with a key that Python has as a keyword is a call."""
    name = struct.__name__
    if not any(map(iskeyword, kinds)):
        lines = [f"class {name}(TypedDict, total=False):", _docstring(struct.__doc__, 4), ""]
        return "\n" + "\n".join([*lines, *(f"    {key}: {kind}" for key, kind in kinds.items())])
    items = ", ".join(f'"{key}": {kind}' for key, kind in kinds.items())
    call = f'{name} = TypedDict("{name}", {{{items}}}, total=False)'
    return f"{call}\n{_docstring(struct.__doc__, 0)}\n"


def _default_of(one: Parameter) -> str:
    return "" if one.default is REQUIRED else " = None"


def _spread(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return the parameters with the fields of the body in its place."""
    found: list[Parameter] = []
    for one in parameters:
        found += _fields_of(one) if one.place is Place.BODY else [one]
    return found


def _fields_of(body: Parameter) -> Iterator[Parameter]:
    for field in msgspec.structs.fields(only_member(kind_of(body.annotation))):
        default = REQUIRED if field.required else field.default
        yield Parameter(field.name, field.encode_name, Place.FIELD, field.type, default)


def _value(parameters: Sequence[Parameter]) -> str:
    """Return the expression of a body; empty where there is none."""
    fields = [one for one in parameters if one.place is Place.FIELD]
    if fields:
        return f"omit_absent({', '.join(f'{one.key}={one.name}' for one in fields)})"
    return "body" if any(one.place is Place.BODY for one in parameters) else ""


def _argument(parameter: Parameter) -> str:
    named = parameter.annotation is SandboxRef or parameter.name in NAMED
    if parameter.place is not Place.PATH or named:
        return parameter.name
    return ARGUMENTS.get(parameter.name, f"{parameter.name}_id")


def _classes(module: ModuleType, parent: type) -> list[Any]:
    return [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, parent) and one.__module__ == module.__name__
    ]


def _enums(structs: Iterable[type[msgspec.Struct]]) -> list[type[Enum]]:
    found: dict[str, type[Enum]] = {}
    for struct in structs:
        for field in msgspec.structs.fields(struct):
            for one in _leaves(field.type):
                if isinstance(one, type) and issubclass(one, Enum):
                    found[one.__name__] = one
    return [*found.values()]


def _leaves(annotation: Any) -> Iterator[Any]:
    plain = kind_of(annotation).plain
    if get_origin(plain) is None:
        yield plain
    for one in get_args(plain):
        yield from _leaves(one)


def _opening(module: ModuleType) -> str:
    return inspect.cleandoc(module.__doc__ or "").partition("\n\n")[0]


def _docstring(text: str | None, indent: int) -> str:
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


def _formatted(text: str) -> str:
    ruff = str(Path(sys.executable).parent / "ruff")
    for words in (("check", "-q", "--select", "I", "--fix"), ("format", "-q")):
        argv = [ruff, *words, "--stdin-filename", str(MADE / "x.py"), "-"]
        text = subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout
    return text


def stale_files() -> list[str]:
    """Return the paths of what is not as it would be written now."""
    made = made_files().items()
    return [
        str(path.relative_to(ROOT))
        for path, text in made
        if not path.exists() or path.read_text() != _formatted(text)
    ]


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` report whether they are current (0 or 1)."""
    if "--check" in arguments:
        stale = stale_files()
        for stale_path in stale:
            print(f"{stale_path} is not current: run scripts/client", file=sys.stderr)
        return 1 if stale else 0
    for path, text in made_files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_formatted(text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
