"""The tables of docs/use/commands.md, made from the help: `python -m scripts.command_page`.

A section is an example and words by hand, then between two marks what the help says. `--check`
changes nothing and fails where the page is not current.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from atoll.surfaces.cli.command_table import atoll, command_names

PAGE = Path(__file__).parents[1] / "docs" / "use" / "commands.md"
BEGIN, END = "<!-- the help -->", "<!-- -->"
SECTION = re.compile(r"^## `atoll ([a-z-]+)`\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)

Option = tuple[str, str]
"""An option as it is typed, and what its help says."""


def page_of(text: str) -> str:
    """Return the page with the tables as the commands are now, and a section for each of them."""
    written = SECTION.sub(_section, text)
    known = {match[1] for match in SECTION.finditer(text)}
    more = [name for name in command_names() if name not in known]
    return written + "".join(f"\n## `atoll {name}`\n\n{help_of(name)}\n" for name in more)


def _section(match: re.Match[str]) -> str:
    name, text = match.groups()
    made = help_of(name)
    if BEGIN not in text:
        return f"## `atoll {name}`\n{text.rstrip()}\n\n{made}\n\n"
    before, _, rest = text.partition(BEGIN)
    return f"## `atoll {name}`\n{before}{made}{rest.partition(END)[2]}"


def help_of(name: str) -> str:
    """Return what stands between the marks for a command, the marks included."""
    context = click.Context(atoll, info_name="atoll")
    command = atoll.get_command(context, name)
    if command is None:
        raise KeyError(name)
    lines = [BEGIN, *_usages(command, name)]
    options = _rows(command, name)
    if options:
        lines += ["| option | meaning |", "|---|---|"]
        lines += [f"| {spelling} | {meaning} |" for spelling, meaning in options]
    return "\n".join([*lines, END])


def _commands(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
    """Yield a command and those below it, each with the words that call it."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    if command.invoke_without_command:
        yield words, command
    for name, below in command.commands.items():
        if below.hidden:
            continue
        yield from _commands(below, f"{words} {name}")


def _usages(command: click.Command, name: str) -> list[str]:
    rows = []
    for words, each in _commands(command, name):
        context = click.Context(each, info_name=words)
        pieces = [piece for piece in each.collect_usage_pieces(context) if piece != "[OPTIONS]"]
        call = " ".join(("atoll", words, *pieces)).replace("|", "\\|")
        rows.append(f"| `{call}` | {_plain(each.get_short_help_str(200))} |")
    return ["| command | what it does |", "|---|---|", *rows, ""]


def _rows(command: click.Command, name: str) -> list[Option]:
    """Return the options of a command; of a group those of its commands, which are named where not
    all of them have it."""
    having: dict[Option, list[str]] = {}
    commands = [*_commands(command, name)]
    for words, each in commands:
        context = click.Context(each, info_name=words)
        for option in each.params:
            if isinstance(option, click.Option) and not option.hidden:
                row = _spelling(option, context), _plain(_meaning(option, context))
                having.setdefault(row, []).append(words.removeprefix(name).strip())
    return [
        (spelling, meaning if len(those) == len(commands) else f"{_named(those)}: {meaning}")
        for (spelling, meaning), those in having.items()
    ]


def _named(words: list[str]) -> str:
    return ", ".join(f"`{each}`" if each else "alone" for each in words)


def _spelling(option: click.Option, context: click.Context) -> str:
    """Return an option as code, with its value after the first name."""
    names = [*option.opts, *option.secondary_opts]
    metavar = option.make_metavar(context).removesuffix(" RANGE")
    value = "" if option.is_flag or option.count else f" {metavar}"
    return ", ".join(f"`{name}{value if name == names[-1] else ''}`" for name in names).replace(
        "|", "\\|"
    )


def _meaning(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    return record[1] if record else ""


def _plain(text: str) -> str:
    """Return help as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    """Write the page, or with `--check` compare it. Returns the exit status."""
    text = PAGE.read_text()
    made = page_of(text)
    if "--check" in sys.argv[1:]:
        if made != text:
            print("docs/use/commands.md is not current: run python -m scripts.command_page")
        return int(made != text)
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
