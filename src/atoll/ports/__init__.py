"""What Atoll needs from outside, as small Protocols; `atoll.testing` has their contract suites."""

from atoll.ports.agents import AgentConfigs, AgentLayers
from atoll.ports.bus import Bus, Listener
from atoll.ports.clock import Clock
from atoll.ports.extension import (
    Capabilities,
    CleanupReport,
    Ended,
    Extension,
    Handle,
    Mount,
    Obituaries,
    Provision,
    Reachability,
)
from atoll.ports.metadata import MetadataFiles
from atoll.ports.runtime import (
    Channel,
    RuntimeCall,
    RuntimeClient,
    RuntimeClients,
    RuntimeReply,
    RuntimeStream,
    Tether,
)
from atoll.ports.safety import SafetyLayers
from atoll.ports.spawner import Exit, Process, ProcessSpec, Pty, Spawner
from atoll.ports.store import (
    ApprovalQuery,
    EventQuery,
    Holding,
    IdempotencyRecord,
    Kept,
    LogLine,
    SandboxQuery,
    Store,
    Transaction,
)
from atoll.ports.vault import Masters, Sealed, Vault
from atoll.ports.workspaces import WorkSaver, WorkspacePreparer

__all__ = [
    "AgentConfigs",
    "AgentLayers",
    "ApprovalQuery",
    "Bus",
    "Capabilities",
    "Channel",
    "CleanupReport",
    "Clock",
    "Ended",
    "EventQuery",
    "Exit",
    "Extension",
    "Handle",
    "Holding",
    "IdempotencyRecord",
    "Kept",
    "Listener",
    "LogLine",
    "Masters",
    "MetadataFiles",
    "Mount",
    "Obituaries",
    "Process",
    "ProcessSpec",
    "Provision",
    "Pty",
    "Reachability",
    "RuntimeCall",
    "RuntimeClient",
    "RuntimeClients",
    "RuntimeReply",
    "RuntimeStream",
    "SafetyLayers",
    "SandboxQuery",
    "Sealed",
    "Spawner",
    "Store",
    "Tether",
    "Transaction",
    "Vault",
    "WorkSaver",
    "WorkspacePreparer",
]
