"""Start parameters of a runtime: everything it needs, handed over by the process that forked it.

No file is looked up and no setting read afterwards. Descriptors belong to the runtime.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from atoll.wire.contract.execs import OwnUsage
from atoll.wire.words.walls import WORKSPACE

JOURNAL_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Machine:
    """Protocol and argv by which programs drive an agent (`domain.agents.agent.Machine`)."""

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
    """A file that makes an agent report its turns (`domain.agents.agent.WatchFile`)."""

    suffix: str
    content: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class AgentTools:
    """The ways by which an agent learns of Atoll's tools (`domain.agents.agent.AgentTools`)."""

    argv: tuple[str, ...] = ()
    files: tuple[WatchFile, ...] = ()
    machine_url: str = ""
    machine_argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Agent:
    """A coding agent the sandbox knows by name (`domain.agents.agent.Agent`)."""

    name: str
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    resume_argv: tuple[str, ...] = ()
    conversation_argv: tuple[str, ...] = ()
    fork_argv: tuple[str, ...] = ()
    watch_argv: tuple[str, ...] = ()
    watch_files: tuple[WatchFile, ...] = ()
    transcript: str = ""
    held: str = ""
    server: str = ""
    menus: bool = False
    ask_words: tuple[tuple[str, str], ...] = ()
    prompt_argv: tuple[str, ...] | None = None
    machine: Machine | None = None
    mcp: AgentTools | None = None


@dataclass(frozen=True, slots=True)
class LinkBoot:
    """The near end of a link. `listener` is a listening unix socket where streams to the far end
    come in, `key` proves both ends to each other. After `grace_seconds` without a stream the far
    end has ended everything."""

    listener: socket.socket
    key: bytes = field(repr=False)
    grace_seconds: int = 600


@dataclass(frozen=True, slots=True)
class RuntimeBoot:
    """Start parameters of one runtime.

    `listener` is a bound, listening unix or TCP socket; with a `token`, every request must
    bear it. `control` is the SEQPACKET socket to the init, or the link to one of another machine;
    `init` is how the sandbox names that program (None: the static one). `zygote` is where commands
    of `sudo` are asked for (None: there are none). `doors` are listening sockets: 8082 on v4 and
    v6, then 3128 on v4 and v6; a link brings its own. `env` is the environment of everything
    started inside, `workspace` the tree of the file routes. `keys_fd` is a memfd with the keys
    (TOML); `broker` names upstream URLs by provider where they differ from the keys' own. `settle`
    is called whenever the runtime has had nothing to do for a while, and gives memory back. With
    `idle_end_seconds` the runtime ends by itself after so long without a request. `own_usage`
    reports the runtime's own use (None: nobody counts it).
    """

    sandbox_id: str
    generation: int
    listener: socket.socket
    control: socket.socket | LinkBoot
    journal_dir: Path
    token: str | None = field(default=None, repr=False)
    zygote: socket.socket | None = None
    doors: tuple[socket.socket, ...] = ()
    shell: tuple[str, ...] = ("/bin/bash",)
    env: tuple[tuple[str, str], ...] = ()
    cwd: str = WORKSPACE
    workspace: str = WORKSPACE
    init: tuple[str, ...] | None = None
    keys_fd: int | None = None
    broker: tuple[tuple[str, str], ...] = ()
    agents: tuple[Agent, ...] = ()
    journal_bytes: int = JOURNAL_BYTES
    settle: Callable[[], int] | None = None
    idle_end_seconds: int | None = None
    own_usage: Callable[[], OwnUsage | None] | None = None


Stand = Callable[[], RuntimeBoot]
"""Called once, as soon as a runtime has nothing else left to prepare: waits until its sandbox
runs and has a name, and raises what kept it from running."""
