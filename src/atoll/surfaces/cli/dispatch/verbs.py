"""Groups of commands: their help, and the verb that is meant where none is given."""

import click
from click.shell_completion import CompletionItem

from atoll.surfaces.cli.console.candidates import sandboxes
from atoll.surfaces.cli.console.references import MAX_SHOWN, did_you_mean

MAX_SENTENCE = 200
"""Longest help of a command in a list of commands."""

_NAME = click.Argument(["name"])


class Verbs(click.Group):
    """A group whose help shows the first sentence of each command whole."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands; click would cut their lines."""
        rows = [
            (name, command.get_short_help_str(limit=MAX_SENTENCE))
            for name, command in self.commands.items()
            if not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows))


class UsualVerb(Verbs):
    """A group whose first word may be a sandbox's name: then the `usual` verb is meant.

    `atoll net box` shows what `atoll net show box` does.
    """

    usual = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the usual verb where none was given. Raises a usage error for a misspelt one."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            near = did_you_mean(args[0], self.commands)
            if near and args[1:] and not args[1].startswith("-") and not ctx.resilient_parsing:
                # The usual verb takes a name and no more.
                command = f"{ctx.command_path} {args[0][:MAX_SHOWN]}"
                raise click.UsageError(f"there is no command `{command}`{near}", ctx)
            args = [self.usual, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the verbs that begin so, and the sandboxes."""
        names = sandboxes()(ctx, _NAME, incomplete)
        return [*super().shell_complete(ctx, incomplete), *names]
