"""The permission of each command: declared, and that of an operation which the command calls."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import click

from atoll.client.client import Client
from atoll.client.server import server_at
from atoll.domain.people.capability import Capability
from atoll.surfaces.cli.command_table import atoll
from atoll.surfaces.cli.console.invocation import LOCAL, needs, permission_of
from scripts.client_code import noun_methods

CALLED_BY_HAND = {
    *("events", "find", "login", "logout", "mcp", "me", "open"),
    *("agent begin", "audit export", "audit verify", "dashboard open", "desktop run"),
    *("extension info", "profile delete", "profile list", "profile save", "profile show"),
    *("project copy", "project setup", "quota set"),
    *("worker answer", "worker ask", "worker follow", "worker list"),
}
"""Commands whose operation no method has, or one that their code does not name: it streams, or the
command spells the call."""


@cache
def _commands() -> dict[str, click.Command]:
    return dict(_walk(atoll, (), click.Context(atoll)))


def _walk(
    command: click.Command, words: tuple[str, ...], context: click.Context
) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield " ".join(words), command
        return
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from _walk(found, (*words, name), context)


@cache
def _permissions() -> dict[tuple[str, str], str]:
    """Return the permission of each method, by its noun and its name."""
    return {
        (noun, method.name): str(method.operation.needs)
        for noun, methods in noun_methods().items()
        for method in methods
    }


def _nouns_of(kind: type) -> set[str]:
    """Return the nouns that a class of the client is or extends."""
    own = [one for one in kind.__mro__ if one.__module__.startswith("atoll.client")]
    return {one.__name__.removeprefix("Plain") for one in own}


@cache
def _fields() -> dict[str, set[str]]:
    """Return the nouns of each attribute of the command line's client."""
    client = Client(lambda: server_at("http://localhost", "the address"))
    return {name: _nouns_of(type(one)) for name, one in vars(client).items()}


def _reached(function: Callable[..., Any]) -> set[str]:
    """Return the permissions of the operations that a function and those it names may call."""
    seen: list[Any] = [function]
    nouns: set[str] = set()
    words: set[str] = set()
    for one in seen:
        tree = ast.parse(textwrap.dedent(inspect.getsource(one)))
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        words |= attributes
        nouns = nouns.union(*(_fields().get(name, ()) for name in attributes))
        found = [vars(inspect.getmodule(one)).get(name) for name in names]
        kinds = [each for each in found if inspect.isclass(each)]
        nouns = nouns.union(*map(_nouns_of, kinds))
        ours = [each for each in (*kinds, *filter(inspect.isfunction, found)) if _is_ours(each)]
        seen += [each for each in ours if each not in seen]
    return {_permissions()[key] for key in _permissions() if key[0] in nouns and key[1] in words}


def _is_ours(code: Any) -> bool:
    return str(code.__module__).startswith("atoll.surfaces.cli")


def test_every_command_declares_one_permission_or_is_local() -> None:
    assert len(_commands()) > 200
    known = {LOCAL, *(one.value for one in Capability)}
    declared = {name: permission_of(command) for name, command in _commands().items()}
    assert {name: one for name, one in declared.items() if one not in known} == {}


def test_a_command_without_a_declaration_has_no_permission() -> None:
    bare = click.Command("bare")
    assert permission_of(bare) is None
    assert permission_of(needs("file.read")(bare)) == "file.read"


def test_each_command_calls_an_operation_of_its_permission() -> None:
    missed = {
        name
        for name, command in _commands().items()
        if command.callback is not None
        and (declared := permission_of(command)) != LOCAL
        and declared not in _reached(inspect.unwrap(command.callback))
    }
    assert missed == CALLED_BY_HAND
