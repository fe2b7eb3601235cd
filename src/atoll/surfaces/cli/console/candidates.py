"""Completion candidates: names that the server, this home or Atoll itself knows.

A shell that completes must stay quiet: where names cannot be had, there are none.
"""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from atoll.client.transport import Call, at
from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.invocation import Invocation

COMPLETION_SECONDS = 1.0

Query = tuple[tuple[str, str], ...]
Candidates = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def listed(kind: str, *names: str, query: Query = ()) -> Candidates:
    """Return candidates of `GET /v1/{kind}`, by the first of `names` that an entry has."""

    def rows(invocation: Invocation) -> Iterable[str]:
        call = Call("GET", at(kind), query, timeout=COMPLETION_SECONDS)
        for row in invocation.api().transport.call(call).children(kind):
            yield next(filter(None, (row.text(name) for name in names)), "")

    return _quietly(rows)


def profiles() -> Candidates:
    """Return the profiles, by the short form of their ids."""

    def names(invocation: Invocation) -> Iterable[str]:
        call = Call("GET", at("profiles"), timeout=COMPLETION_SECONDS)
        found = invocation.api().transport.call(call).children("profiles")
        return [row.text("id").removeprefix("profile.") for row in found]

    return _quietly(names)


def agents() -> Candidates:
    """Return the agents Atoll knows, installed or not."""

    def names(invocation: Invocation) -> Iterable[str]:
        shelf = invocation.host().agents(invocation.home.absolute())
        return [one.agent.name for one in shelf.list()]

    return _quietly(names)


def presets() -> Candidates:
    """Return the names that `atoll new --save-as` kept."""

    def names(invocation: Invocation) -> Iterable[str]:
        # Loaded late: every command offers candidates, and few are ever completed.
        from atoll.surfaces.cli.console.plan import preset_names

        return preset_names(invocation.environ)

    return _quietly(names)


def providers() -> Candidates:
    """Return the model providers the broker knows."""

    def names(_invocation: Invocation) -> Iterable[str]:
        from atoll.domain.broker.provider import PROVIDERS

        return sorted(PROVIDERS)

    return _quietly(names)


def _quietly(names: Callable[[Invocation], Iterable[str]]) -> Candidates:
    def candidates(
        context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        invocation = context.find_object(Invocation)
        if invocation is None:
            return []
        try:
            found = [name for name in names(invocation) if name.startswith(incomplete)]
        except (AtollError, OSError):
            return []
        return [CompletionItem(name) for name in found if name]

    return candidates
