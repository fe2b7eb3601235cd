"""An agent that speaks ACP and that an administrator added: `acp:NAME`, without code of its own.

A definition says where its program comes from and how it is started. All else is the same for each:
it is driven as a machine by the Agent Client Protocol, and what it keeps lies in one directory of
agents' state.
"""

import re
import shlex
from dataclasses import dataclass
from typing import Final

import msgspec

from atoll.domain.agents.agent import (
    TOOLS_PROGRAM,
    Agent,
    AgentTools,
    Machine,
    Package,
    Registry,
    read_version,
)
from atoll.domain.broker.control_plane import FLAT_TOOLS_URL
from atoll.domain.broker.provider import PROVIDERS
from atoll.domain.errors import Invalid

PREFIX: Final = "acp:"
STATE: Final = ".acp"
"""The directory below the home in which every added agent keeps its own, by its name."""

GUESSES: Final = (("--acp",), ("acp",), ())
"""Words behind a program that commonly make it speak ACP."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_REFERENCE = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_NPM = re.compile(r"(?:@[a-z0-9][a-z0-9._~-]*/)?[a-z0-9][a-z0-9._~-]*\Z")
_PIP = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")
_FOLDER = re.compile(r"\.?[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9._-]+){0,4}\Z")
MAX_WORDS, MAX_VARIABLES, MAX_FOLDERS, MAX_WORD = 32, 32, 8, 1024

# Words: the agent's name, its folders, `--`, variables whose value is another variable, `--`, and
# the command. A folder of the home becomes a link to what outlives a stop,
# with what a person put there before.
_START = """\
own=$HOME/.acp/$1; shift
while [ "$1" != -- ]; do
  mkdir -p "$own/$1" "$(dirname "$HOME/$1")"
  if [ -d "$HOME/$1" ] && [ ! -L "$HOME/$1" ]; then
    cp -Rn "$HOME/$1/." "$own/$1/"; rm -rf "$HOME/$1"
  fi
  [ -e "$HOME/$1" ] || ln -sfn "$own/$1" "$HOME/$1"
  shift
