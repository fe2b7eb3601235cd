"""What Atoll needs from outside, as small Protocols. Each has a contract suite in `atoll.testing`."""

from atoll.ports.clock import Clock
from atoll.ports.extension import (
    Capabilities,
    CleanupReport,
    Ended,
    Extension,
    Handle,
    Provision,
    Reachability,
)
from atoll.ports.runtime import Channel, RuntimeCall, RuntimeClient, RuntimeClients, RuntimeReply
from atoll.ports.spawner import Exit, Process, ProcessSpec, Pty, Spawner

__all__ = [
    "Capabilities",
    "Channel",
    "CleanupReport",
    "Clock",
    "Ended",
    "Exit",
    "Extension",
    "Handle",
    "Process",
    "ProcessSpec",
    "Provision",
    "Pty",
    "Reachability",
    "RuntimeCall",
    "RuntimeClient",
    "RuntimeClients",
    "RuntimeReply",
    "Spawner",
]
