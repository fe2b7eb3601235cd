"""Network policies: what a sandbox's profile and owner let its egress door do, in the words of
the runtime's policy. Judging a request is the door's business.
"""

from atoll.domain.network.egress import EgressRule as Rule
from atoll.domain.network.switch import rules_of
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.contract.policy import Commands, EgressRule, Network

MEGABYTE = 1_000_000


def network_of(sandbox: Sandbox) -> Network:
    """Return the egress door's policy of this sandbox."""
    network = sandbox.profile.network
    return Network(
        mode=network.mode.value,
        rules=tuple(_egress_rule(rule) for rule in rules_of(network)),
        denied=network.denied,
        host_ports=network.host_ports,
        ranges=network.ranges,
        ports=network.ports,
        bytes_out_per_hour=_bytes(network.out_mb_per_hour),
        bytes_in_per_hour=_bytes(network.in_mb_per_hour),
    )


def commands_of(sandbox: Sandbox) -> Commands:
    """Return the commands that may run with privilege, and those that need an approval."""
    safety = sandbox.profile.safety
    return Commands(sudo=safety.sudo, operator=safety.operator)


def _egress_rule(rule: Rule) -> EgressRule:
    return EgressRule(
        host=rule.host,
        ports=rule.ports,
        methods=rule.methods,
        paths=rule.paths,
        origin=rule.origin,
    )


def _bytes(megabytes: int | None) -> int | None:
    return None if megabytes is None else megabytes * MEGABYTE
