"""Sandboxes and all that serves them, built over their ports."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.ports import (
    AgentConfigs,
    AgentLayers,
    Extension,
    MetadataFiles,
    RuntimeClients,
    SafetyLayers,
    Vault,
    WorkSaver,
    WorkspacePreparer,
)
from atoll.services.approvals.requests import ApprovalRequests
from atoll.services.ground import Ground
from atoll.services.journals.journal_poll import JournalPoll
from atoll.services.journals.journals import Journals
from atoll.services.journals.pruning import EventPruning
from atoll.services.library.profiles import Profiles
from atoll.services.lifecycle.directory import Directory
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.lifecycle.transitions import Transitions
from atoll.services.policies.policies import DoorRules, Policies
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.provisioning.provisioning import Layers, Provisioning
from atoll.services.sandboxes.admission import Admission, Settings
from atoll.services.sandboxes.backend_watch import BackendWatch
from atoll.services.sandboxes.background import Background
from atoll.services.sandboxes.maintenance import Maintenance
from atoll.services.sandboxes.metadata import Metadata
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.sandboxes.sandboxes import SandboxAccess, Sandboxes


@dataclass(frozen=True, slots=True)
class SandboxPorts:
    """The ports that sandboxes use beside the ground."""

    extensions: Mapping[str, Extension]
    clients: RuntimeClients
    workspaces: WorkspacePreparer
    agents: AgentLayers
    vault: Vault
    saver: WorkSaver
    rules: DoorRules = field(default_factory=DoorRules)
    safety: SafetyLayers | None = None
    configs: AgentConfigs | None = None
    metadata: MetadataFiles | None = None


def build_sandboxes(
    ground: Ground, ports: SandboxPorts, profiles: Profiles, *, settings: Settings
) -> tuple[Sandboxes, Background]:
    """Return the use cases of sandboxes, and the tasks that `Background.run` runs for them."""
    directory = Directory(ground.clock)
    metadata = Metadata(ground.store, ports.metadata)
    transitions = Transitions(ground, directory, changed=metadata.note)
    policies = Policies(ground, transitions, vault=ports.vault, rules=ports.rules)
    runtimes = SandboxRuntimes(ports.clients)
    provisioning = _provisioning(ports, runtimes, policies, settings=settings)
    push = PolicyPush(directory, ground.clock, runtimes, policies=policies)
    handlers = ApprovalRequests(ground).handlers
    journals = Journals(ground, transitions, handlers, away_seconds=settings.away_seconds)
    maintenance = Maintenance(provisioning, ground.clock)
    reconciler = Reconciler(
        ground,
        transitions,
        provisioning,
        runtimes=runtimes,
        journals=journals,
        maintenance=maintenance,
    )
    watch = BackendWatch(
        ground,
        directory,
        ports.extensions,
        runtimes=runtimes,
        reconciler=reconciler,
        journals=journals,
    )
    poll = JournalPoll(directory, ground.clock, runtimes, policies=policies, journals=journals)
    pruning = EventPruning(ground.store, ground.clock, settings.events)
    access = SandboxAccess(transitions, reconciler, runtimes, maintenance, watch, journals)
    sandboxes = Sandboxes(
        ground,
        directory,
        admission=_admission(ground, transitions, profiles, ports=ports, settings=settings),
        access=access,
        policy_push=push,
    )
    return sandboxes, Background(maintenance, metadata, reconciler, watch, push, poll, pruning)


def _admission(
    ground: Ground,
    transitions: Transitions,
    profiles: Profiles,
    *,
    ports: SandboxPorts,
    settings: Settings,
) -> Admission:
    return Admission(
        ground,
        transitions,
        profiles,
        extensions=ports.extensions,
        agents=ports.agents,
        workspaces=ports.workspaces,
        settings=settings,
    )


def _provisioning(
    ports: SandboxPorts, runtimes: SandboxRuntimes, policies: Policies, *, settings: Settings
) -> Provisioning:
    return Provisioning(
        ports.extensions,
        runtimes,
        workspaces=ports.workspaces,
        saver=ports.saver,
        layers=Layers(ports.agents, ports.safety, ports.configs),
        policies=policies,
        require_isolation=settings.require_isolation,
    )
