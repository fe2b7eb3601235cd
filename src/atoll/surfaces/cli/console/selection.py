"""The choice of a sandbox: by name, the last one, or that of the current directory.

A person at the terminal who left a name out picks from a numbered list.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from atoll.client.client import Client
from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.errors import NotFound
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.memory import recall
from atoll.surfaces.cli.console.output import clean, note
from atoll.surfaces.cli.console.waiting import name_of

ENDED = ("expired", "failed", "destroying", "destroyed")


def select(invocation: Invocation, api: Client, name: str | None, *, last: bool = False) -> Sandbox:
    """Return the sandbox. Raises `NotFound`, and a usage error when the sandbox is ambiguous."""
    if name and last:
        raise click.UsageError("Give a NAME or --last, not both.")
    if name:
        return api.sandboxes.get(name)
    memory = recall(invocation.environ)
    if last:
        if not memory.last:
            raise NotFound("no sandbox was used from here yet: see `atoll list`")
        return api.sandboxes.get(memory.last)
    here = memory.of_folder(Path.cwd())
    if not here:
        return _only(api)
    mine = api.sandboxes.get(here)
    # An ended sandbox is chosen only where no other one runs.
    return _only(api, mine) if mine.state in ENDED else mine


def _only(api: Client, ended: Sandbox | None = None) -> Sandbox:
    """Return the single sandbox that has not ended, else `ended`, else the single one there is;
    with several, ask the person, or raise a usage error."""
    sandboxes = list(api.sandboxes.list())
    living = [sandbox for sandbox in sandboxes if sandbox.state not in ENDED]
    if not living and ended is not None:
        return ended
    sandboxes = living or sandboxes
    if len(sandboxes) == 1:
        return sandboxes[0]
    if not sandboxes:
        raise NotFound("there is no sandbox yet: make one with `atoll new`")
    if can_ask():
        return sandboxes[pick("Which one", [row_of(sandbox) for sandbox in sandboxes])]
    names = ", ".join(name_of(sandbox) for sandbox in sandboxes[:8])
    raise click.UsageError(f"This folder has no sandbox of its own. Name one of: {names}")


def row_of(sandbox: Sandbox) -> str:
    """Return a sandbox as a line to choose by."""
    words = (name_of(sandbox), sandbox.state, sandbox.agent)
    return "  ".join(word for word in words if word)


def can_ask() -> bool:
    """Return whether a person can see the question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def pick(question: str, rows: Sequence[str]) -> int:
    """Return the index of the row chosen; the first when they only press Enter."""
    _show(rows)
    number: int = click.prompt(
        clean(question), type=click.IntRange(1, len(rows)), default=1, err=True
    )
    return number - 1


def pick_several(question: str, rows: Sequence[str]) -> list[int]:
    """Return the indices of the rows chosen, at least one, in the order of the list."""
    _show(rows)
    while True:
        words = click.prompt(clean(question), err=True).replace(",", " ").split()
        numbers = sorted({int(word) for word in words if word.isascii() and word.isdigit()})
        if len(numbers) == len(set(words)) and set(numbers) <= set(range(1, len(rows) + 1)):
            return [number - 1 for number in numbers]
        note(f"Give numbers from 1 to {len(rows)}, with spaces between.")


def _show(rows: Sequence[str]) -> None:
    for number, row in enumerate(rows, 1):
        note(f"{number:>3}  {row}")
