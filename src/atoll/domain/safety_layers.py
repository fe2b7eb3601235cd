"""The six safety layers of one sandbox, and what each is worth in it: data for a person, pure.

Says what is in force, never more. Layers 1 and 3 stand inside and can be passed by; 5 and 6,
and the wall they are part of, cannot.
"""

from dataclasses import dataclass

from atoll.domain.network_switch import rules_of
from atoll.domain.profile import NetworkMode, Profile, RootMode, Safety
from atoll.domain.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. `bypassable` when something inside that wants to can pass it by."""

    number: int
    name: str
    in_force: bool
    bypassable: bool
    text: str


def layers_of(sandbox: Sandbox) -> tuple[Layer, ...]:
    """All six, by number."""
    profile = sandbox.profile
    return (
        Layer(1, "shell warnings", profile.safety.shell, True, _shell(profile)),
        Layer(2, "redaction", True, False, "what a terminal shows is masked; a net, not a wall"),
        Layer(3, "operator approval", profile.safety != Safety(), True, _operator(profile)),
        Layer(4, "sudo allowlist", bool(profile.safety.sudo), False, _sudo(profile)),
        Layer(5, "network", True, False, _network(sandbox)),
        Layer(6, "read-only root", profile.root is RootMode.READ_ONLY, False, _root(profile)),
    )


def _shell(profile: Profile) -> str:
    if not profile.safety.shell:
        return "off: the profile does not turn it on (safety.shell)"
    return "bash and zsh warn before dangerous commands; any other way to run them passes by"


def _operator(profile: Profile) -> str:
    rules = profile.safety.operator
    if profile.safety == Safety():
        return "off: the profile turns no layer on, so operator-approve is not there"
    if not rules:
        return "operator-approve asks for a person's word; no command asks by itself"
    shown = ", ".join(" ".join(rule) for rule in rules[:8])
    return f"these ask by themselves when found by name: {shown}"


def _sudo(profile: Profile) -> str:
    count = len(profile.safety.sudo)
    if not count:
        return "sudo does nothing here"
    return f"{count} commands, word for word; every other is refused"


def _network(sandbox: Sandbox) -> str:
    network = sandbox.profile.network
    match network.mode:
        case NetworkMode.NONE:
            return "none: nothing leaves but model calls through the broker"
        case NetworkMode.LIMITED:
            return f"limited: {len(rules_of(network))} rules, everything else refused"
        case NetworkMode.HOST_ONLY:
            ports = ", ".join(str(port) for port in network.host_ports) or "none"
            return f"host-only: ports {ports} of this machine, {len(network.ranges)} ranges"
        case NetworkMode.FULL:  # pragma: no branch - the cases are all
            return "full: every public address; private ones and metadata services refused"


def _root(profile: Profile) -> str:
    match profile.root:
        case RootMode.READ_ONLY:
            return "the system is read-only; /workspace and the home are writable"
        case RootMode.OVERLAY:  # pragma: no branch - the cases are all
            return "writes to the system land in a layer of this sandbox's own"
