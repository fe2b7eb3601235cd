"""Write the client's nouns from the declarations of the API, blocking and awaited.

    python -m scripts.client_code            write src/atoll/client/{made,aio/made}
    python -m scripts.client_code --check    compare with what is there

What is written needs the standard library only. `scripts/client_names.py` says where the client
has names of its own; `scripts/client_types.py` writes shapes and bodies.
"""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from atoll.wire.api.annotations import kind_of, only_member
from atoll.wire.api.fields import Paging, SandboxRef, Waiting
from atoll.wire.api.operation import (
    REQUIRED,
    Area,
    Operation,
    Parameter,
    Place,
    operations_of,
)
from scripts.client_names import (
    ARGUMENTS,
    ATTRIBUTES,
    AWAITED_BY_HAND,
    BLOCKING_BY_HAND,
    BY_PAIRS,
    BY_PLACE,
    JOINED,
    KEYWORDS,
    LEFT_OUT,
    METHODS,
    OF_COMMANDS,
    SILENCE_SECONDS,
)
from scripts.client_types import AREAS, MADE, AreaTypes, Imports, classes, declarations, docstring

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src"
BLOCKING: Final = SOURCE / "atoll" / "client" / "made"
AWAITED: Final = SOURCE / "atoll" / "client" / "aio" / "made"
OWN: Final = "organization"
"""The parameter of paths that may be left to the server: None is the caller's organization."""

_MADE_BY: Final = "Made from the declarations of the API by `scripts/client`."
_WORD: Final = re.compile(r"(?<=.)(?=[A-Z])")
_SEGMENT: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a noun: its name, its operation, and the operation's full name."""

    name: str
    operation: Operation[..., Any]
    full_name: str

    @property
    def by_pairs(self) -> bool:
        """Report whether its query is given as pairs, a page at a time."""
        return self.full_name in BY_PAIRS

    @property
    def is_paged(self) -> bool:
        """Report whether it returns all pages as one answer."""
        pages = any(each.group is Paging for each in self.operation.parameters())
        return pages and not self.by_pairs

    @property
    def takes_query(self) -> bool:
        """Report whether its operation has a query."""
        return any(each.place is Place.QUERY for each in self.operation.parameters())

    def parameters(self) -> list[Parameter]:
        """Return those of the operation that it has as arguments. Those of a page and of a wait
        are given by the query, headers by no method."""
        found = list(self.operation.parameters())
        if self.full_name in KEYWORDS:
            found = _spread(found)
        hidden = (Place.HEADER, Place.QUERY) if self.by_pairs else (Place.HEADER,)
        groups = (Paging, Waiting)
        return [one for one in found if one.place not in hidden and one.group not in groups]

    def argument(self, parameter: Parameter) -> str:
        """Return the name of a parameter in the signature."""
        noun = self.full_name.partition(".")[0]
        name = parameter.name
        for key in (f"{self.full_name}.{name}", f"{noun}.{name}", name):
            if key in ARGUMENTS:
                return ARGUMENTS[key]
        in_path = parameter.place is Place.PATH and parameter.annotation is not SandboxRef
        return f"{name}_id" if in_path and not name.endswith("_id") else name


