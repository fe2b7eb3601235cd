"""A group of commands with a usual verb: `atoll net box` shows what `atoll net show box` does."""

import click


class UsualVerb(click.Group):
    """A group whose first word may be a sandbox's name: then the `usual` verb is meant."""

    usual = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the verb in where none was said."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = [self.usual, *args]
        return super().parse_args(ctx, args)
