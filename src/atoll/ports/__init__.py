"""Protocols of everything outside that Atoll depends on; `atoll.testing` has their contract suites.

A name is loaded from its module once it is asked for: no process needs all of them, and a
command should not wait for them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atoll.ports.agents import AgentConfigs, AgentLayers
    from atoll.ports.bus import Bus, Listener
    from atoll.ports.clock import Clock
    from atoll.ports.extension import (
        Capabilities,
        CleanupReport,
        Ended,
        EndReasons,
        Extension,
        Handle,
        Mount,
        Provision,
        Reachability,
    )
    from atoll.ports.metadata import MetadataFiles
    from atoll.ports.runtime import (
        ByteConnection,
        Channel,
        ExecPipe,
        HandoverLink,
        RuntimeClient,
        RuntimeClients,
        RuntimeStream,
    )
    from atoll.ports.safety import SafetyLayers
    from atoll.ports.spawner import Exit, Process, ProcessSpec, Pty, Spawner
    from atoll.ports.store.approvals import ApprovalQuery
    from atoll.ports.store.events import EventQuery
    from atoll.ports.store.logs import LogLine
    from atoll.ports.store.sandboxes import Holding, IdempotencyRecord, SandboxQuery
    from atoll.ports.store.secrets import Kept
    from atoll.ports.store.store import Store, StoreUnavailable, Transaction
    from atoll.ports.vault import Masters, Sealed, Vault
    from atoll.ports.workspaces import WorkSaver, WorkspacePreparer

__all__ = [
    "AgentConfigs",
    "AgentLayers",
    "ApprovalQuery",
    "Bus",
    "ByteConnection",
    "Capabilities",
    "Channel",
    "CleanupReport",
    "Clock",
    "EndReasons",
    "Ended",
    "EventQuery",
    "ExecPipe",
    "Exit",
    "Extension",
    "Handle",
    "HandoverLink",
    "Holding",
    "IdempotencyRecord",
    "Kept",
    "Listener",
    "LogLine",
    "Masters",
    "MetadataFiles",
    "Mount",
    "Process",
    "ProcessSpec",
    "Provision",
    "Pty",
    "Reachability",
    "RuntimeClient",
    "RuntimeClients",
    "RuntimeStream",
    "SafetyLayers",
    "SandboxQuery",
    "Sealed",
    "Spawner",
    "Store",
    "StoreUnavailable",
    "Transaction",
    "Vault",
    "WorkSaver",
    "WorkspacePreparer",
]

if not TYPE_CHECKING:  # to a type checker any name would be here
    _MODULES = {
        "AgentConfigs": "agents",
        "AgentLayers": "agents",
        "ApprovalQuery": "store.approvals",
        "Bus": "bus",
        "ByteConnection": "runtime",
        "Capabilities": "extension",
        "Channel": "runtime",
        "CleanupReport": "extension",
        "Clock": "clock",
        "Ended": "extension",
        "EventQuery": "store.events",
        "ExecPipe": "runtime",
        "Exit": "spawner",
        "Extension": "extension",
        "Handle": "extension",
        "Holding": "store.sandboxes",
        "IdempotencyRecord": "store.sandboxes",
        "Kept": "store.secrets",
        "Listener": "bus",
        "LogLine": "store.logs",
        "Masters": "vault",
        "MetadataFiles": "metadata",
        "Mount": "extension",
        "EndReasons": "extension",
        "Process": "spawner",
        "ProcessSpec": "spawner",
        "Provision": "extension",
        "Pty": "spawner",
        "Reachability": "extension",
        "RuntimeClient": "runtime",
        "RuntimeClients": "runtime",
        "RuntimeStream": "runtime",
        "SafetyLayers": "safety",
        "SandboxQuery": "store.sandboxes",
        "Sealed": "vault",
        "Spawner": "spawner",
        "Store": "store.store",
        "StoreUnavailable": "store.store",
        "HandoverLink": "runtime",
        "Transaction": "store.store",
        "Vault": "vault",
        "WorkSaver": "workspaces",
        "WorkspacePreparer": "workspaces",
    }

    def __getattr__(name: str) -> object:
        """Load a name of `__all__` from its module."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = found
        return found
