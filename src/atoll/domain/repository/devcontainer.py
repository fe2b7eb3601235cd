"""Reading of `devcontainer.json` (containers.dev) where a repository has no `.atoll.yaml`.

Three of its fields mean something here: `postCreateCommand`, `forwardPorts`, `containerEnv`. All
others are ignored, and so is a value of the three that cannot be used; what is ignored is listed.
"""

import shlex
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from atoll.domain.approvals.approval import spelled_out
from atoll.domain.errors import Invalid
from atoll.domain.profile.yaml_tree import Node, read_tree
from atoll.domain.repository.project import ProjectFile
from atoll.domain.repository.project_file import (
    MAX_COMMANDS,
    MAX_PORTS,
    MAX_VARIABLES,
    decode_document,
    read_command,
    read_port_node,
    read_variable,
)

DEVCONTAINER_FILES: Final = (".devcontainer/devcontainer.json", ".devcontainer.json")
MAX_IGNORED: Final = 50

_SILENT = frozenset({"$schema", "name"})

T = TypeVar("T")


def read_devcontainer(document: bytes, source: str) -> ProjectFile:
    """Return what Atoll uses of a `devcontainer.json`. Raises `Invalid` when it is none."""
    try:
        tree = read_tree(without_comments(decode_document(document, source)))
    except Invalid as err:
        raise Invalid(f"{source} cannot be used: {spelled_out(err.message, 500)}") from err
    if not isinstance(tree.value, dict):
        raise Invalid(f"{source} cannot be used: it is no JSON object.")
    known = dict(tree.value)
    ignored = _Ignored()
    setup = _commands(known.pop("postCreateCommand", None), ignored)
    ports = _ports(known.pop("forwardPorts", None), ignored)
    env = _variables(known.pop("containerEnv", None), ignored)
    for name in known:
        if name not in _SILENT:
            ignored.add(name, "Atoll does not use it")
    return ProjectFile(source, setup=setup, ports=ports, env=env, ignored=ignored.lines())


class _Ignored:
    """List of what has no effect, bounded."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._more = 0

    def add(self, name: str, why: str) -> None:
        if len(self._lines) < MAX_IGNORED:
            self._lines.append(f"{spelled_out(name, 80)}: {spelled_out(why, 300)}")
        else:
            self._more += 1

    def lines(self) -> tuple[str, ...]:
        more = (f"and {self._more} more",) if self._more else ()
        return (*self._lines, *more)


def _commands(node: Node | None, ignored: _Ignored) -> tuple[str, ...]:
    """Return a command, an argument list, or a mapping of names to either."""
    if node is None or node.value is None:
        return ()
    wanted = [*node.value.values()] if isinstance(node.value, dict) else [node]
    found = [_read_or_ignore(one, ignored, _command) for one in wanted[:MAX_COMMANDS]]
    if len(wanted) > MAX_COMMANDS:
        ignored.add("postCreateCommand", f"only the first {MAX_COMMANDS} commands are read")
    return tuple(one for one in found if one is not None)


def _command(node: Node) -> str:
    if isinstance(node.value, list):
        words = [read_command(word) for word in node.value]
        if not words:
            raise node.wrong("is empty")
        joined = shlex.join(words)
        return read_command(Node(joined, node.path, node.line, node.column))
    return read_command(node)


def _ports(node: Node | None, ignored: _Ignored) -> tuple[int, ...]:
    if node is None or node.value is None:
        return ()
    if not isinstance(node.value, list):
        ignored.add("forwardPorts", "it is no list")
        return ()
    found = [_read_or_ignore(one, ignored, read_port_node) for one in node.value[:MAX_PORTS]]
    if len(node.value) > MAX_PORTS:
        ignored.add("forwardPorts", f"only the first {MAX_PORTS} ports are read")
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _variables(node: Node | None, ignored: _Ignored) -> tuple[tuple[str, str], ...]:
    if node is None or node.value is None:
        return ()
    if not isinstance(node.value, dict):
        ignored.add("containerEnv", "it is no object")
        return ()
    if len(node.value) > MAX_VARIABLES:
        ignored.add("containerEnv", f"only the first {MAX_VARIABLES} variables are read")
    found = []
    for name, value in [*node.value.items()][:MAX_VARIABLES]:
        if isinstance(value.value, str) and "${" in value.value:
            ignored.add(value.path, "variables of the host are not read")
            continue
        pair = _read_or_ignore(value, ignored, partial(read_variable, name))
        found += [] if pair is None else [pair]
    return tuple(sorted(found))


def _read_or_ignore(node: Node, ignored: _Ignored, read: Callable[[Node], T]) -> T | None:
    """Return the value that `read` gives; record a node that it refuses as ignored."""
    try:
        return read(node)
    except Invalid as err:
        ignored.add(node.path, err.message)
        return None


def without_comments(text: str) -> str:
    """Return JSONC as JSON: comments, trailing commas and tabs between values become spaces, so
    that lines and columns stay."""
    out: list[str] = []
    at, comma = 0, -1
    while at < len(text):
        end = _token_end(text, at)
        piece = text[at:end]
        if piece.startswith(("//", "/*")) or piece in "\t\r":
            out.append("".join("\n" if char == "\n" else " " for char in piece))
        else:
            if piece in "]}" and comma >= 0:
                out[comma] = " "
            if not piece.isspace():
                comma = len(out) if piece == "," else -1
            out.append(piece)
        at = end
    return "".join(out)


def _token_end(text: str, at: int) -> int:
    """Return the end of the string, the comment or the single character at `at`."""
    if text[at] == '"':
        end = at + 1
        while end < len(text) and text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        return min(end + 1, len(text))
    if text.startswith("//", at):
        found = text.find("\n", at)
        return len(text) if found < 0 else found
    if text.startswith("/*", at):
        found = text.find("*/", at + 2)
        return len(text) if found < 0 else found + 2
    return at + 1
