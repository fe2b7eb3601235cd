"""Other names for commands, as people know them from other tools, and the nearest name to a typo.

An alias runs a command under its own name. A hint answers a word whose meaning differs here. A
command of the same name takes precedence over both.
"""

from collections.abc import Iterable, Sequence

from atoll.surfaces.cli.console.references import MAX_SHOWN, did_you_mean

_ALIASES = {
    "ls": "list",
    "ps": "list",
    "rm": "destroy",
    "remove": "destroy",
    "delete": "destroy",
    "ssh": "attach",
    "shell": "attach",
    "connect": "attach",
    "inspect": "info",
    "show": "info",
    "create": "new",
    "log": "logs",
    "kill": "stop",
    "resume": "start",
    "copy": "cp",
}
_HINTS = {
    "run": "`atoll new` makes a sandbox, `atoll exec NAME -- COMMAND` runs a command in one",
    "restart": "`atoll stop NAME` and `atoll start NAME` do that",
    "push": "`atoll pull NAME` brings its commits home",
    "clone": "`atoll new REPO BRANCH` makes a sandbox on a branch of its own",
    "images": "`atoll image list` lists them",
    "logout": "a login ends on the page; `atoll login` prints a new one",
    "server": "`atoll up` starts it",
    "serve": "`atoll up` starts it",
}


def resolve_alias(word: str, following: Sequence[str]) -> str:
    """Return the command that `word` stands for; empty when it is no alias. `status` of a sandbox
    is `info`, and of everything `list`."""
    if word == "status":
        return "info" if any(not argument.startswith("-") for argument in following) else "list"
    return _ALIASES.get(word, "")


def unknown(word: str, commands: Iterable[str]) -> str:
    """Return the message about a word that is no command."""
    message = f"there is no command `{word[:MAX_SHOWN]}`"
    if word in _HINTS:
        return f"{message}: {_HINTS[word]}"
    return message + (did_you_mean(word, commands) or "; `atoll --help` lists them")
