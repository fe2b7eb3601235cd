"""Output of the command line: JSON, tables, colours, and text that others wrote.

Names, reasons and log lines may come from inside a sandbox, so nothing is printed
before `clean` took every control character out of it. Not for a command's own streams
(`exec`, `attach`), which are bytes and stay so.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TextIO

from atoll.client.fields import Json
from atoll.domain.unseen import spell_unseen

_STATE_COLOURS = {
    "ready": 32,
    "active": 32,
    "requested": 36,
    "provisioning": 36,
    "stopped": 33,
    "expired": 33,
    "failed": 31,
    "ok": 32,
    "warn": 33,
    "fail": 31,
}
"""Colours by their SGR numbers (ECMA-48 §8.3.117): green, cyan, yellow, red."""

GAP = "  "
"""The blanks between two columns of a table."""

LEAST_CELL = 8
"""The characters that a narrow terminal leaves of a cell, at least."""


def clean(text: str) -> str:
    """Return `text` with every character that shows nothing of itself (control, bidi, zero-width,
    blank letters) spelled out as `\\x1b` or `\\u202e`: it can neither move the cursor nor lie."""
    return spell_unseen(text)


def say(text: str) -> None:
    """Print one line on stdout, cleaned."""
    _print(clean(text), sys.stdout)


def note(text: str) -> None:
    """Print one line for the person, on stderr, cleaned. Nobody may be there any more (a terminal
    that hung up); that changes nothing else."""
    with suppress(OSError):
        _print(clean(text), sys.stderr)


def show_json(value: Json) -> None:
    """Print JSON, indented on a terminal; ASCII only, so no control byte gets out."""
    indent = 2 if sys.stdout.isatty() else None
    _print(json.dumps(value, indent=indent), sys.stdout)


def show_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, flexible: Sequence[str] = ()
) -> None:
    """Print columns padded to their widest cell; a cell that is a state gets its colour. On a
    terminal too narrow for them, the columns headed `flexible` are cut, the first ones first."""
    table = [[clean(cell) for cell in row] for row in rows]
    widths = [
        max([len(heading), *(len(row[column]) for row in table)])
        for column, heading in enumerate(headings)
    ]
    if flexible and sys.stdout.isatty():
        _narrow(headings, table, widths, flexible)
    lines = [GAP.join(h.ljust(w) for h, w in zip(headings, widths, strict=True)).rstrip()]
    for row in table:
        cells = (paint(cell, width) for cell, width in zip(row, widths, strict=True))
        lines.append(GAP.join(cells).rstrip())
    _print("\n".join(lines), sys.stdout)


def _narrow(
    headings: Sequence[str], table: list[list[str]], widths: list[int], flexible: Sequence[str]
) -> None:
    """Cut columns until a row fits the terminal, or none may be cut further."""
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return
    over = sum(widths) + len(GAP) * (len(widths) - 1) - columns
    for heading in flexible:
        if over <= 0 or not columns:
            return
        place = headings.index(heading)
        width = max(widths[place] - over, min(widths[place], max(len(heading), LEAST_CELL)))
        over -= widths[place] - width
        widths[place] = width
        for row in table:
            row[place] = cut_middle(row[place], width)


def cut_middle(name: str, most: int) -> str:
    """Return a name in at most `most` characters. The middle goes first: names differ at the end,
    too."""
    if len(name) <= most:
        return name
    head = most // 2
    return f"{name[:head]}…{name[len(name) - (most - head - 1) :]}"


def paint(word: str, width: int = 0) -> str:
    """Return `word` padded to `width`, on a terminal in the colour of the state it names."""
    colour = _STATE_COLOURS.get(word)
    padded = word.ljust(width)
    if colour is None or not uses_colour():
        return padded
    return f"\x1b[{colour}m{word}\x1b[0m" + padded[len(word) :]


def uses_colour() -> bool:
    """Return whether to colour: only on a terminal, and never with NO_COLOR (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _print(text: str, stream: TextIO) -> None:
    stream.write(text + "\n")
    stream.flush()


def confirm(question: str, *, yes: bool) -> bool:
    """Ask the person; `yes` answers for them. Without a terminal the answer is no, and a message
    names the option to use."""
    if yes:
        return True
    if not sys.stdin.isatty():
        note(f"atoll: {question} There is no terminal to ask at: add --yes")
        return False
    import click  # loaded late: `atoll list` starts in half the time without it

    return click.confirm(clean(question), default=False, err=True)
