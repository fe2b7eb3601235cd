"""The order of words of `docker exec`: options, a name, and then the command with its own options.

`--` before the command is allowed and not needed. Options of ours may also stand between the name
and the command.
"""

from collections.abc import Sequence

import click


class DockerOrder(click.Command):
    """A command whose second word begins another command line, passed on as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Mark where the other command line begins."""
        return super().parse_args(ctx, insert_separator(self, args))


def insert_separator(command: click.Command, words: Sequence[str]) -> list[str]:
    """Return the words with `--` before the first one after the name that is no option."""
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    with_value = {name for option in options if not option.is_flag for name in option.opts}
    named, place = False, 0
    while place < len(words):
        word = words[place]
        if word == "--":
            break
        if word.startswith("-") and word != "-":
            place += 2 if _takes_next(word, with_value) else 1
        elif named:
            return [*words[:place], "--", *words[place:]]
        else:
            named, place = True, place + 1
    return list(words)


def _takes_next(word: str, with_value: set[str]) -> bool:
    """Return whether the next word is the value of this option, or of the last one in `-ie`."""
    if word.startswith("--"):
        return word in with_value
    valued = [place for place, letter in enumerate(word) if f"-{letter}" in with_value]
    return bool(valued) and valued[0] == len(word) - 1
