"""A coding agent as Atoll sees it: where its program comes from and how it is started.

Data only; one file per agent in `domain.agents.catalogue`. What an agent needs to know inside a
sandbox (broker addresses, quiet flags, onboarding answers) is seeded once, so that a
person's own changes to those files stay.
"""

import re
from dataclasses import dataclass
from typing import Literal

from atoll.domain.errors import Invalid

LAYERS = "/opt/atoll/agents"
"""The directory inside that shows installed agents, read-only: a subdirectory per agent name."""


TOOLS_PROGRAM = f"{LAYERS}/.safety/bin/atoll-mcp"
"""The program inside by which Atoll's tools are reached over standard input and output."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A file written in the sandbox's home whenever it is brought up, if it is absent.
    `path` is relative to the home; below `state` a person's changes last."""

    path: str
    content: str


Registry = Literal["npm", "pip"]
"""The package registry of a program: npm's, or Python's (installed in a virtual environment)."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?")
"""Escape sequences of ECMA-48: CSI, OSC and two-character ones, also one that is cut off."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class Package:
    """The package that holds the program.

    `programs` are patterns below the installed directory, best first; the first that exists becomes
    `bin/<command>` of the layer. `version` is the pinned one, `about_mib` its installed size (0:
    not known). `needs` are programs of the sandbox's own root that it requires.
    """

    registry: Registry
    name: str
    version: str
    programs: tuple[str, ...]
    needs: tuple[str, ...] = ()
    about_mib: int = 0


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine mode of an agent, which speaks `protocol` (`readers.CONVERSATIONS`).

    `argv` starts it so that it asks before it acts; `allow_argv` is added where everything is
    allowed. `resume_argv` resumes its last conversation, `conversation_argv` the one whose id is
    appended, and `fork_argv` a fork of that, which gets another id. These are empty where the
    protocol names the conversation, and None where the agent cannot resume. `fresh_argv` starts a
    new one under an id of ours, which is appended.

    Every start names the permission mode: `ask_argv` is added where the agent asks. Without it some
    agents begin in a mode of their vendor, whose check never passes our doors.
    """

    protocol: str
    argv: tuple[str, ...]
    allow_argv: tuple[str, ...] = ()
    ask_argv: tuple[str, ...] = ()
    resume_argv: tuple[str, ...] = ()
    conversation_argv: tuple[str, ...] | None = None
    fork_argv: tuple[str, ...] = ()
    fresh_argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WatchFile:
    """A file that makes an agent at a terminal report its turns.

    The file is written beside the agent's report pipe, at the pipe's path and `suffix`.
    `{report_pipe}` in `content` stands for the pipe's path. `variable`, when set, names the
    environment variable that gives the agent the file's path. A person who sets that variable gets
    no reports.
    """

    suffix: str
    content: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class AgentTools:
    """An agent's ways to learn of Atoll's tools (MCP), which change no file of a person.

    `argv` follows the first word wherever the agent starts. `files` are written at a terminal as
    `WatchFile` says, in place of a file with the same suffix. `machine_url` or `machine_argv` is
    named to a machine whose protocol takes the servers of a session; with both the agent's
    abilities decide. `seeds` are written with the agent's own.
    """

    argv: tuple[str, ...] = ()
    files: tuple[WatchFile, ...] = ()
    machine_url: str = ""
    machine_argv: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = ()


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent.

    `argv` starts it at a terminal, `task_argv` runs one prompt (appended) and ends, `resume_argv`
    resumes its last conversation, `conversation_argv` the one whose id is appended, `fork_argv` a
    fork of that, which gets another id.

    `providers` are the model providers it can use through the broker. `state` are directories below
    the home that outlive a stop, `transcripts` a pattern below the home. `aliases` are other names
    people type, `hint` tells how to get it where Atoll cannot install it. `etc` are files below
    /etc, read-only inside: policy and hooks that no dialog asks about, so that the home stays the
    person's. `watch_argv` takes the place of their hooks where a wall has the /etc of its image.
    `watch_files` make an agent at a terminal report its turns, too (`domain.agents.hooks`).
    `transcript` names the reader of the file it then writes, `held` that of the questions its hooks
    wait with, so that they are answered from elsewhere, too. `server` names the protocol of a
    server that the agent at a terminal is a client of, and Atoll too. `menus`: its questions are
    menus that take keys only, and are read from its screen. `ask_words` are words of its argv, each
    with the one in its place where the agent asks before it acts. `prompt_argv` comes before a
    first prompt (None: it takes none). `machine` is the mode in which programs drive it.
    `own_hosts` are hosts that the program calls for itself, whatever its task is: nobody is asked
    when they are refused. `mcp` gives it Atoll's tools by HTTP, `mcp_stdio` by a program; None: it
    does not take them so.
    """

    name: str
    command: str
    argv: tuple[str, ...]
    task_argv: tuple[str, ...]
    resume_argv: tuple[str, ...] = ()
    conversation_argv: tuple[str, ...] = ()
    fork_argv: tuple[str, ...] = ()
    package: Package | None = None
    providers: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    transcripts: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    seeds: tuple[Seed, ...] = ()
    etc: tuple[Seed, ...] = ()
    aliases: tuple[str, ...] = ()
    hint: str = ""
    watch_argv: tuple[str, ...] = ()
    watch_files: tuple[WatchFile, ...] = ()
    transcript: str = ""
    held: str = ""
    server: str = ""
    menus: bool = False
    ask_words: tuple[tuple[str, str], ...] = ()
    prompt_argv: tuple[str, ...] | None = None
    machine: Machine | None = None
    own_hosts: tuple[str, ...] = ()
    mcp: AgentTools | None = None
    mcp_stdio: AgentTools | None = None


def layer_name(agent: Agent) -> str:
    """Return the name of the directory of an agent's layers: a colon would part it in a PATH."""
    return agent.name.replace(":", "-")


def layer_path(agent: Agent) -> str:
    """Return where the agent's layer is mounted inside."""
    return f"{LAYERS}/{layer_name(agent)}"


def takes_prompts(agent: Agent) -> bool:
    """Report whether the agent reads words. A plain shell, which keeps nothing of its own, would
    run them as commands."""
    return bool(agent.state)


def needed_programs(agent: Agent) -> tuple[str, ...]:
    """Return the programs of the sandbox's own root that an agent runs on."""
    return agent.package.needs if agent.package else ()


def plain_prompt(words: str) -> str:
    """Return a prompt as text: without escape sequences and control characters, which would act as
    keys in an agent's input line and as commands in the terminal that shows it."""
    lines = words.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub("", _ESCAPES.sub("", lines))


def split_reference(reference: str) -> tuple[str, str | None]:
    """Split `codex@0.171.0` into (`codex`, `0.171.0`); no version is None. Raises `Invalid`."""
    name, at, version = reference.partition("@")
    return name, read_version(version) if at else None


def read_version(text: str) -> str:
    """Return a version that may be requested from a registry and may name a directory. Raises
    `Invalid`."""
    if not _VERSION.match(text) or ".." in text:
        raise Invalid(f"{text[:80]!r} is no version of an agent", field="agent")
    return text


def agents_by_name(agents: tuple[Agent, ...]) -> tuple[tuple[str, Agent], ...]:
    """Return a pair of each name or alias and its agent."""
    return tuple((name, agent) for agent in agents for name in (agent.name, *agent.aliases))
