"""The runtime as the entry point of a pod or VM: the same contract, on `:7681`, with a token.

`python -m atoll.wiring.pod`. The machine around it is the wall; here processes start
under another uid when given one. The doors are served elsewhere (a second container, the host).
"""

import argparse
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from atoll.domain.agent.agent import named
from atoll.domain.agent.registry import AGENTS
from atoll.domain.errors import AtollError, Failed, Invalid
from atoll.inside.program import host_program, init_argv
from atoll.ports.runtime_boot import Agent, RuntimeBoot
from atoll.wire import init as wire
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.zygote import messages as zygote
from atoll.wiring.runtime import serve
from atoll.zygote.host import kernel
from atoll.zygote.wall.confinement import plan_confinement

PORT = 7681
READY_SECONDS = 10.0
TOKEN_VARIABLE = "ATOLL_RUNTIME_TOKEN"  # noqa: S105 - a variable's name, not a token
MIN_TOKEN_CHARACTERS = 32
_INSIDE = ("PATH", "LANG", "HOME", "USER", "TERM")
"""Variables that processes inherit from the pod's environment; its other variables stay out."""


def main(arguments: list[str]) -> int:
    """Serve until SIGTERM; the exit code is the runtime's, 2 for a wrong call."""
    kernel.forbid_cores()
    asked = _parser().parse_args(arguments)
    try:
        boot = _boot(asked)
    except AtollError as error:
        print(f"atoll: {error.message}", file=sys.stderr)
        return 2
    print(f"runtime on {boot.listener.getsockname()[0]}:{boot.listener.getsockname()[1]}")
    sys.stdout.flush()
    serve(boot, ready=_confined(asked.journal))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m atoll.wiring.pod", description=__doc__)
    parser.add_argument("--sandbox-id", default="sb_pod", help="the sandbox this is")
    parser.add_argument("--generation", type=int, default=1)
    parser.add_argument("--host", default="0.0.0.0", help="address to listen on")  # noqa: S104
    parser.add_argument("--port", type=int, default=PORT, help="0 takes any free one")
    parser.add_argument("--workspace", type=Path, default=Path("/workspace"))
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
    parser.add_argument("--uid", type=int, help="run processes as this uid (needs root)")
    return parser


def _boot(asked: argparse.Namespace) -> RuntimeBoot:
    token = os.environ.pop(TOKEN_VARIABLE, "")
    if len(token) < MIN_TOKEN_CHARACTERS:
        raise Invalid(
            f"{TOKEN_VARIABLE} must hold a token of {MIN_TOKEN_CHARACTERS} characters or more, "
            f"for example {secrets.token_urlsafe(32)}"
        )
    if not asked.workspace.is_dir():
        raise Invalid(f"the workspace {asked.workspace} is not a folder")
    agents = _all_agents() if asked.agents is None else _read_agents(asked.agents)
    asked.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
    _link_workspace(asked.repo_link, asked.workspace)
    program = host_program()
    return RuntimeBoot(
        sandbox_id=asked.sandbox_id,
        generation=asked.generation,
        listener=_listen(asked.host, asked.port),
        control=_start_init(program, asked.workspace, asked.uid),
        journal_dir=asked.journal,
        token=token,
        env=tuple((name, os.environ[name]) for name in _INSIDE if name in os.environ),
        cwd=str(asked.workspace),
        workspace=str(asked.workspace),
        init=program,
        agents=agents,
    )


def _confined(journal: Path) -> Callable[[], None]:
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
        replace(msgspec.convert(agent, Agent, from_attributes=True), name=name)
        for name, agent in named(AGENTS)
    )


def _read_agents(path: Path) -> tuple[Agent, ...]:
    """Return the agents that a file lists, as the zygote is given them. Raises `Invalid`."""
    try:
        listed = msgspec.json.decode(path.read_bytes(), type=tuple[zygote.Agent, ...])
    except (OSError, *UNREADABLE) as error:
        raise Invalid(f"the agents in {path} cannot be read: {error}", field="agents") from error
    return tuple(msgspec.convert(agent, Agent, from_attributes=True) for agent in listed)


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


def _start_init(program: tuple[str, ...], workspace: Path, uid: int | None) -> socket.socket:
    """Return the runtime's end of the control socket, READY taken from it. Init ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = init_argv(program, control_fd=theirs.fileno(), doors=(), root=str(workspace))
    with theirs:
        subprocess.Popen(
            argv,
            pass_fds=(theirs.fileno(),),
            env={},
            stdin=subprocess.DEVNULL,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
            start_new_session=True,
        )
    ours.settimeout(READY_SECONDS)
    try:
        reply = wire.decode_reply(ours.recv(wire.MAX_PACKET_BYTES))
    except (OSError, ValueError) as error:
        raise Failed(f"the init did not start: {error}") from error
    if not isinstance(reply, wire.Ready):
        raise Failed(f"the init did not start: {reply}")
    ours.setblocking(False)
    return ours


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
