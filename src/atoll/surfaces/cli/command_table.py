"""The `atoll` command: which commands there are, and how an error leaves.

A command is a file in the folder of its area, or beside the folders where it is the area's only
one. Its line in `atoll --help` is the first line of its docstring, read without loading it.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.exits import INTERRUPTED, OK, exit_code
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.moments import own_zone, use_utc
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.dispatch.aliases import resolve_alias, unknown

if TYPE_CHECKING:
    from atoll.ports.host import Host

_COMMANDS = f"{__package__}.commands"
_FOLDER = Path(__file__).parent / "commands"
ORDER: dict[str, tuple[str, ...]] = {
    "work": (
        "sandboxes/new",
        "terminals/attach",
        "sandboxes/list",
        "sandboxes/info",
        "terminals/exec",
        "terminals/cp",
        "terminals/find",
        "terminals/open",
        "library/pull",
        "library/sync",
        "work/merge",
        "sandboxes/start",
        "sandboxes/stop",
        "sandboxes/sleep",
        "sandboxes/recreate",
        "snapshots/snapshot",
        "snapshots/fork",
        "snapshots/restore",
        "sandboxes/extend-ttl",
        "sandboxes/archive",
        "sandboxes/revive",
        "sandboxes/destroy",
        "library/kept",
        "sandboxes/prune",
        "library/project",
        "drive",
    ),
    "review": (
        "library/diff",
        "library/commits",
        "library/commit",
        "work/review",
        "library/discard",
        "library/checkpoints",
        "library/rewind",
        "preview",
        "pr",
    ),
    "agents": (
        "inbox",
        "agents/agent",
        "workers/worker",
        "mcp",
        "machine/image",
        "library/profile",
        "terminals/record",
        "terminals/play",
        "search",
        "sandboxes/logs",
        "journals/events",
    ),
    "network": (
        "sandboxes/net",
        "secrets/secret",
        "secrets/vault",
        "approvals/approvals",
        "approvals/approve",
        "approvals/deny",
        "approvals/revoke",
        "webhook",
        "hook",
    ),
    "people": (
        "dashboard",
        "people/share",
        "people/org",
        "people/give",
        "people/me",
        "people/whoami",
        "people/login",
        "people/logout",
        "people/quota",
        "people/budget",
        "journals/audit",
        "people/token",
        "ssh",
    ),
    "machine": (
        "machine/up",
        "machine/down",
        "machine/doctor",
        "workers/desktop",
        "hosts/host",
        "hosts/pool",
        "route",
        "hosts/extension",
        "machine/vm",
        "machine/db",
        "machine/wait-up",
        "machine/completion",
    ),
}
"""The groups of `atoll --help` and their commands, those first that a person meets first. Each is
the path of a file below `commands/`. A command that is not named here comes last in the group of
its area's first one, or in the first group."""

_HELP = re.compile(r'^def command\(.*?^    """(.*?)(?:"""|$)', re.DOTALL | re.MULTILINE)
"""The docstring's first line, of the function that is the command."""


@cache
def groups() -> dict[str, dict[str, str]]:
    """Return each group's commands with their one-line help, in the order of `atoll --help`."""
    listing: dict[str, dict[str, str]] = {group: {} for group in ORDER}
    for entry in (*_ordered_commands().values(), *_find_unordered_commands()):
        path = _FOLDER / f"{entry.replace('-', '_')}.py"
        if summary := _HELP.search(path.read_text(encoding="utf-8")):
            listing[_group_of(entry)][_name_of(entry)] = summary[1]
    return listing


def command_names() -> list[str]:
    """Return the names of all commands."""
    return [name for commands in groups().values() for name in commands]


@cache
def _ordered_commands() -> dict[str, str]:
    """Return the entry of each command that `ORDER` has, by its name."""
    return {_name_of(entry): entry for entries in ORDER.values() for entry in entries}


def _find_unordered_commands() -> list[str]:
    """Return the entries of the modules below `commands/` that `ORDER` does not have."""
    paths = (*_FOLDER.glob("[a-z]*.py"), *_FOLDER.glob("*/[a-z]*.py"))
    stems = (path.relative_to(_FOLDER).with_suffix("").as_posix() for path in sorted(paths))
    ordered = _ordered_commands().values()
    return [entry for stem in stems if (entry := stem.replace("_", "-")) not in ordered]


