"""The six safety layers of one sandbox and its wall, and their strength: data for a person.

Reports what is in force, never more. Layers 1 and 3 stand inside and can be bypassed; 5 and 6, and
the wall they are part of, cannot. Pure.
"""

from dataclasses import dataclass

from atoll.domain.network.egress import FULL_PORTS
from atoll.domain.network.switch import rules_of
from atoll.domain.profile.profile import Profile, RootMode, Safety
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.wall.isolation import Isolation
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.walls import IsolationLevel


@dataclass(frozen=True, slots=True)
class Layer:
    """A safety layer. `bypassable`: a program inside can bypass it on purpose."""

    number: int
    name: str
    in_force: bool
    bypassable: bool
    text: str


_NO_WALL = "nothing is isolated here: this backend is for tests"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the wall itself; `weakened`: this sandbox has it in a weaker form."""

    name: str
    in_force: bool
    weakened: bool
    text: str


def layers_of(sandbox: Sandbox) -> tuple[Layer, ...]:
    """Return all six, by number. For a sandbox that does not run, those of its last life."""
    profile, isolation = sandbox.profile, sandbox.attachment.isolation
    safety, walled = profile.safety, _has_wall(isolation)
    no_sudo = _no_sudo(isolation) if safety.sudo else ""
    read_only = walled and profile.root is RootMode.READ_ONLY
    return (
        Layer(1, "shell warnings", safety.shell, True, _shell(profile)),
        Layer(2, "redaction", True, False, _redaction(sandbox)),
        Layer(3, "operator approval", safety != Safety(), True, _operator(profile)),
        Layer(
            4, "sudo allowlist", bool(safety.sudo) and not no_sudo, False, _sudo(profile, no_sudo)
        ),
        Layer(5, "network", walled, False, _network(sandbox) if walled else _NO_WALL),
        Layer(6, "read-only root", read_only, False, _root(profile) if walled else _NO_WALL),
    )


def wall_of(sandbox: Sandbox) -> tuple[Part, ...]:
    """Return the parts of its wall, as this host gave it; nothing for one that never ran."""
    isolation = sandbox.attachment.isolation
    if isolation is None:
        return ()
    if not _has_wall(isolation):
        return (Part("wall", False, True, _NO_WALL),)
    text = f"{isolation.mechanism}, a static init, user {isolation.host_uid} of this machine"
    debug = sandbox.profile.safety.debug
    calls = (
        "the debug variant: ptrace of the sandbox's own processes passes"
        if debug
        else "the filter for everybody; ptrace is refused, too"
    )
    return (
        Part("wall", True, isolation.weak, text),
        Part("system calls", True, debug, calls),
    )


def _has_wall(isolation: Isolation | None) -> bool:
    return isolation is None or isolation.level is not IsolationLevel.NONE


def _no_sudo(isolation: Isolation | None) -> str:
    """Return why commands of `sudo` are refused there, whatever the list allows; the zygote
    checks."""
    if isolation is None:
        return ""
    if isolation.mechanism != "bubblewrap":
        return f"{isolation.mechanism} cannot give that"
    if not isolation.init:
        return "only a wall of Atoll's own machine can give that"
    if any(note.startswith("uid:") for note in isolation.degraded):
        return "Atoll runs without root"
    return ""


def _redaction(sandbox: Sandbox) -> str:
    text = "what a terminal shows is masked; a net, not a wall"
    if sandbox.exposed_secrets:
        names = ", ".join(sandbox.exposed_secrets)
        text += f"; inside by the owner's own word: {names}"
    return text


def _shell(profile: Profile) -> str:
    if not profile.safety.shell:
        return "off: the profile does not turn it on (safety.shell)"
    return "bash and zsh warn before dangerous commands; any other way to run them passes by"


def _operator(profile: Profile) -> str:
    rules = profile.safety.operator
    if profile.safety == Safety():
        return "off: the profile turns no layer on, so operator-approve is not there"
    if not rules:
        return "operator-approve asks for a person's approval; no command asks by itself"
    shown = ", ".join(" ".join(rule) for rule in rules[:8])
    return f"these ask by themselves when found by name: {shown}"


def _sudo(profile: Profile, missing: str) -> str:
    count = len(profile.safety.sudo)
    if not count:
        return "sudo does nothing here"
    if missing:
        return f"refuses all of the profile's {count} commands here: {missing}"
    return f"{count} commands, word for word; every other is refused"


def _network(sandbox: Sandbox) -> str:
    network = sandbox.profile.network
    match network.mode:
        case NetworkMode.NONE:
            return "none: nothing leaves but model calls through the broker"
        case NetworkMode.LIMITED:
            count = len(rules_of(network))
            return f"limited: {count} rule{'' if count == 1 else 's'}, everything else refused"
        case NetworkMode.HOST_ONLY:
            ports = ", ".join(str(port) for port in network.host_ports) or "none"
            return f"host-only: ports {ports} of this machine, {len(network.ranges)} ranges"
        case NetworkMode.FULL:  # pragma: no branch - the cases are all
            ports = ", ".join(str(port) for port in (*FULL_PORTS, *network.ports))
            return f"full: ports {ports} of every public address; no private or own one"


def _root(profile: Profile) -> str:
    match profile.root:
        case RootMode.READ_ONLY:
            return "the system is read-only; /workspace and the home are writable"
        case RootMode.OVERLAY:  # pragma: no branch - the cases are all
            return "writes to the system land in a layer of this sandbox's own"
