"""The one voice of errors: `atoll: what failed: why; what to do`, in one line.

click's own messages are reworded here. Those of the server begin and end as ours do.
"""

import re
from contextlib import suppress

import click

from atoll.client.client import Client
from atoll.domain.errors import AtollError, Failed, NotFound, Unavailable
from atoll.surfaces.cli.console.candidates import (
    COMPLETION_SECONDS,
    profile_names,
    sandbox_names,
    secret_names,
)
from atoll.surfaces.cli.console.references import MAX_SHOWN, did_you_mean

_SENTENCE_WORDS = frozenset(
    {"A", "An", "The", "There", "This", "It", "No", "Give", "Only", "Name", "Sandbox"}
)
"""First words of sentences, written small after a colon; any other may be a name."""

_NO_COMMAND = re.compile(r"No such command '(.*)'\.", re.DOTALL)
_TOO_MANY = re.compile(r"Got unexpected extra arguments? \((.*)\)", re.DOTALL)
"""The two messages of click that are reworded."""

_ABSENT = re.compile(
    r"(there is no (sandbox|profile|secret) '?(?:profile\.)?([^\s']+)'?): list them.*", re.DOTALL
)
"""The server's message about a name; it knows no command that lists."""

_KINDS = {
    "sandbox": (sandbox_names, "atoll list"),
    "profile": (profile_names, "atoll profile list"),
    "secret": (secret_names, "atoll secret list"),
}
"""For each kind of `_ABSENT` the names there are, and the command that lists them."""

_UNKNOWN_ID = re.compile(
    r"(.*\b(recording|link|approval|checkpoint) .*)[:;] list them\b.*", re.DOTALL
)
"""The server's message about an id, which is never nearly right."""

_LISTS = {
    "recording": "atoll record NAME --list",
    "link": "atoll share list NAME",
    "approval": "atoll approvals",
    "checkpoint": "atoll checkpoints NAME",
}
"""For each kind of `_UNKNOWN_ID` the command that lists them."""


def of_click(wrong: click.ClickException) -> str:
    """Return the line about wrong usage."""
    context = getattr(wrong, "ctx", None)
    command = context.command_path if isinstance(context, click.Context) else "atoll"
    match wrong:
        case click.NoSuchOption():
            name = wrong.option_name[:MAX_SHOWN]
            near = did_you_mean(name, _options(context))
            return f"`{command}` has no option `{name}`{near or _help(command)}"
        case click.MissingParameter():
            return f"`{command}` needs {_parameter_name(wrong.param)}{_help(command)}"
        case click.BadParameter():
            return f"`{_parameter(wrong)}` cannot be this: {_sentence(wrong.message)}"
        case click.UsageError():
            message = _reword_message(wrong.message, context) or _sentence(wrong.format_message())
            return message if "`" in message else f"{message}{_help(command)}"
        case _:  # a file that cannot be opened, and the like
            return _sentence(wrong.format_message())


def _reword_message(message: str, context: click.Context | None) -> str:
    """Return another wording of what click says about a word too many, or an unknown one; empty
    for anything else."""
    if context is None:
        return ""
    command = context.command_path
    if match := _NO_COMMAND.fullmatch(message):
        group = context.command
        known = group.list_commands(context) if isinstance(group, click.Group) else []
        near = did_you_mean(match[1], known) or f"; `{command} --help` lists them"
        return f"there is no command `{command} {match[1][:MAX_SHOWN]}`{near}"
    if match := _TOO_MANY.fullmatch(message):
        return f"`{command}` takes no `{match[1][:MAX_SHOWN]}`{_help(command)}"
    return ""


def _parameter_name(parameter: click.Parameter | None) -> str:
    if parameter is None:
        return "more"
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.human_readable_name.upper()


def of_error(error: AtollError, api: Client) -> str:
    """Return the line about an error, of ours or of the server. Of a name that does not exist it
    names the nearest one that does; of a fault of the server, the request that its log names."""
    line = _sentence(error.message)
    named = error.request_id
    if named and named not in line and isinstance(error, Failed | Unavailable):
        line += f" (request {named})"
    if not isinstance(error, NotFound):
        return line
    if absent := _ABSENT.fullmatch(line):
        what, kind, name = absent.groups()
        known, command = _KINDS[kind]
        with suppress(AtollError, OSError):
            if near := did_you_mean(name, known(api, seconds=COMPLETION_SECONDS)):
                return what + near
        return f"{what}: `{command}` shows which there are"
    if unknown := _UNKNOWN_ID.fullmatch(line):
        return f"{unknown[1]}: `{_LISTS[unknown[2]]}` shows which there are"
    return line


def _sentence(text: str) -> str:
    first, space, rest = text.strip().partition(" ")
    sentence = (first.lower() if first in _SENTENCE_WORDS else first) + space + rest
    sentence = " ".join(sentence.splitlines())
    return sentence.removesuffix(".") if ". " not in sentence else sentence


def _help(command: str) -> str:
    return f": see `{command} --help`"


def _options(context: click.Context | None) -> list[str]:
    if context is None:
        return []
    options = [option for option in context.command.params if isinstance(option, click.Option)]
    names = [name for option in options for name in (*option.opts, *option.secondary_opts)]
    return [*names, "--help"]


def _parameter(wrong: click.BadParameter) -> str:
    hint = wrong.param_hint
    if isinstance(hint, str):
        return hint.strip("'")
    if wrong.param is None:
        return "value"
    if isinstance(wrong.param, click.Option):
        return wrong.param.opts[0]
    return wrong.param.human_readable_name.upper()