def _name_of(entry: str) -> str:
    return entry.rpartition("/")[2]


def _group_of(entry: str) -> str:
    area = entry.rpartition("/")[0]
    own = (group for group, entries in ORDER.items() if entry in entries)
    of_area = (
        group
        for group, entries in ORDER.items()
        if area and any(other.startswith(f"{area}/") for other in entries)
    )
    return next(own, None) or next(of_area, next(iter(ORDER)))


def _module_of(name: str) -> str | None:
    """Return the module of a command, below `commands`; None when there is no such command."""
    stem = name.replace("-", "_")
    if "_" in name or not stem.isidentifier():
        return None
    entry = _ordered_commands().get(name)
    if entry is None and (_FOLDER / f"{stem}.py").exists():
        return stem
    paths = _FOLDER.glob(f"*/{stem}.py")
    entry = entry or next((f"{path.parent.name}/{stem}" for path in paths), None)
    return None if entry is None else entry.replace("-", "_").replace("/", ".")


def _help_of(words: list[str]) -> tuple[str, list[str]]:
    """Return `help net add` as `net add --help`."""
    return (words[0], [*words[1:], "--help"]) if words else ("", [])


class Commands(click.Group):
    """A group that loads a command when it is called."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first word: by its name, or by another one people know."""
        word, following = args[0], args[1:]
        if word == "help" and not ctx.resilient_parsing:
            word, following = _help_of(following)
            if not word:
                click.echo(ctx.get_help())
                ctx.exit()
        command = self.get_command(ctx, word) or self.get_command(
            ctx, resolve_alias(word, following)
        )
        if command is None and not ctx.resilient_parsing:
            raise click.UsageError(unknown(word, command_names()), ctx)
        return (command.name if command else None), command, following

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order a person meets them."""
        return command_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command by its name."""
        name = _module_of(cmd_name)
        if name is None:
            return None
        module = import_module(f"{_COMMANDS}.{name}")
        command: click.Command | None = getattr(module, "command", None)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group, without loading any."""
        for group, commands in groups().items():
            with formatter.section(group.capitalize()):
                formatter.write_dl(list(commands.items()))

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> "list[click.shell_completion.CompletionItem]":
        """Return the names of commands that begin so."""
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(name, help=words)
            for commands in groups().values()
            for name, words in commands.items()
            if name.startswith(incomplete)
        ]


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="atoll", prog_name="atoll")
@click.option("--utc", is_flag=True, help="Show times in UTC instead of the zone of this machine.")
def atoll(*, utc: bool) -> None:
    """Give every coding agent its own sandbox, and every person access to its terminal."""
    if utc:
        use_utc()


def run(arguments: list[str], environ: Mapping[str, str], host: "Callable[[], Host]") -> int:
    """Run one command; returns its exit code (`exits`). `host` is called when this machine
    is touched (`up`, `down`, `doctor`, `agent`)."""
    invocation = Invocation(host, environ)
    try:
        with own_zone():
            return _run(arguments, invocation)
    except click.Abort:
        note("atoll: interrupted")
        return INTERRUPTED
    except click.ClickException as wrong:
        return report(wrong, invocation)
    except AtollError as error:
        return report(error, invocation)


def report(error: click.ClickException | AtollError, invocation: Invocation) -> int:
    """Say what failed, in one line; returns the exit code."""
    from atoll.surfaces.cli.dispatch import usage  # loaded late: most runs have no error

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        # The help of a group that was called without a command.
        click.echo(error.message, err=True)
        return error.exit_code
    if isinstance(error, click.ClickException):
        note(f"atoll: {usage.of_click(error)}")
        return error.exit_code
    note(f"atoll: {usage.of_error(error, invocation.api())}")
    return exit_code(error)


def _run(arguments: list[str], invocation: Invocation) -> int:
    # In this mode click hands an `Exit` back as its code.
    left: object = atoll.main(arguments, prog_name="atoll", obj=invocation, standalone_mode=False)
    return left if isinstance(left, int) else OK
