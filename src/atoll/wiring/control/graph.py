"""Services of a control plane: each is built here, from the ports and services it uses.

`wiring.control.assembly` chooses the adapters behind the ports; tests choose others.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from atoll.domain.people.principal import Principal
from atoll.ports import (
    AgentConfigs,
    AgentLayers,
    Extension,
    Masters,
    MetadataFiles,
    RuntimeClients,
    SafetyLayers,
    Vault,
    WorkSaver,
    WorkspacePreparer,
)
from atoll.ports.kept import KeptShelf
from atoll.ports.logins import LoginBooks
from atoll.services.agents.agents import Agents
from atoll.services.application import Application, Readiness
from atoll.services.approvals.approvals import Approvals
from atoll.services.approvals.requests import ApprovalRequests
from atoll.services.ground import Ground
from atoll.services.journals.events import Events, Note
from atoll.services.journals.journal_poll import JournalPoll
from atoll.services.journals.journals import Journals
from atoll.services.journals.pruning import EventPruning
from atoll.services.library.kept import KeptWorktrees
from atoll.services.library.profiles import Profiles
from atoll.services.library.repositories import Repositories, Shelf
from atoll.services.library.saved_work import SavedWork
from atoll.services.library.settings import KeptSettings
from atoll.services.library.unpulled import Unpulled
from atoll.services.library.workspaces import Workspaces
from atoll.services.lifecycle.directory import Directory
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.lifecycle.transitions import Transitions
from atoll.services.people.logins import Logins, Recorder
from atoll.services.people.shares import Shares
from atoll.services.policies.policies import Policies
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.provisioning.provisioning import Layers, Provisioning
from atoll.services.provisioning.settings import ProvisioningSettings
from atoll.services.sandboxes.admission import Admission
from atoll.services.sandboxes.backend_watch import BackendWatch
from atoll.services.sandboxes.background import Background
from atoll.services.sandboxes.consumers import Consumers
from atoll.services.sandboxes.maintenance import Maintenance
from atoll.services.sandboxes.metadata import Metadata
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.services.secrets.secrets import Secrets
from atoll.services.settings import ServiceSettings
from atoll.services.task_runner import TaskRunner
from atoll.services.terminals.runtime_calls import RuntimeCalls
from atoll.services.terminals.terminals import Terminals


class OwnVault(Vault, Masters, Protocol):
    """A vault that looks after its master keys itself."""


@dataclass(frozen=True, slots=True)
class SandboxPorts:
    """The ports that sandboxes use beside the ground."""

    extensions: Mapping[str, Extension]
    clients: RuntimeClients
    workspaces: WorkspacePreparer
    agents: AgentLayers
    vault: OwnVault
    saver: WorkSaver
    safety: SafetyLayers | None = None
    configs: AgentConfigs | None = None
    metadata: MetadataFiles | None = None


@dataclass(frozen=True, slots=True)
class LibraryPorts:
    """The ports of repositories, kept worktrees and logins; `token` is the person's."""

    shelf: Shelf
    kept: KeptShelf
    logins: LoginBooks
    token: str = field(repr=False)


def build_sandboxes(
    ground: Ground, ports: SandboxPorts, profiles: Profiles, *, settings: ServiceSettings
) -> tuple[Sandboxes, Background]:
    """Return the use cases of sandboxes, and the tasks that `Background.run` runs for them."""
    runner, runtimes = TaskRunner(), SandboxRuntimes(ports.clients)
    extensions, directory = ports.extensions, Directory(ground.clock)
    metadata = Metadata(ground.store, ports.metadata)
    transitions = Transitions(ground, directory, changed=metadata.note)
    policies = Policies(ground, transitions, vault=ports.vault, settings=settings.policies)
    push = PolicyPush(directory, ground.clock, runtimes, policies=policies)
    requests = ApprovalRequests(ground)
    journals = Journals(ground, transitions, requests.handlers, settings=settings.journals)
    provisioning = build_provisioning(ports, runtimes, policies, settings=settings.provisioning)
    maintenance = Maintenance(provisioning, ground.clock, runner)
    reconciler = Reconciler(
        ground,
        transitions,
        provisioning,
        runtimes=runtimes,
        journals=journals,
        maintenance=maintenance,
        runner=runner,
    )
    watch = BackendWatch(
        ground, directory, extensions, runtimes=runtimes, reconciler=reconciler, journals=journals
    )
    poll = JournalPoll(directory, ground.clock, runtimes, policies=policies, journals=journals)
    pruning = EventPruning(ground.store, ground.clock, settings.events.retention)
    admission = build_admission(ground, transitions, profiles, ports, settings=settings.admission)
    sandboxes = Sandboxes(
        ground,
        directory,
        admission=admission,
        reconciler=reconciler,
        runtimes=runtimes,
        maintenance=maintenance,
        backend_watch=watch,
        journals=journals,
        policy_push=push,
    )
    return sandboxes, Background(runner, metadata, reconciler, watch, push, poll, pruning)