done; shift
while [ "$1" != -- ]; do eval "export ${1%%=*}=\\"\\${${1#*=\\$}-}\\""; shift; done; shift
exec "$@"
"""


class AcpDefinition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The definition of an added agent. `argv` is its command inside. `package` and `version` name
    what `registry` has; without a registry the command is on the path of the sandbox. `env` are
    variables of its process; a value `$OTHER` takes that of another. `state` are directories below
    the home that outlive a stop, `providers` those whose keys it can use."""

    name: str
    argv: tuple[str, ...]
    registry: Registry | None = None
    package: str = ""
    version: str = ""
    env: tuple[tuple[str, str], ...] = ()
    state: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent to be added, `acp:NAME`: a `package` of a registry, or a `command` alone, which its
    sandboxes have. `command` is read as a shell reads words; empty: what usually speaks ACP is
    tried. `env` are words NAME=VALUE. Unless `checked`, nothing is started."""

    name: str
    registry: Registry | None = None
    package: str = ""
    command: str = ""
    env: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    checked: bool = True


def is_added(name: str) -> bool:
    """Report whether a name, or `name@version`, is one of an added agent."""
    return name.startswith(PREFIX)


def read_name(reference: str) -> str:
    """Return the name behind `acp:`. Raises `Invalid`."""
    name = reference.removeprefix(PREFIX)
    if not reference.startswith(PREFIX) or not _NAME.match(name):
        raise Invalid(
            f"{reference[:60]!r} is no name of an added agent: write acp:NAME, with small letters, "
            "digits and hyphens, 32 at most",
            field="agent",
        )
    return name


def read_package(registry: Registry, text: str) -> tuple[str, str]:
    """Return name and version (empty: the newest) of a package: `@scope/name@1.0` of npm,
    `name==1.0` or `name@1.0` of Python's registry. Raises `Invalid`."""
    divider = "==" if registry == "pip" and "==" in text else "@"
    at = text.find(divider, 1)
    name, version = (text, "") if at < 0 else (text[:at], text[at + len(divider) :])
    pattern = _NPM if registry == "npm" else _PIP
    if not pattern.match(name) or len(name) > 214 or (at >= 0 and not version):
        raise Invalid(f"{text[:80]!r} is no package of {registry}", field="package")
    return name, version


def read_definition(wanted: NewAgent) -> AcpDefinition:
    """Return the definition of an agent to be added: without a command its program has its name,
    and its version is empty where none is named. Raises `Invalid` with the field at fault."""
    name = read_name(wanted.name)
    package, version = "", ""
    if wanted.registry is not None:
        package, version = read_package(wanted.registry, wanted.package)
        version = read_version(version) if version else ""
    try:
        argv = tuple(shlex.split(wanted.command))
    except ValueError as error:
        raise Invalid(f"the command cannot be read: {error}", field="command") from error
    if not argv and wanted.registry is None:
        raise Invalid("name its package (--npm, --pip) or its command", field="command")
    definition = AcpDefinition(
        name,
        argv or (name,),
        wanted.registry,
        package,
        version,
        env=_read_variables(wanted.env),
        state=wanted.state,
        providers=wanted.providers,
    )
    return judge_definition(definition)


def judge_definition(definition: AcpDefinition) -> AcpDefinition:
    """Return a definition that holds. Raises `Invalid` with the field at fault."""
    read_name(PREFIX + definition.name)
    _judge_command(definition.argv)
    if len(definition.env) > MAX_VARIABLES or len(definition.state) > MAX_FOLDERS:
        raise Invalid(f"take up to {MAX_VARIABLES} variables and {MAX_FOLDERS} folders")
    for variable, value in definition.env:
        if not _VARIABLE.match(variable) or not _is_plain(value):
            raise Invalid(f"{variable[:60]!r} is no variable: write NAME=VALUE", field="env")
    for folder in definition.state:
        if not _FOLDER.match(folder) or ".." in folder or folder.split("/")[0] == STATE:
            raise Invalid(
                f"{folder[:80]!r} is no directory below the home, such as .config/agent",
                field="state",
            )
    for provider in definition.providers:
        if provider not in PROVIDERS:
            known = ", ".join(sorted(PROVIDERS))
            raise Invalid(f"no provider is called {provider[:40]!r}: {known}", field="provider")
    return definition


def _judge_command(argv: tuple[str, ...]) -> None:
    if not argv or len(argv) > MAX_WORDS or not all(map(_is_plain, argv)) or not argv[0]:
        raise Invalid("the command is a program and its arguments", field="command")
    if argv[0].startswith("-") or "--" in argv:
        raise Invalid(f"{argv[0][:60]!r} is no program, or -- is among its words", field="command")


def _is_plain(word: str) -> bool:
    return len(word) <= MAX_WORD and word.isprintable()


def added_agent(definition: AcpDefinition) -> Agent:
    """Return the agent of a definition. It has no mode at a terminal."""
    references = [f"{k}={v}" for k, v in definition.env if _REFERENCE.match(v)]
    words = (definition.name, *definition.state, "--", *references, "--", *definition.argv)
    plain = tuple((k, v) for k, v in definition.env if not _REFERENCE.match(v))
    tools = AgentTools(machine_url=FLAT_TOOLS_URL, machine_argv=(TOOLS_PROGRAM, "--flat"))
    stdio = AgentTools(machine_argv=(TOOLS_PROGRAM, "--flat"))
    return Agent(
        name=PREFIX + definition.name,
        command=definition.argv[0].rpartition("/")[2],
        argv=(),
        task_argv=(),
        package=_package(definition),
        providers=definition.providers,
        state=(STATE,),
        env=plain,
        hint=f"have {definition.argv[0]} in the image of the sandbox",
        machine=Machine("acp", ("sh", "-c", _START, "acp", *words), conversation_argv=()),
        mcp=tools,
        mcp_stdio=stdio,
    )


def _package(definition: AcpDefinition) -> Package | None:
    program = definition.argv[0].rpartition("/")[2]
    if definition.registry is None:
        return None
    folder = "node_modules/.bin" if definition.registry == "npm" else "venv/bin"
    return Package(
        definition.registry, definition.package, definition.version, (f"{folder}/{program}",)
    )


def _read_variables(words: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return variables of words NAME=VALUE. Raises `Invalid`."""
    variables: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not _VARIABLE.match(name):
            raise Invalid(f"{word[:60]!r} is no variable: write NAME=VALUE", field="env")
        variables[name] = value
    return tuple(variables.items())
