"""The runtime as the entry point of a pod or VM: the same contract, on `:7681`, with a token.

`python -m atoll.wiring.pod`. The machine around it is the wall; here processes start
under another uid when given one. With a boot file it serves the doors, too.
"""

import argparse
import os
import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from atoll.adapters.zygote.environment import OF_THE_BROKER, environment
from atoll.domain.agents.agent import agents_by_name
from atoll.domain.agents.registry import AGENTS
from atoll.domain.errors import AtollError, Failed, Invalid
from atoll.domain.wall.proxy_settings import JAVA_OPTIONS, java_options
from atoll.ports.extension import Mount
from atoll.ports.runtime_boot import Agent, RuntimeBoot
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.words.walls import WORKSPACE
from atoll.wire.zygote import messages as zygote
from atoll.wiring.pod_boot import MIN_TOKEN_CHARACTERS, PodBoot, read_boot, refuse_equal_uid
from atoll.wiring.pod_wall import start_init
from atoll.wiring.runtime import serve
from atoll.wiring.timeouts import mend_timeouts
from atoll.zygote.host import kernel
from atoll.zygote.wall.confinement import plan_confinement

PORT = 7681
TOKEN_VARIABLE = "ATOLL_RUNTIME_TOKEN"  # noqa: S105 - a variable's name, not a token
_INSIDE = ("PATH", "LANG", "HOME", "USER", "TERM")
"""Variables that processes inherit from the pod's environment; its other variables stay out."""


def main(arguments: list[str]) -> int:
    """Serve until SIGTERM; the exit code is the runtime's, 2 for a wrong call."""
    kernel.forbid_cores()
    mend_timeouts()
    asked = _parser().parse_args(arguments)
    try:
        boot = _boot(asked)
    except AtollError as error:
        print(f"atoll: {error.message}", file=sys.stderr)
        return 2
    print(f"runtime on {boot.listener.getsockname()[0]}:{boot.listener.getsockname()[1]}")
    sys.stdout.flush()
    serve(boot, ready=_prepare_confinement(asked.journal))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m atoll.wiring.pod", description=__doc__)
    parser.add_argument("--sandbox-id", default="sb_pod", help="the sandbox this is")
    parser.add_argument("--generation", type=int, default=1)
    parser.add_argument("--host", default="0.0.0.0", help="address to listen on")  # noqa: S104
    parser.add_argument("--port", type=int, default=PORT, help="0 takes any free one")
    parser.add_argument("--workspace", type=Path, default=Path(WORKSPACE))
    parser.add_argument("--journal", type=Path, required=True, help="folder of the journal")
    parser.add_argument(
        "--agents",
        type=Path,
        help="JSON file of the agents that may be started by name; without it, all Atoll knows",
    )
    parser.add_argument(
        "--repo-link",
        type=Path,
        default=Path("/repo"),
        help="path that becomes a link to the workspace",
    )
    parser.add_argument(
        "--boot-fd",
        type=int,
        help="descriptor of the boot file (JSON): token, env, agents, upstreams, doors, wall",
    )
    parser.add_argument("--uid", type=int, help="run processes as this uid (needs root)")
    return parser


def _boot(asked: argparse.Namespace) -> RuntimeBoot:
    given = _receive_boot(asked)
    if not asked.workspace.is_dir():
        raise Invalid(f"the workspace {asked.workspace} is not a folder")
    known = given.agents
    agents = _all_agents() if known is None else tuple(map(_agent, known))
    asked.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
    if given.wall == "machine":
        _link_workspace(asked.repo_link, asked.workspace)
    init = start_init(given, asked.workspace, asked.uid)
    return RuntimeBoot(
        sandbox_id=asked.sandbox_id,
        generation=asked.generation,
        listener=_listen(asked.host, asked.port),
        control=init.control,
        journal_dir=asked.journal,
        token=given.token,
        doors=init.doors,
        env=_environment(asked, given),
        cwd=init.workspace,
        workspace=init.workspace,
        init=init.program,
        agents=agents,
        broker=given.upstreams,
        idle_end_seconds=given.idle_end_seconds,
    )


def _receive_boot(asked: argparse.Namespace) -> PodBoot:
    """Return what the backend handed over: the boot file, or else a token in the environment, which
    brings no doors. Raises `Invalid`."""
    if asked.boot_fd is not None:
        given = read_boot(asked.boot_fd)
        refuse_equal_uid(given, asked.uid)
        return given
    token = os.environ.pop(TOKEN_VARIABLE, "")
    if len(token) < MIN_TOKEN_CHARACTERS:
        raise Invalid(
            f"{TOKEN_VARIABLE} must hold a token of {MIN_TOKEN_CHARACTERS} characters or more, "
            f"for example {secrets.token_urlsafe(32)}"
        )
    if asked.uid is None or asked.uid == os.geteuid():
        print("atoll: degraded: uid: programs have the runtime's own", file=sys.stderr)
    agents = None if asked.agents is None else _read_agents(asked.agents)
    return PodBoot(token, agents=agents, doors=False)


def _environment(asked: argparse.Namespace, given: PodBoot) -> tuple[tuple[str, str], ...]:
    """Return the variables of every program inside: with doors those that lead to them."""
    here = tuple((name, os.environ[name]) for name in _INSIDE if name in os.environ)
    if given.wall == "bwrap":
        here = ()
    if not given.doors:
        return tuple({**dict(here), **dict(given.env)}.items())
    mounts = (Mount(one.source, one.target) for one in given.mounts)
    java = ((JAVA_OPTIONS, java_options()),)
    env = environment(asked.sandbox_id, java, here, given.env, mounts=mounts)
    if not given.own_logins:
        return env
    kept = dict(given.env)
    return tuple(pair for pair in env if pair[0] in kept or pair[0] not in OF_THE_BROKER)


def _prepare_confinement(journal: Path) -> Callable[[], None]:
    """Return what holds this process to few files and calls. The machine around it is the wall, so
    where this cannot be had it is only reported."""
    try:
        found = plan_confinement(journal)
        found.prepare()
    except (AtollError, OSError) as error:
        print(f"atoll: the runtime is not confined: {error}", file=sys.stderr)
        return lambda: None
    for note in found.lacking:
        print(f"atoll: degraded: {note}", file=sys.stderr)
    return partial(found.enter, journal)


def _all_agents() -> tuple[Agent, ...]:
    """Return the catalogue, under every name its agents answer to."""
    return tuple(
        replace(msgspec.convert(agent, Agent, from_attributes=True), name=name, mcp=None)
        for name, agent in agents_by_name(AGENTS)
    )


def _agent(told: zygote.Agent) -> Agent:
    """Return an agent without tools: no control plane can be reached from a pod's doors."""
    return replace(msgspec.convert(told, Agent, from_attributes=True), mcp=None)


def _read_agents(path: Path) -> tuple[zygote.Agent, ...]:
    """Return the agents that a file lists, as the zygote is given them. Raises `Invalid`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[zygote.Agent, ...])
    except (OSError, *UNREADABLE) as error:
        raise Invalid(f"the agents in {path} cannot be read: {error}", field="agents") from error


def _link_workspace(link: Path, workspace: Path) -> None:
    """Make `link` lead to the workspace. Programs that know only `/repo` find it there; a root
    that is read-only keeps the others working, so a failure is only reported."""
    try:
        link.symlink_to(workspace)
    except OSError as error:
        if not (link.is_symlink() and link.readlink() == workspace):
            print(f"atoll: no link {link} to {workspace}: {error.strerror}", file=sys.stderr)


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=128)
    except OSError as error:
        raise Failed(f"cannot listen on {host}:{port}: {error}") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
