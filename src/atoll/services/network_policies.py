"""Network policies: what a sandbox's profile and owner let its egress door do, in the words of
the runtime's policy. Judging a request is the door's business.
"""

from atoll.domain.sandbox import Sandbox
from atoll.wire.policy import Commands, Network


def network_of(sandbox: Sandbox) -> Network:
    """The egress door's policy of this sandbox."""
    return Network(mode=sandbox.profile.network.mode.value)


def commands_of(sandbox: Sandbox) -> Commands:
    """Which commands may be run with privilege, or need a person's word."""
    del sandbox
    return Commands()
