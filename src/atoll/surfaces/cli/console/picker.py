"""A small numbered list to choose from, when somebody is at the terminal and left a name out."""

import sys
from collections.abc import Sequence

import click

from atoll.surfaces.cli.console.output import clean, note


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
