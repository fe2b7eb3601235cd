"""The `env_file` of services: files of the repository, whose variables are written out.

The extension reads a document that names no other file, so what it gets is the document with each
variable in `environment`, as a person would have written it out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from atoll.domain.compose.stack import AGENT
from atoll.domain.errors import Invalid
from atoll.domain.files.workspace_path import named_path
from atoll.domain.profile.yaml_tree import MAX_BYTES, Node, Scalar, read_tree

KEY: Final = "env_file"
MAX_FILES: Final = 20
_LINE = re.compile(
    r"""
    \s*(?:export\s+)?(?P<name>[^\s=\#'"]+)
    (?:\s*=
        (?:\s*
            (?:
                '(?P<single>[^']*)'
                | "(?P<double>(?:[^"\\]|\\.)*)"
                | (?P<plain>[^'"\s\#](?:[^\#]|(?<!\s)\#)*)
            )
        )?
    )?
    \s*(?:(?<=\s)\#.*)?
    """,
    re.VERBOSE,
)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}
_TAKES = re.compile(r"(?<!\\)\$[A-Za-z_{(]")
_UNPRINTED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")

Plain = Scalar | list["Plain"] | dict[str, "Plain"]


@dataclass(frozen=True, slots=True)
class EnvFile:
    """A file that a service names. `path` is its place in the workspace."""

    node: Node
    path: str
    required: bool = True


def find_env_files(document: str, folder: str) -> tuple[str, ...]:
    """Return the files that the services of a compose file in `folder` name. Raises `Invalid` for
    one outside the workspace."""
    found = [file.path for service in _services(document) for file in _files(service, folder)]
    if len(set(found)) > MAX_FILES:
        raise Invalid(f"The services name more than {MAX_FILES} files of variables.")
    return tuple(dict.fromkeys(found))


def write_out(document: str, folder: str, files: Mapping[str, str | None]) -> str:
    """Return a compose file with the variables of `files` in the `environment` of the services that
    name them; None stands for one that is not there. Raises `Invalid` with its line."""
    added: dict[str, dict[str, str]] = {}
    for service in _services(document):
        found = added[service.path] = {}
        for file in _files(service, folder):
            found |= _read(file, files.get(file.path))
    tree = _to_plain(read_tree(document, aliases=True), added)
    text = json.dumps(tree, ensure_ascii=False)
    text = _UNPRINTED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    if len(text.encode()) > MAX_BYTES:
        raise Invalid(f"With its files of variables it is larger than {MAX_BYTES} bytes.")
    return text


def _services(document: str) -> Iterator[Node]:
    """Yield the services that name files, without those that a profile of compose must turn on."""
    root = read_tree(document, aliases=True).value
    services = root.get("services") if isinstance(root, dict) else None
    entries = services.value if services is not None else None
    for name, node in entries.items() if isinstance(entries, dict) else ():
        fields = node.value
        is_on = isinstance(fields, dict) and (name == AGENT or "profiles" not in fields)
        if isinstance(fields, dict) and is_on and KEY in fields and fields[KEY].value is not None:
            yield node


def _files(service: Node, folder: str) -> Iterator[EnvFile]:
    fields = service.value
    named = fields[KEY] if isinstance(fields, dict) else service
    for node in named.value if isinstance(named.value, list) else [named]:
        inner = node.value
        required = True
        if isinstance(inner, dict):
            if not inner.keys() <= {"path", "required"} or "path" not in inner:
                raise node.wrong("has a `path`, and perhaps `required`")
            required = "required" not in inner or inner["required"].value is not False
            node = inner["path"]
        yield EnvFile(node, _path(node, folder), required)


def _path(node: Node, folder: str) -> str:
    """Return the place in the workspace of a file that is named from a folder of it."""
    written = node.value
    if not isinstance(written, str) or not written or "$" in written:
        raise node.wrong("must be the path of a file of the repository")
    parts: list[str] = []
    for part in PurePosixPath(folder, written).parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    try:
        return named_path("/".join(parts), field=node.path)
    except Invalid as error:
        raise node.wrong("must be the path of a file of the repository") from error


def _read(file: EnvFile, text: str | None) -> dict[str, str]:
    if text is None:
        if file.required:
            raise file.node.wrong(f"names {file.path}, which the repository does not have")
        return {}
    found = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                name, value = _pair(line)
            except ValueError as error:
                raise file.node.wrong(f"names {file.path}, whose line {number} {error}") from error
            found[name] = value
    return found


def _pair(line: str) -> tuple[str, str]:
    """Return the variable of a line. Raises `ValueError` with what is wrong."""
    match = _LINE.fullmatch(line)
    if match is None or "\0" in line:
        raise ValueError("is no `NAME=VALUE`, or has a quotation mark without its other one")
    if "=" not in line:
        raise ValueError("takes a variable from the environment of whoever reads it")
    if match["single"] is not None:
        return match["name"], match["single"]
    value = match["double"] if match["double"] is not None else (match["plain"] or "").rstrip()
    if _TAKES.search(value):
        raise ValueError("takes another variable: write its value, or the dollar sign within '…'")
    if match["double"] is not None:
        value = re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), value)
    return match["name"], value


def _to_plain(node: Node, added: Mapping[str, Mapping[str, str]]) -> Plain:
    """Return values without their lines; `added` are variables by the path of their service."""
    if isinstance(node.value, list):
        return [_to_plain(inner, added) for inner in node.value]
    if not isinstance(node.value, dict):
        return node.value
    fields = {name: _to_plain(inner, added) for name, inner in node.value.items()}
    if node.path in added:
        del fields[KEY]
        fields["environment"] = _add_variables(fields.get("environment"), added[node.path])
    return fields


def _add_variables(own: Plain, added: Mapping[str, str]) -> Plain:
    """Return the variables of a service with others, over which its own take precedence."""
    written: dict[str, Plain] = {name: each.replace("$", "$$") for name, each in added.items()}
    if isinstance(own, list):
        return [*(f"{name}={each}" for name, each in written.items()), *own]
    if isinstance(own, dict):
        return {**written, **own}
    return written if own is None else own
