"""Diffs in the usual unified form, coloured on a terminal and shown by the person's pager.

Names and lines come from a sandbox: each is cleaned before a colour is added, and tabs are written
as blanks.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

import click

from atoll.client.made.library.changes import ChangedFile, FileDiff, Hunk, TreeChanges
from atoll.domain.errors import Invalid
from atoll.surfaces.cli.console.output import clean, uses_colour

_COLOURS = {"+": "green", "-": "red"}
_LETTERS = {
    "added": "A",
    "modified": "M",
    "deleted": "D",
    "renamed": "R",
    "copied": "C",
    "retyped": "T",
    "unmerged": "U",
}


def find_pager(environ: Mapping[str, str]) -> list[str]:
    """Return the words of the person's pager, none where it is not here. Raises `Invalid`."""
    command = environ.get("PAGER") or "less"
    try:
        words = shlex.split(command)
    except ValueError as err:
        raise Invalid(f"the pager {command!r} cannot be read ({err}): set PAGER") from err
    return words if words and shutil.which(words[0]) is not None else []


def page(lines: Iterable[str], environ: Mapping[str, str]) -> None:
    """Show lines, at a terminal through the pager. `less` leaves at once where they fit on the
    screen, and runs no command. Raises `Invalid` for a pager that cannot be read."""
    pager = find_pager(environ) if sys.stdout.isatty() else []
    if not pager:
        for line in lines:
            click.echo(line)
        return
    env = {**environ, "LESS": "FRX", "LESSSECURE": "1"}
    text = "".join(f"{line}\n" for line in lines)
    subprocess.run(pager, input=text.encode(), check=False, env=env)


def diff_lines(file: FileDiff) -> Iterator[str]:
    """Yield the lines of one file."""
    for line in _head(file):
        yield _paint(line, bold=True)
    if file.binary:
        yield "Binary files differ"
    for hunk in file.hunks:
        yield from _hunk_lines(hunk)
    if file.truncated:
        yield _paint("… the rest of this file is not shown", bold=True)


def stat_lines(changes: TreeChanges) -> Iterator[str]:
    """Yield a line for each file, and their sum."""
    yield from file_lines(changes.files)
    hidden = changes.total - len(changes.files)
    if hidden > 0:
        yield f"and {hidden} more"
    plural = "" if changes.total == 1 else "s"
    commits = f", {changes.commits} commit{'' if changes.commits == 1 else 's'}"
    sums = _counts(changes.additions, changes.deletions)
    yield f"{changes.total} file{plural} changed, {sums}{commits if changes.commits else ''}"


def file_lines(files: Sequence[ChangedFile]) -> Iterator[str]:
    """Yield a line for each file."""
    width = max((len(_display_name(file)) for file in files), default=0)
    for file in files:
        letter = "?" if file.untracked else _LETTERS.get(file.kind, " ")
        count = _binary(file) if file.binary else _counts(file.additions, file.deletions)
        yield f"{letter} {_display_name(file):<{width}}  {count}"


def _hunk_lines(hunk: Hunk) -> Iterator[str]:
    place = f"-{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines}"
    yield f"{_paint(f'@@ {place} @@', 'cyan')} {_clean_text(hunk.heading)}".rstrip()
    for line in hunk.lines:
        yield _paint(line[:1] + _clean_text(line[1:]), _COLOURS.get(line[:1]))


def _head(file: FileDiff) -> Iterator[str]:
    """Yield the lines before the first hunk."""
    old = clean(file.old_path or file.path)
    new = clean(file.path)
    before, after = clean(file.old_mode), clean(file.new_mode)
    yield f"diff --git a/{old} b/{new}"
    if before and after:
        yield from (f"old mode {before}", f"new mode {after}")
    elif before or after:
        yield f"new file mode {after}" if after else f"deleted file mode {before}"
    if old != new:
        yield from (f"rename from {old}", f"rename to {new}")
    if file.hunks:
        yield "--- /dev/null" if after and not before else f"--- a/{old}"
        yield "+++ /dev/null" if before and not after else f"+++ b/{new}"


def _display_name(file: ChangedFile) -> str:
    name = clean(file.path)
    return f"{clean(file.old_path)} => {name}" if file.old_path else name


def _counts(additions: int, deletions: int) -> str:
    return f"{_paint(f'+{additions}', 'green')} {_paint(f'-{deletions}', 'red')}"


def _binary(file: ChangedFile) -> str:
    """Return the sizes of a binary file, where they are known."""
    sizes = [str(size) for size in (file.old_size, file.new_size) if size >= 0]
    return f"binary, {' -> '.join(sizes)} bytes" if sizes else "binary"


def _clean_text(text: str) -> str:
    return clean(text.expandtabs(8))


def _paint(text: str, colour: str | None = None, *, bold: bool = False) -> str:
    if not uses_colour() or not (colour or bold):
        return text
    return click.style(text, fg=colour, bold=bold or None)