class NounCode:
    """The code of one noun."""

    def __init__(self, area: type[Area], types: AreaTypes, imports: Imports) -> None:
        self._area = area
        self._python, self._shape = types.python, types.shape
        self._need = imports.need
        self._methods = made_methods(area)

    def blocking(self) -> str:
        """Return the class of the blocking client."""
        self._need("atoll.client.transport", "Transport")
        text = f"{self._area.__doc__} Every method raises the classes of `atoll.domain.errors`."
        lines = [
            f"class {class_name(self._area, BLOCKING_BY_HAND)}:",
            docstring(text, 4),
            "",
            "    def __init__(self, transport: Transport) -> None:",
            "        self._transport = transport",
        ]
        for method in self._methods:
            lines += ["", *self._method(method)]
        return "\n" + "\n".join(lines)

    def _method(self, method: Method) -> Iterator[str]:
        one = method.operation
        arguments = [*self._arguments(method)]
        if method.full_name in BY_PLACE and "*" in arguments:
            arguments.remove("*")
        answer = "None" if one.answer is None else self._shape(only_member(kind_of(one.answer)))
        yield f"    def {method.name}({', '.join(['self', *arguments])}) -> {answer}:"
        yield docstring(one.text, 8)
        if any(each.name == OWN for each in method.parameters()):
            self._need("atoll.client.parts", "organization_of")
            yield "        own = organization_of(self._transport, ref)"
        call = self._call(method)
        if one.answer is None:
            yield f"        self._transport.call({call})"
        else:
            read = "read_all" if method.is_paged else "read"
            yield f"        return self._transport.{read}({answer}, {call})"

    def _arguments(self, method: Method) -> Iterator[str]:
        by_name = False
        for one in method.parameters():
            name = method.argument(one)
            if one.place is Place.PATH:
                yield f"{name}: {self._path_type(one)}"
            elif one.place is Place.BODY:
                default = "" if one.default is REQUIRED else " = None"
                yield f"{name}: {self._python(one.annotation)}{default}"
            else:
                if not by_name:
                    yield "*"
                by_name = True
                yield f"{name}: {self._keyword_type(one)}"
        if method.takes_query:
            # Further parameters, of a newer server.
            self._need("atoll.client.transport", "Pairs")
            mark = "" if by_name or method.by_pairs else "*, "
            yield f"{mark}query: Pairs = ()"

    def _path_type(self, one: Parameter) -> str:
        if one.name == OWN:
            return "str | None"
        return "int" if kind_of(one.annotation).plain is int else "str"

    def _keyword_type(self, one: Parameter) -> str:
        plain = self._python(only_member(kind_of(one.annotation)))
        default = "" if one.default is REQUIRED else " | None = None"
        if one.is_list:
            # A noun has a method `list`, which hides the type in its class.
            self._need("collections.abc", "Sequence")
            plain = plain.replace("list[", "Sequence[", 1)
            default = default and " = ()"
        return f"{plain}{default}"

    def _call(self, method: Method) -> str:
        one, parameters = method.operation, method.parameters()
        segments = ", ".join(self._segments(method))
        queries = [each for each in parameters if each.place is Place.QUERY]
        query = ", ".join(f"{each.key}={method.argument(each)}" for each in queries)
        if query:
            self._need("atoll.client.transport", "query_of")
            query = f", query=query_of({query}) + query"
        elif method.takes_query:
            query = ", query=query"
        value = self._value(method, parameters)
        changes = "" if one.path.startswith("/v1/") else f'path="{one.path}"'
        if seconds := SILENCE_SECONDS.get(method.full_name):
            changes = f"timeout={seconds}"
        changed = f"._replace({changes})" if changes else ""
        verb = one.method.lower()
        if verb == "delete":
            self._need("atoll.client.transport", "Call")
            self._need("atoll.client.transport", "api_path")
            return f'Call("DELETE", api_path({segments}){query.replace("query=", "")}){changed}'
        self._need("atoll.client.transport", verb)
        return f"{verb}({segments}{value and f', value={value}'}{query}){changed}"

    def _segments(self, method: Method) -> Iterator[str]:
        parameters = {one.name: one for one in method.parameters() if one.place is Place.PATH}
        for part in method.operation.path.removeprefix("/v1/").strip("/").split("/"):
            if not (found := _SEGMENT.fullmatch(part)):
                yield f'"{part}"'
                continue
            one = parameters[found[1]]
            name = "own" if one.name == OWN else method.argument(one)
            yield f"str({name})" if self._path_type(one) == "int" else name

    def _value(self, method: Method, parameters: Sequence[Parameter]) -> str:
        """Return the expression of a body; empty where there is none."""
        fields = [one for one in parameters if one.place is Place.FIELD]
        if fields:
            self._need("atoll.client.transport", "omit_absent")
            values = ", ".join(f"{one.key}={method.argument(one)}" for one in fields)
            return f"omit_absent({values})"
        bodies = [method.argument(one) for one in parameters if one.place is Place.BODY]
        return bodies[0] if bodies else ""


def nouns_of(area: str) -> list[type[Area]]:
    """Return the nouns that are made in the module of an area."""
    return [
        one
        for one in classes(declarations(area), Area)
        if one.__name__ not in JOINED and made_methods(one)
    ]


def class_name(noun: type[Area], by_hand: Mapping[str, str], *, kind: str = "") -> str:
    """Return the name of a noun's class; one that a class by hand extends is a plain one."""
    return f"{'Plain' if noun.__name__ in by_hand else ''}{kind}{noun.__name__}"


def made_methods(noun: type[Area]) -> list[Method]:
    """Return the methods of a noun that are made, of whatever area: those that are not by hand."""
    by_hand = methods_by_hand(BLOCKING_BY_HAND.get(noun.__name__, ""))
    return [one for one in noun_methods().get(noun.__name__, ()) if one.name not in by_hand]


@cache
def noun_methods() -> dict[str, list[Method]]:
    """Return the methods of every noun. The client has those by hand whose bodies or answers are
    no JSON."""
    found: dict[str, list[Method]] = {}
    for area in (each for name in AREAS for each in classes(declarations(name), Area)):
        for name, one in vars(area).items():
            full_name = f"{area.__name__}.{name}"
            if one not in operations_of(area) or {area.__name__, full_name} & LEFT_OUT:
                continue
            if not (one.stream or one.takes or one.reads):
                noun = JOINED.get(area.__name__, area.__name__)
                method = Method(METHODS.get(full_name, name), one, full_name)
                found.setdefault(noun, []).append(method)
    return found


def methods_by_hand(full_name: str) -> dict[str, bool]:
    """Return the public methods of a class in the source, and whether each yields."""
    if not full_name:
        return {}
    module, _, name = full_name.rpartition(".")
    path = SOURCE.joinpath(*module.split(".")).with_suffix(".py")
    body = next(
        one.body
        for one in ast.parse(path.read_text()).body
        if isinstance(one, ast.ClassDef) and one.name == name
    )
    found = {
        one.name: any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(one))
        for one in body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and not one.name.startswith("_")
    }
    return found


