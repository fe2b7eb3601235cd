"""Contract suites and fakes for people who write adapters. Nothing here runs in production.

Each suite is a class of `test_` methods: subclass it, give it the fixtures its docstring names,
and pytest runs it. `pip install 'atoll[testing]'` brings what the suites need. A fake passes the
suite of its port. Everything is loaded once it is asked for, since few authors need more than one.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atoll.testing.contracts.agents import (
        AgentConfigsContract,
        AgentLayersContract,
        AgentShelfContract,
    )
    from atoll.testing.contracts.bus import (
        BusContract,
        EventSinkContract,
        LiveChannelsContract,
    )
    from atoll.testing.contracts.clock import ClockContract
    from atoll.testing.contracts.contents.blobs import BlobsContract
    from atoll.testing.contracts.contents.images import DiskImagesContract
    from atoll.testing.contracts.contents.sealing import BlobSealerContract
    from atoll.testing.contracts.contents.snapshot_disks import SnapshotDisksContract
    from atoll.testing.contracts.extensions.extension import ExtensionContract
    from atoll.testing.contracts.extensions.pools import KeepsPoolsContract
    from atoll.testing.contracts.extensions.reachable import ReachableContract
    from atoll.testing.contracts.extensions.snapshots import KeepsSnapshotsContract
    from atoll.testing.contracts.host import HostContract
    from atoll.testing.contracts.images import (
        ImageBuilderContract,
        ImageShelfContract,
        TreesContract,
    )
    from atoll.testing.contracts.kept import KeptShelfContract
    from atoll.testing.contracts.leadership import LeadershipContract
    from atoll.testing.contracts.metadata import MetadataFilesContract
    from atoll.testing.contracts.outside.drive import CloudDriveContract
    from atoll.testing.contracts.outside.forge import ForgeContract
    from atoll.testing.contracts.outside.identity import IdentityProviderContract
    from atoll.testing.contracts.outside.issuer import AgentIssuerContract
    from atoll.testing.contracts.outside.issues import IssueReaderContract
    from atoll.testing.contracts.outside.mount_grants import MountGrantsContract
    from atoll.testing.contracts.outside.ssh import SshMachinesContract
    from atoll.testing.contracts.outside.ssh_gateway import SshGatewayContract
    from atoll.testing.contracts.outside.worker_host import WorkerHostContract
    from atoll.testing.contracts.readers import ConversationContract, TranscriptContract
    from atoll.testing.contracts.repositories import (
        ImporterContract,
        LocalShelfContract,
        RepositoryShelfContract,
    )
    from atoll.testing.contracts.runtime import RuntimeClientsContract
    from atoll.testing.contracts.safety import SafetyLayersContract
    from atoll.testing.contracts.senders.push import PushSenderContract
    from atoll.testing.contracts.senders.webhooks import WebhookSenderContract
    from atoll.testing.contracts.signer import (
        AuditSignerContract,
        SshSignerContract,
        TokenSignerContract,
    )
    from atoll.testing.contracts.spawner import SpawnerContract
    from atoll.testing.contracts.storage.database import DatabaseContract
    from atoll.testing.contracts.storage.documents import DocumentsContract
    from atoll.testing.contracts.telemetry.metrics import MetricsContract
    from atoll.testing.contracts.telemetry.tracer import TracerContract
    from atoll.testing.contracts.vault import VaultContract
    from atoll.testing.contracts.workspaces import WorkSaverContract, WorkspacePreparerContract
    from atoll.testing.fakes.agents import FakeAgentConfigs, FakeAgentLayers, FakeAgentShelf
    from atoll.testing.fakes.clock import VirtualClock
    from atoll.testing.fakes.database import FakeDatabase
    from atoll.testing.fakes.drive import FakeDrive
    from atoll.testing.fakes.event_sink import FakeEventSink
    from atoll.testing.fakes.forge import FakeForge
    from atoll.testing.fakes.host import FakeHost
    from atoll.testing.fakes.identity import FakeIdentityProvider
    from atoll.testing.fakes.images import FakeImageBuilder, FakeImageShelf, FakeTrees
    from atoll.testing.fakes.kept import FakeKeptShelf
    from atoll.testing.fakes.leadership import FakeLeadership
    from atoll.testing.fakes.metadata import FakeMetadataFiles
    from atoll.testing.fakes.outside.issuer import FakeAgentIssuer
    from atoll.testing.fakes.outside.mount_grants import FakeMountGrants
    from atoll.testing.fakes.outside.ssh import FakeSshMachines
    from atoll.testing.fakes.outside.ssh_gateway import FakeSshGateway
    from atoll.testing.fakes.push import FakePushSender
    from atoll.testing.fakes.runtime import FakeRuntimes
    from atoll.testing.fakes.safety import FakeSafetyLayers
    from atoll.testing.fakes.signer import FakeAuditSigner, FakeSshSigner, FakeTokenSigner
    from atoll.testing.fakes.telemetry import FakeMetrics, FakeTracer
    from atoll.testing.fakes.webhooks import FakeWebhookSender
    from atoll.testing.fakes.workspaces import FakeWorkspaces

__all__ = [
    "AgentConfigsContract",
    "AgentIssuerContract",
    "AgentLayersContract",
    "AgentShelfContract",
    "AuditSignerContract",
    "BlobSealerContract",
    "BlobsContract",
    "BusContract",
    "ClockContract",
    "CloudDriveContract",
    "ConversationContract",
    "DatabaseContract",
    "DiskImagesContract",
    "DocumentsContract",
    "EventSinkContract",
    "ExtensionContract",
    "FakeAgentConfigs",
    "FakeAgentIssuer",
    "FakeAgentLayers",
    "FakeAgentShelf",
    "FakeAuditSigner",
    "FakeDatabase",
    "FakeDrive",
    "FakeEventSink",
    "FakeForge",
    "FakeHost",
    "FakeIdentityProvider",
    "FakeImageBuilder",
    "FakeImageShelf",
    "FakeKeptShelf",
    "FakeLeadership",
    "FakeMetadataFiles",
    "FakeMetrics",
    "FakeMountGrants",
    "FakePushSender",
    "FakeRuntimes",
    "FakeSafetyLayers",
    "FakeSshGateway",
    "FakeSshMachines",
    "FakeSshSigner",
    "FakeTokenSigner",
    "FakeTracer",
    "FakeTrees",
    "FakeWebhookSender",
    "FakeWorkspaces",
    "ForgeContract",
    "HostContract",
    "IdentityProviderContract",
    "ImageBuilderContract",
    "ImageShelfContract",
    "ImporterContract",
    "IssueReaderContract",
    "KeepsPoolsContract",
    "KeepsSnapshotsContract",
    "KeptShelfContract",
    "LeadershipContract",
    "LiveChannelsContract",
    "LocalShelfContract",
    "MetadataFilesContract",
    "MetricsContract",
    "MountGrantsContract",
    "PushSenderContract",
    "ReachableContract",
    "RepositoryShelfContract",
    "RuntimeClientsContract",
    "SafetyLayersContract",
    "SnapshotDisksContract",
    "SpawnerContract",
    "SshGatewayContract",
    "SshMachinesContract",
    "SshSignerContract",
    "TokenSignerContract",
    "TracerContract",
    "TranscriptContract",
    "TreesContract",
    "VaultContract",
    "VirtualClock",
    "WebhookSenderContract",
    "WorkSaverContract",
    "WorkerHostContract",
    "WorkspacePreparerContract",
]

if not TYPE_CHECKING:  # to a type checker any name would be here
    _MODULES = {
        "AgentConfigsContract": "contracts.agents",
        "AgentIssuerContract": "contracts.outside.issuer",
        "AgentLayersContract": "contracts.agents",
        "AgentShelfContract": "contracts.agents",
        "AuditSignerContract": "contracts.signer",
        "BlobSealerContract": "contracts.contents.sealing",
        "BlobsContract": "contracts.contents.blobs",
        "DiskImagesContract": "contracts.contents.images",
        "BusContract": "contracts.bus",
        "DocumentsContract": "contracts.storage.documents",
        "EventSinkContract": "contracts.bus",
        "LiveChannelsContract": "contracts.bus",
        "FakeEventSink": "fakes.event_sink",
        "ClockContract": "contracts.clock",
        "CloudDriveContract": "contracts.outside.drive",
        "ConversationContract": "contracts.readers",
        "DatabaseContract": "contracts.storage.database",
        "ExtensionContract": "contracts.extensions.extension",
        "FakeAgentConfigs": "fakes.agents",
        "FakeAgentIssuer": "fakes.outside.issuer",
        "FakeAgentLayers": "fakes.agents",
        "FakeAgentShelf": "fakes.agents",
        "FakeAuditSigner": "fakes.signer",
        "FakeDatabase": "fakes.database",
        "FakeDrive": "fakes.drive",
        "FakeHost": "fakes.host",
        "FakeForge": "fakes.forge",
        "FakeIdentityProvider": "fakes.identity",
        "FakeImageBuilder": "fakes.images",
        "FakeImageShelf": "fakes.images",
        "FakeKeptShelf": "fakes.kept",
        "FakeLeadership": "fakes.leadership",
        "FakeMetadataFiles": "fakes.metadata",
        "FakeMetrics": "fakes.telemetry",
        "FakeMountGrants": "fakes.outside.mount_grants",
        "FakePushSender": "fakes.push",
        "FakeRuntimes": "fakes.runtime",
        "FakeSafetyLayers": "fakes.safety",
        "FakeSshGateway": "fakes.outside.ssh_gateway",
        "FakeSshMachines": "fakes.outside.ssh",
        "FakeTracer": "fakes.telemetry",
        "FakeSshSigner": "fakes.signer",
        "FakeTokenSigner": "fakes.signer",
        "FakeTrees": "fakes.images",
        "FakeWebhookSender": "fakes.webhooks",
        "FakeWorkspaces": "fakes.workspaces",
        "HostContract": "contracts.host",
        "ForgeContract": "contracts.outside.forge",
        "IssueReaderContract": "contracts.outside.issues",
        "IdentityProviderContract": "contracts.outside.identity",
        "ImageBuilderContract": "contracts.images",
        "ImageShelfContract": "contracts.images",
        "ImporterContract": "contracts.repositories",
        "KeepsSnapshotsContract": "contracts.extensions.snapshots",
        "KeepsPoolsContract": "contracts.extensions.pools",
        "KeptShelfContract": "contracts.kept",
        "LeadershipContract": "contracts.leadership",
        "LocalShelfContract": "contracts.repositories",
        "MetadataFilesContract": "contracts.metadata",
        "MountGrantsContract": "contracts.outside.mount_grants",
        "PushSenderContract": "contracts.senders.push",
        "MetricsContract": "contracts.telemetry.metrics",
        "ReachableContract": "contracts.extensions.reachable",
        "RepositoryShelfContract": "contracts.repositories",
        "RuntimeClientsContract": "contracts.runtime",
        "SafetyLayersContract": "contracts.safety",
        "SnapshotDisksContract": "contracts.contents.snapshot_disks",
        "SpawnerContract": "contracts.spawner",
        "SshGatewayContract": "contracts.outside.ssh_gateway",
        "SshMachinesContract": "contracts.outside.ssh",
        "TracerContract": "contracts.telemetry.tracer",
        "SshSignerContract": "contracts.signer",
        "TokenSignerContract": "contracts.signer",
        "TranscriptContract": "contracts.readers",
        "TreesContract": "contracts.images",
        "VaultContract": "contracts.vault",
        "VirtualClock": "fakes.clock",
        "WebhookSenderContract": "contracts.senders.webhooks",
        "WorkSaverContract": "contracts.workspaces",
        "WorkerHostContract": "contracts.outside.worker_host",
        "WorkspacePreparerContract": "contracts.workspaces",
    }

    def __getattr__(name: str) -> object:
        """Load a name of `__all__` from its module."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        loaded = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = loaded
        return loaded