def build_provisioning(
    ports: SandboxPorts,
    runtimes: SandboxRuntimes,
    policies: Policies,
    *,
    settings: ProvisioningSettings,
) -> Provisioning:
    """Return what brings sandboxes up."""
    return Provisioning(
        ports.extensions,
        runtimes,
        workspaces=ports.workspaces,
        saver=ports.saver,
        layers=Layers(ports.agents, ports.safety, ports.configs),
        policies=policies,
        settings=settings,
    )


def build_admission(
    ground: Ground,
    transitions: Transitions,
    profiles: Profiles,
    ports: SandboxPorts,
    *,
    settings: AdmissionSettings,
) -> Admission:
    """Return what admits new sandboxes."""
    return Admission(
        ground,
        transitions,
        profiles,
        extensions=ports.extensions,
        agents=ports.agents,
        workspaces=ports.workspaces,
        settings=settings,
    )


def build_saver(
    ground: Ground, workspaces: Workspaces, shelf: KeptShelf, *, settings: KeptSettings
) -> SavedWork:
    """Return what saves the work of a workspace that is about to go."""
    clock, ids = ground.clock, ground.ids
    return SavedWork(workspaces, shelf, clock=clock, identifiers=ids, settings=settings)


def build_application(
    ground: Ground,
    ports: SandboxPorts,
    library: LibraryPorts,
    *,
    profiles: Profiles,
    workspaces: Workspaces,
    settings: ServiceSettings,
) -> Application:
    """Return all use cases. The caller runs their background and loads their logins."""
    store, clock, ids = ground.store, ground.clock, ground.ids
    sandboxes, background = build_sandboxes(ground, ports, profiles, settings=settings)
    events = Events(store, ground.bus, clock=clock, identifiers=ids)
    logins = Logins(library.logins, clock, token=library.token, record=_login_recorder(events))
    terminals, calls = Terminals(sandboxes), RuntimeCalls(sandboxes)
    loopback = settings.repositories.allow_loopback_remotes
    return Application(
        sandboxes=sandboxes,
        background=background,
        terminals=terminals,
        agents=Agents(sandboxes, terminals),
        consumers=Consumers(store, sandboxes),
        shares=Shares(ground, sandboxes, wrong=logins.wrong),
        runtime_calls=calls,
        unpulled=Unpulled(sandboxes),
        kept=KeptWorktrees(
            sandboxes,
            workspaces,
            calls,
            library.kept,
            clock=clock,
            identifiers=ids,
            settings=settings.kept,
        ),
        profiles=profiles,
        events=events,
        logins=logins,
        extensions=ports.extensions,
        readiness=_readiness(ground, background),
        secrets=Secrets(ground, sandboxes, vault=ports.vault, masters=ports.vault),
        approvals=Approvals(ground, sandboxes),
        repositories=Repositories(
            library.shelf, workspaces, sandboxes=sandboxes, events=events, allow_loopback=loopback
        ),
    )


def _login_recorder(events: Events) -> Recorder:
    async def record(caller: Principal, how: str) -> None:
        await events.record(caller, Note("auth", "auth.login", {"how": how}))

    return record


def _readiness(ground: Ground, background: Background) -> Readiness:
    async def reason() -> str | None:
        async with ground.store.read() as rows:
            await rows.events.last_position()
        try:
            async with asyncio.timeout(0):
                await background.adopted()
        except TimeoutError:
            return "sandboxes of an earlier run are being taken up again"
        return None

    return reason