def _blocking_module(area: str) -> str:
    imports = Imports()
    types = AreaTypes(area, imports)
    parts = [*types.code(_spread_bodies())]
    parts += [NounCode(one, types, imports).blocking() for one in nouns_of(area)]
    parts = [*types.words(), *parts]
    head = f'"""{_opening(area)}\n\n{_MADE_BY}\n"""'
    return "\n\n".join([head, imports.lines(), *parts]) + "\n"


def _awaited_module(area: str) -> str:
    imports = Imports()
    imports.need("atoll.client.aio.nouns", "AsyncNoun")
    nouns = [_awaited_noun(area, one, imports) for one in _awaited_nouns(area)]
    head = f'"""{_opening(area)}\n\nAwaited. {_MADE_BY}\n"""'
    return "\n\n".join([head, imports.lines(), *nouns]) + "\n"


def _awaited_noun(area: str, noun: type[Area], imports: Imports) -> str:
    name = noun.__name__
    by_hand = BLOCKING_BY_HAND.get(name, "")
    folder, _, module = (by_hand.rpartition(".")[0] or f"{MADE}.{area}").rpartition(".")
    imports.need(folder, module if by_hand else f"{module} as made")
    own = f"{module if by_hand else 'made'}.{name}"
    names = [one.name for one in made_methods(noun)]
    names += [one for one, yields in methods_by_hand(by_hand).items() if not yields]
    awaited = methods_by_hand(AWAITED_BY_HAND.get(name, ""))
    lines = [f"class {class_name(noun, AWAITED_BY_HAND, kind='Async')}(AsyncNoun[{own}]):"]
    lines += [docstring(noun.__doc__, 4), "", f"    blocking = {own}"]
    for one in (one for one in names if one not in awaited):
        imports.need("atoll.client.aio.nouns", "Awaited")
        lines.append(f"    {one} = Awaited({own}.{one})")
    return "\n" + "\n".join(lines)


def _client_module() -> str:
    """Return the module of the class that has an attribute for each awaited noun; `Atoll` has the
    classes by hand."""
    imports = Imports()
    imports.need("atoll.client.aio.connection", "Connection")
    lines = []
    areas = {noun.__name__: area for area in AREAS for noun in _awaited_nouns(area)}
    for name in sorted(areas.keys() - AWAITED_BY_HAND.keys()):
        imports.need(f"atoll.client.aio.made.{areas[name]}", f"Async{name}")
        attribute = ATTRIBUTES.get(name) or _WORD.sub("_", name).lower()
        lines.append(f"        self.{attribute} = Async{name}(connection)")
    head = f'"""The nouns of the client for programs.\n\n{_MADE_BY}\n"""'
    text = "Nouns of the API whose calls are all made, over one connection."
    opening = f"class MadeNouns:\n{docstring(text, 4)}\n"
    init = "    def __init__(self, connection: Connection) -> None:"
    return "\n\n".join([head, imports.lines(), "\n".join(["", opening, init, *lines])]) + "\n"


def _awaited_nouns(area: str) -> list[type[Area]]:
    return [one for one in nouns_of(area) if one.__name__ not in OF_COMMANDS]


def made_files() -> dict[Path, str]:
    """Return what is written, by its path."""
    files = {AWAITED / "client.py": _client_module()}
    for area in AREAS:
        path = Path(*area.split(".")).with_suffix(".py")
        files[BLOCKING / path] = _blocking_module(area)
        if _awaited_nouns(area):
            files[AWAITED / path] = _awaited_module(area)
    return files


def _spread_bodies() -> set[type]:
    """Return the bodies that are given by their fields alone."""
    found: dict[bool, set[type]] = {True: set(), False: set()}
    for method in (one for methods in noun_methods().values() for one in methods):
        for each in method.operation.parameters():
            if each.place is Place.BODY:
                body = only_member(kind_of(each.annotation))
                found[method.full_name in KEYWORDS].add(body)
    return found[True] - found[False]


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


def _opening(area: str) -> str:
    return inspect.cleandoc(declarations(area).__doc__ or "").partition("\n\n")[0]


def _formatted(text: str) -> str:
    ruff = str(Path(sys.executable).parent / "ruff")
    for words in (("check", "-q", "--select", "I", "--fix"), ("format", "-q")):
        argv = [ruff, *words, "--stdin-filename", str(BLOCKING / "x.py"), "-"]
        text = subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout
    return text


def stale_files() -> list[str]:
    """Return the paths of what is not as it would be written now, or is written no more."""
    made = made_files()
    stale = [
        path
        for path, text in made.items()
        if not path.exists() or path.read_text() != _formatted(text)
    ]
    there = [*BLOCKING.rglob("*.py"), *AWAITED.rglob("*.py")]
    stale += [one for one in there if one.name != "__init__.py" and one not in made]
    return [str(path.relative_to(ROOT)) for path in stale]


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
