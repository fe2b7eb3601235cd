"""The `atoll` command: which commands there are, and how an error leaves.

The table holds each command's one-line help, so that `atoll --help` loads none of them;
a test keeps table and commands the same.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

import click

from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.exits import INTERRUPTED, OK, exit_code
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.output import note

if TYPE_CHECKING:
    from atoll.ports.host import Host

_COMMANDS = f"{__package__}.commands"
GROUPS: dict[str, dict[str, str]] = {
    "work": {
        "new": "Create a sandbox, from a repository if you name one, and attach to it.",
        "attach": "Attach to a sandbox's terminal.",
        "list": "List the sandboxes.",
        "info": "Show everything about one sandbox.",
        "exec": "Run one command in a sandbox.",
        "cp": "Copy files and folders into or out of a sandbox.",
        "open": "Open a file of a sandbox, or forward one of its ports to this machine.",
        "pull": "Bring a sandbox's commits into a branch of your checkout.",
        "start": "Start sandboxes that stopped, expired or failed, with the files they had.",
        "stop": "Stop sandboxes and keep their workspaces.",
        "recreate": "Recreate a sandbox under the same id, saving its work first.",
        "extend-ttl": "Give a sandbox more time, or keep an ended one longer.",
        "destroy": "Destroy sandboxes for good.",
        "kept": "List what destroyed and recreated sandboxes left, and fetch them from the server.",
        "prune": "Destroy sandboxes that nobody needs any more.",
    },
    "agents": {
        "agent": "Install the agents of this machine, and control those in sandboxes.",
        "image": "List, import, pull, build and remove roots for sandboxes.",
        "profile": "Show, check, save and delete profiles.",
        "record": "Record a sandbox's terminal from now on.",
        "play": "Play a recording: an asciicast file, or one that lies in a sandbox.",
        "search": "Find lines in terminals, as far back as they reach, and in recordings.",
        "logs": "Show how a sandbox was created, step by step.",
        "events": "Show past events, and follow new ones.",
    },
    "network": {
        "net": "Show and change what a sandbox may reach.",
        "secret": "Set, list, rotate and remove secrets.",
        "vault": "Manage the keys that encrypt secrets.",
        "approvals": "List requests for approval.",
        "approve": "Approve a request.",
        "deny": "Deny a request.",
        "revoke": "Revoke an approval.",
    },
    "people": {
        "share": "Share a sandbox's terminals by link.",
        "login": "Print a new login link for the page.",
    },
    "machine": {
        "up": "Start Atoll on this machine and print a login link.",
        "down": "Stop every sandbox on this machine, and Atoll itself.",
        "doctor": "Report what this machine can isolate, or what protects one sandbox.",
        "wait-up": "Wait until Atoll answers, and print its address.",
        "completion": "Print the completion script of a shell.",
    },
}
"""Each group's commands with their one-line help; a group is a folder below `commands/`."""
COMMANDS: dict[str, str] = {
    name: words for group in GROUPS.values() for name, words in group.items()
}


class Commands(click.Group):
    """A group that loads a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order a person meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command by its name."""
        if cmd_name not in COMMANDS:
            return None
        group = next(group for group, names in GROUPS.items() if cmd_name in names)
        module = import_module(f"{_COMMANDS}.{group}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands from the table, without loading anything."""
        for group, commands in GROUPS.items():
            with formatter.section(group.capitalize()):
                formatter.write_dl(list(commands.items()))

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> "list[click.shell_completion.CompletionItem]":
        """Return the names of commands, from the table."""
        from click.shell_completion import CompletionItem

        found = [name for name in COMMANDS if name.startswith(incomplete)]
        return [CompletionItem(name, help=COMMANDS[name]) for name in found]


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="atoll", prog_name="atoll")
def atoll() -> None:
    """Give every coding agent its own sandbox, and every person access to its terminal."""


def run(arguments: list[str], environ: Mapping[str, str], host: "Callable[[], Host]") -> int:
    """Run one command; returns its exit code (`exits`). `host` is called when this machine
    is touched (`up`, `down`, `doctor`, `agent`)."""
    try:
        # In this mode click hands an `Exit` back as its code.
        left: object = atoll.main(
            arguments, prog_name="atoll", obj=Invocation(host, environ), standalone_mode=False
        )
    except click.Abort:
        note("atoll: interrupted")
        return INTERRUPTED
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    except AtollError as error:
        note(f"atoll: {error.message}")
        return exit_code(error)
    return left if isinstance(left, int) else OK
