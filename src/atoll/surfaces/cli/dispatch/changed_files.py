"""Completion of the files that differ in the sandbox that a command names.

Names from inside a sandbox are hostile: only plain ones are offered to a shell.
"""

from collections.abc import Iterable, Iterator

import click
from click.shell_completion import CompletionItem

from atoll.client.made.library.changes import TreeChanges
from atoll.client.transport import Call, api_path
from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.candidates import COMPLETION_SECONDS, Candidates, filter_names
from atoll.surfaces.cli.console.invocation import Invocation


def changed_paths(against: str = "uncommitted") -> Candidates:
    """Return the changed files of the sandbox that the line names, and their folders."""

    def candidates(
        context: click.Context, _parameter: click.Parameter, typed: str
    ) -> list[CompletionItem]:
        invocation, name = context.find_object(Invocation), context.params.get("name")
        if invocation is None or not name:
            return []
        query = (("against", against), ("repo", str(context.params.get("repo") or 0)))
        try:
            call = Call(
                "GET", api_path("sandboxes", name, "changes"), query, timeout=COMPLETION_SECONDS
            )
            changes = invocation.api().transport.read(TreeChanges, call)
        except (AtollError, OSError):
            return []
        names = _complete_path(typed, (file.path for file in changes.files))
        return [CompletionItem(path) for path in filter_names(names, typed)]

    return candidates


def _complete_path(typed: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield each path up to the folder after what is typed, once."""
    seen = set()
    for path in paths:
        if path.startswith(typed):
            folder, slash, _ = path[len(typed) :].partition("/")
            name = typed + folder + slash
            if name not in seen:
                seen.add(name)
                yield name
