"""A coding agent as Atoll sees it: where its program comes from and how it is started.

Data only; one file per agent in `adapters.agents`. What an agent needs to know inside a
sandbox (broker addresses, quiet flags, onboarding answers) is seeded once, so that a
person's own changes to those files stay.
"""

import re
from dataclasses import dataclass
from typing import Literal

from atoll.domain.errors import Invalid

LAYERS = "/opt/atoll/agents"
"""Where installed agents are seen inside, read-only: one folder per agent name."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A file written in the sandbox's home whenever it is brought up, if it is absent.
    `path` is relative to the home; below `state` a person's changes last."""

    path: str
    content: str


Registry = Literal["npm", "pip"]
"""Whose packages Atoll can lay into a layer: npm's, or Python's (a venv of its own)."""

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class Package:
    """Where the program comes from. `programs` are patterns below the installed folder, best
    first; the first that exists becomes `bin/<command>` of the layer. `version` is the pinned
    one, `about_mib` what it takes once installed (0: not known). `needs` are programs of the
    sandbox's own root that it runs on."""

    registry: Registry
    name: str
    version: str
    programs: tuple[str, ...]
    needs: tuple[str, ...] = ()
    about_mib: int = 0


Protocol = Literal["claude", "codex", "acp"]
"""How an agent's machine mode speaks: `domain.agent` has each of them."""


@dataclass(frozen=True, slots=True)
class Machine:
    """An agent's machine mode: `argv` starts it so that it asks before it acts, `allow_argv` is
    added where everything is allowed, `resume_argv` to go on with its last conversation,
    `conversation_argv` with the one whose id is appended: empty where its protocol says which,
    None where it cannot."""

    protocol: Protocol
    argv: tuple[str, ...]
    allow_argv: tuple[str, ...] = ()
    resume_argv: tuple[str, ...] = ()
    conversation_argv: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class WatchFile:
    """A file that makes an agent at a terminal tell of its turns: written beside its ear, whose
    path `{ear}` stands for in `content`, at the ear's path and `suffix`; `variable`, where there
    is one, tells the agent of it. A person who sets that variable goes without."""

    suffix: str
    content: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent: `argv` starts it at a terminal, `task_argv` runs one prompt (appended) and
    ends, `resume_argv` goes on with its last conversation, `conversation_argv` with the one
    whose id is appended.

    `providers` are the broker's it can speak to. `state` are folders below the home that
    outlive a stop, `transcripts` a pattern below the home. `aliases` are other names people
    type, `hint` says how to get it where Atoll cannot install it. `watch_argv` or `watch_files`
    make the agent at a terminal tell of its turns (`domain.agent.hooks`), `transcript` names
    who reads the file it then writes; `prompt_argv` comes before a first prompt (None: it takes
    none).
    `machine` is the mode in which programs drive it."""

    name: str
    command: str
    argv: tuple[str, ...]
    task_argv: tuple[str, ...]
    resume_argv: tuple[str, ...] = ()
    conversation_argv: tuple[str, ...] = ()
    package: Package | None = None
    providers: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    transcripts: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    seeds: tuple[Seed, ...] = ()
    aliases: tuple[str, ...] = ()
    hint: str = ""
    watch_argv: tuple[str, ...] = ()
    watch_files: tuple[WatchFile, ...] = ()
    transcript: Literal["", "claude", "codex", "gemini", "opencode", "qwen"] = ""
    prompt_argv: tuple[str, ...] | None = None
    machine: Machine | None = None


def layer_path(agent: Agent) -> str:
    """Where the agent's layer is seen inside."""
    return f"{LAYERS}/{agent.name}"


def split_reference(reference: str) -> tuple[str, str | None]:
    """`codex@0.169.0` → (`codex`, `0.169.0`); without a version, None. Raises `Invalid`."""
    name, at, version = reference.partition("@")
    return name, read_version(version) if at else None


def read_version(text: str) -> str:
    """A version that may be asked of a registry and name a folder. Raises `Invalid`."""
    if not _VERSION.match(text) or ".." in text:
        raise Invalid(f"{text[:80]!r} is no version of an agent", field="agent")
    return text


HOOK_COMMAND = (
    '[ ! -p "$ATOLL_EAR" ] || printf \'%s\\n\' "$(head -c 1500 | tr -d \'\\n\')" 1<>"$ATOLL_EAR"'
)
"""What an agent's hooks run: the beginning of what they are told, as one line in one write (at
most PIPE_BUF, pipe(7)) to whoever listens beside the terminal. Elsewhere it does nothing."""


def named(agents: tuple[Agent, ...]) -> tuple[tuple[str, Agent], ...]:
    """Every name an agent answers to."""
    return tuple((name, agent) for agent in agents for name in (agent.name, *agent.aliases))
