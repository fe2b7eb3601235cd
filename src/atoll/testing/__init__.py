"""Contract suites and stand-ins for people who write adapters. Nothing here runs in production.

Each suite is a class of `test_` methods: subclass it, give it the fixtures its docstring names,
and pytest runs it. `pip install 'atoll[testing]'` brings what the suites need. A suite is loaded
once it is asked for, since few authors need more than one.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atoll.testing.contracts.agents import (
        AgentConfigsContract,
        AgentLayersContract,
        AgentShelfContract,
    )
    from atoll.testing.contracts.bus import BusContract
    from atoll.testing.contracts.clock import ClockContract
    from atoll.testing.contracts.event_log import EventLogContract
    from atoll.testing.contracts.extension import ExtensionContract
    from atoll.testing.contracts.host import HostContract
    from atoll.testing.contracts.images import (
        ImageBuilderContract,
        ImageShelfContract,
        TreesContract,
    )
    from atoll.testing.contracts.kept import KeptShelfContract
    from atoll.testing.contracts.logins import LoginBooksContract
    from atoll.testing.contracts.metadata import MetadataFilesContract
    from atoll.testing.contracts.repositories import (
        ImporterContract,
        LocalShelfContract,
        RepositoryShelfContract,
    )
    from atoll.testing.contracts.runtime import RuntimeClientsContract
    from atoll.testing.contracts.safety import SafetyLayersContract
    from atoll.testing.contracts.spawner import SpawnerContract
    from atoll.testing.contracts.store import StoreContract
    from atoll.testing.contracts.vault import VaultContract
    from atoll.testing.contracts.workspaces import WorkSaverContract, WorkspacePreparerContract

__all__ = [
    "AgentConfigsContract",
    "AgentLayersContract",
    "AgentShelfContract",
    "BusContract",
    "ClockContract",
    "EventLogContract",
    "ExtensionContract",
    "HostContract",
    "ImageBuilderContract",
    "ImageShelfContract",
    "ImporterContract",
    "KeptShelfContract",
    "LocalShelfContract",
    "LoginBooksContract",
    "MetadataFilesContract",
    "RepositoryShelfContract",
    "RuntimeClientsContract",
    "SafetyLayersContract",
    "SpawnerContract",
    "StoreContract",
    "TreesContract",
    "VaultContract",
    "WorkSaverContract",
    "WorkspacePreparerContract",
]

if not TYPE_CHECKING:  # to a type checker any name would be here
    _MODULES = {
        "AgentConfigsContract": "agents",
        "AgentLayersContract": "agents",
        "AgentShelfContract": "agents",
        "BusContract": "bus",
        "ClockContract": "clock",
        "EventLogContract": "event_log",
        "ExtensionContract": "extension",
        "HostContract": "host",
        "ImageBuilderContract": "images",
        "ImageShelfContract": "images",
        "ImporterContract": "repositories",
        "KeptShelfContract": "kept",
        "LocalShelfContract": "repositories",
        "LoginBooksContract": "logins",
        "MetadataFilesContract": "metadata",
        "RepositoryShelfContract": "repositories",
        "RuntimeClientsContract": "runtime",
        "SafetyLayersContract": "safety",
        "SpawnerContract": "spawner",
        "StoreContract": "store",
        "TreesContract": "images",
        "VaultContract": "vault",
        "WorkSaverContract": "workspaces",
        "WorkspacePreparerContract": "workspaces",
    }

    def __getattr__(name: str) -> object:
        """Load a name of `__all__` from its module."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.contracts.{_MODULES[name]}"), name)
        globals()[name] = found
        return found
