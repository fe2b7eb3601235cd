"""Services of a control plane: each is built here, from the ports and services it uses.

`wiring.control.assembly` chooses the adapters behind the ports; tests choose others.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from atoll.ports import (
    AgentConfigs,
    AgentLayers,
    Extension,
    Masters,
    MetadataFiles,
    RuntimeClients,
    SafetyLayers,
    Vault,
)
from atoll.ports.agents import AgentShelf
from atoll.ports.extension import Unloaded
from atoll.ports.outside.forge import Forge
from atoll.services.agents.agents import Agents
from atoll.services.agents.catalogue import AgentCatalogue
from atoll.services.agents.statuses import AgentStatuses
from atoll.services.application import (
    Application,
    HomeServices,
    PushServices,
    ReviewServices,
    Tenancy,
)
from atoll.services.approvals.approvals import Approvals
from atoll.services.approvals.requests import ApprovalRequests
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.forges.pull_requests import PullRequests
from atoll.services.ground import Ground
from atoll.services.inbox.inbox import Inbox
from atoll.services.journals.audit import AuditLog
from atoll.services.journals.events import Events
from atoll.services.journals.journal_poll import JournalPoll
from atoll.services.journals.journals import Journals
from atoll.services.journals.pruning import EventPruning
from atoll.services.journals.push_notes import PushNotes
from atoll.services.library.changes import WorkingTrees
from atoll.services.library.checkpoints import Checkpoints
from atoll.services.library.commits import Commits
from atoll.services.library.syncs import Syncs
from atoll.services.library.tree_edits import TreeEdits
from atoll.services.lifecycle.directory import Directory
from atoll.services.lifecycle.host_room import HostRoom
from atoll.services.lifecycle.projections import Projections
from atoll.services.lifecycle.room import SandboxRoom, SessionRoom
from atoll.services.lifecycle.runtime_tokens import RuntimeTokens
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.lifecycle.transitions import Transitions
from atoll.services.lifecycle.usage_sampling import UsageSampling
from atoll.services.people.push import PushSubscriptions
from atoll.services.people.push_delivery import PushDelivery
from atoll.services.people.shares import Shares
from atoll.services.policies.policies import Inside, Policies
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.previews.previews import Previews, PreviewServices, PreviewWatch
from atoll.services.previews.visits import Visits
from atoll.services.provisioning.provisioning import Layers, Provisioning
from atoll.services.provisioning.relocation import Relocations
from atoll.services.provisioning.settings import ProvisioningSettings
from atoll.services.routes.rerouting import Rerouting
from atoll.services.sandboxes.admission import Admission
from atoll.services.sandboxes.backend_watch import BackendWatch
from atoll.services.sandboxes.background import Background, Runners
from atoll.services.sandboxes.consumers import Consumers
from atoll.services.sandboxes.deadlines import Deadlines
from atoll.services.sandboxes.final_collection import FinalCollection
from atoll.services.sandboxes.maintenance import Maintenance
from atoll.services.sandboxes.metadata import Metadata
from atoll.services.sandboxes.owed_work import OwedWork
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.sandboxes.remote_maintenance import RemoteMaintenance
from atoll.services.sandboxes.replica_watch import ReplicaWatch
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.services.sandboxes.task_queue import TaskQueue
from atoll.services.sandboxes.waiting_tasks import WaitingTasks
from atoll.services.sandboxes.work_queues import WorkQueues
from atoll.services.secrets.secrets import Secrets
from atoll.services.settings import ServiceSettings
from atoll.services.task_runner import TaskRunner
from atoll.services.terminals.runtime_calls import RuntimeCalls
from atoll.services.terminals.terminals import Terminals
from atoll.wiring.control.access import Access, build_access
from atoll.wiring.control.exchange import build_dashboards, build_panes, build_replication
from atoll.wiring.control.identity import people_of
from atoll.wiring.control.library import (
    Library,
    LibraryPorts,
    Preparation,
    build_home,
    build_projects,
    build_repositories,
)
from atoll.wiring.control.outside.drive import build_drive
from atoll.wiring.control.outside.hosts import build_backends, build_routing
from atoll.wiring.control.outside.workers import build_workers
from atoll.wiring.control.overview.services import build_overview
from atoll.wiring.control.replicas import readiness
from atoll.wiring.control.tenancy import build_tenancy
from atoll.wiring.control.webhooks import build_webhooks


class OwnVault(Vault, Masters, Protocol):
    """A vault that looks after its master keys itself."""


@dataclass(frozen=True, slots=True)
class SandboxPorts:
    """The ports that sandboxes use beside the ground. `api_url` is where runtimes reach this
    control plane; `with_access` makes `inside` of it."""

    extensions: Mapping[str, Extension]
    clients: RuntimeClients
    agents: AgentLayers
    vault: OwnVault
    safety: SafetyLayers | None = None
    configs: AgentConfigs | None = None
    metadata: MetadataFiles | None = None
    shelf: AgentShelf | None = None
    keyed: Callable[[], Awaitable[frozenset[str]]] | None = None
    api_url: str | None = None
    inside: Inside | None = None
    unloaded: tuple[Unloaded, ...] = ()


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Services by which a sandbox changes its state, and those that learn of it."""

    runners: Runners
    runtimes: SandboxRuntimes
    directory: Directory
    metadata: Metadata
    room: SandboxRoom
    hosts: HostRoom
    transitions: Transitions
    policies: Policies
    projections: Projections
    journals: Journals


def build_lifecycle(
    ground: Ground, ports: SandboxPorts, pushes: PushNotes, *, settings: ServiceSettings
) -> Lifecycle:
    """Return what changes the states of sandboxes."""
    directory, metadata = Directory(ground.clock), Metadata(ground.store, ports.metadata)
    room = SandboxRoom(settings.admission.default_limits)
    hosts = HostRoom(settings.admission.default_limits)
    projections = Projections(ground)
    transitions = Transitions(
        ground,
        directory,
        room=room,
        hosts=hosts,
        projections=projections,
        changed=metadata.note,
    )
    requests = ApprovalRequests(ground)
    return Lifecycle(
        runners=Runners(TaskRunner(), TaskRunner()),
        runtimes=SandboxRuntimes(ports.clients, RuntimeTokens(ports.vault)),
        directory=directory,
        metadata=metadata,
        room=room,
        hosts=hosts,
        transitions=transitions,
        policies=Policies(
            ground,
            transitions,
            vault=ports.vault,
            settings=settings.policies,
            inside=ports.inside,
        ),
        projections=projections,
        journals=Journals(
            ground,
            transitions,
            {**requests.handlers, **pushes.handlers},
            further=requests.further,
            projections=projections,
            settings=settings.journals,
        ),
    )


def build_sandboxes(
    ground: Ground, ports: SandboxPorts, preparation: Preparation, *, settings: ServiceSettings
) -> tuple[Sandboxes, Background]:
    """Return the use cases of sandboxes, and the tasks that `Background.run` runs for them."""
    cycle = build_lifecycle(ground, ports, preparation.pushes, settings=settings)
    directory, runtimes, journals = cycle.directory, cycle.runtimes, cycle.journals
    provisioning = build_provisioning(ground, ports, cycle, preparation, settings.provisioning)
    own, lead = cycle.runners.own, cycle.runners.lead
    maintenance = Maintenance(provisioning, ground.clock, lead)
    reconciler = build_reconciler(ground, cycle, provisioning, maintenance)
    remote = RemoteMaintenance(ground, maintenance, runtimes, runner=own, leading=lead)
    watch = build_watch(ground, ports, cycle, reconciler)
    queue = TaskQueue(ground, reconciler)
    waiting = WaitingTasks(directory, ground.clock, runtimes, reconciler=reconciler, runner=lead)
    push = PolicyPush(directory, ground.clock, runtimes, policies=cycle.policies)
    sandboxes = Sandboxes(
        ground,
        directory,
        admission=build_admission(ground, ports, cycle, preparation, settings=settings.admission),
        reconciler=reconciler,
        runtimes=runtimes,
        maintenance=remote,
        backend_watch=watch,
        journals=journals,
        policy_push=push,
        task_queue=queue,
        waiting_tasks=waiting,
    )
    return sandboxes, Background(
        ground.leadership,
        cycle.runners,
        cycle.metadata,
        reconciler,
        watch,
        build_replica_watch(ground, cycle, reconciler, push=push, queue=queue),
        push,
        build_journal_poll(ground, cycle),
        cycle.projections,
        UsageSampling(ground),
        EventPruning(ground, settings.events.retention),
        queue,
        waiting,
        remote,
    )


def build_journal_poll(ground: Ground, cycle: Lifecycle) -> JournalPoll:
    """Return what polls the journals of busy sandboxes."""
    return JournalPoll(
        cycle.directory,
        ground.clock,
        cycle.runtimes,
        policies=cycle.policies,
        journals=cycle.journals,
    )


def build_replica_watch(
    ground: Ground,
    cycle: Lifecycle,
    reconciler: Reconciler,
    *,
    push: PolicyPush,
    queue: TaskQueue,
) -> ReplicaWatch:
    """Return what watches other control planes on the database."""
    return ReplicaWatch(
        ground,
        cycle.directory,
        reconciler=reconciler,
        policy_push=push,
        task_queue=queue,
        metadata=cycle.metadata,
    )


def build_watch(
    ground: Ground, ports: SandboxPorts, cycle: Lifecycle, reconciler: Reconciler
) -> BackendWatch:
    """Return what watches the backends."""
    return BackendWatch(
        ground,
        cycle.directory,
        ports.extensions,
        runtimes=cycle.runtimes,
        reconciler=reconciler,
        journals=cycle.journals,
    )


def build_reconciler(
    ground: Ground, cycle: Lifecycle, provisioning: Provisioning, maintenance: Maintenance
) -> Reconciler:
    """Return what performs the work that the lifecycle decided."""
    queues = WorkQueues(cycle.runners.lead)
    runtimes, journals = cycle.runtimes, cycle.journals
    final = FinalCollection(ground, provisioning, runtimes=runtimes, journals=journals)
    return Reconciler(
        ground,
        cycle.transitions,
        provisioning,
        final_collection=final,
        maintenance=maintenance,
        relocations=Relocations(provisioning),
        work_queues=queues,
        owed_work=OwedWork(ground, queues),
        rerouting=Rerouting(ground),
        deadlines=Deadlines(ground.clock),
        runner=cycle.runners.own,
    )


def build_provisioning(
    ground: Ground,
    ports: SandboxPorts,
    cycle: Lifecycle,
    preparation: Preparation,
    settings: ProvisioningSettings,
) -> Provisioning:
    """Return what brings sandboxes up."""
    return Provisioning(
        ports.extensions,
        cycle.runtimes,
        workspaces=preparation.workspaces,
        saver=preparation.saver,
        layers=Layers(ports.agents, ports.safety, ports.configs),
        policies=cycle.policies,
        settings=settings,
        telemetry=ground.telemetry,
    )


def build_admission(
    ground: Ground,
    ports: SandboxPorts,
    cycle: Lifecycle,
    preparation: Preparation,
    *,
    settings: AdmissionSettings,
) -> Admission:
    """Return what admits new sandboxes."""
    return Admission(
        ground,
        cycle.transitions,
        preparation.profiles,
        room=cycle.room,
        routing=build_routing(ground, ports.extensions, cycle.hosts, settings=settings),
        extensions=ports.extensions,
        agents=ports.agents,
        workspaces=preparation.workspaces,
        settings=settings,
    )


def build_application(
    ground: Ground, ports: SandboxPorts, library: Library, *, settings: ServiceSettings
) -> Application:
    """Return all use cases. The caller runs their background and loads their logins."""
    ports, access = with_access(ground, ports, library.ports, settings=settings)
    sandboxes, background = build_sandboxes(ground, ports, library.preparation, settings=settings)
    calls, own, events = RuntimeCalls(sandboxes), library.ports, access.events
    terminals, agents, statuses = build_sessions(ground, sandboxes, access)
    secrets, approvals, tenancy = build_tenants(ground, sandboxes, ports, access, settings)
    home = build_home(ground, sandboxes, library, events=events, settings=settings)
    return Application(
        sandboxes=sandboxes,
        background=background,
        terminals=terminals,
        agents=agents,
        statuses=statuses,
        inbox=build_inbox(ground, approvals, statuses, agents, home=home, sandboxes=sandboxes),
        catalogue=build_catalogue(ground, ports, events, background),
        consumers=Consumers(ground.store, sandboxes),
        shares=Shares(ground, sandboxes, wrong=access.logins.wrong, inviter=access.logins.person),
        push=PushServices(PushSubscriptions(ground, own.push), PushDelivery(ground, own.push)),
        runtime_calls=calls,
        home=home,
        syncs=Syncs(sandboxes, library.workspaces, agents=agents, statuses=statuses, events=events),
        review=build_review(ground, sandboxes, ports, own.forge, events=events),
        profiles=library.preparation.profiles,
        events=events,
        logins=access.logins,
        backends=build_backends(ground, sandboxes, ports, own, settings.admission),
        readiness=readiness(ground, background),
        secrets=secrets,
        approvals=approvals,
        repositories=build_repositories(sandboxes, library, events, settings=settings),
        projects=build_projects(ground, library, settings=settings),
        audit=AuditLog(ground, own.audit, retention=settings.audit.retention),
        tenancy=tenancy,
        replication=build_replication(ground, own.exchange),
        dashboards=build_dashboards(ground, access, own.exchange, background, terminals),
        webhooks=build_webhooks(ground, ports.vault, own.webhooks),
        drive=build_drive(ground, sandboxes, calls, own.drive, vault=ports.vault, events=events),
        previews=build_previews(ground, sandboxes, access, tenancy),
        workers=build_workers(ground, sandboxes, agents, background),
        overview=build_overview(ground, library, sandboxes, statuses=statuses, secrets=secrets),
    )


def with_access(
    ground: Ground, ports: SandboxPorts, own: LibraryPorts, *, settings: ServiceSettings
) -> tuple[SandboxPorts, Access]:
    """Return logins and tokens, and the ports of sandboxes with what they lend to runtimes."""
    access = build_access(
        ground,
        ports.vault,
        token=own.token,
        settings=settings.tokens,
        people=people_of(ground, settings.auth, own.identity),
        live=None if own.exchange is None else own.exchange.live,
    )
    return replace(ports, inside=access.inside(ports.api_url)), access


def build_sessions(
    ground: Ground, sandboxes: Sandboxes, access: Access
) -> tuple[Terminals, Agents, AgentStatuses]:
    """Return the use cases on terminals and agents, which share places, and what agents do."""
    room = SessionRoom(ground)
    panes = build_panes(ground, access)
    terminals = Terminals(sandboxes, room, panes=panes.host_of)
    statuses = AgentStatuses(ground.store, ground.bus)
    return terminals, Agents(sandboxes, terminals, room), statuses


def build_inbox(
    ground: Ground,
    approvals: Approvals,
    statuses: AgentStatuses,
    agents: Agents,
    *,
    home: HomeServices,
    sandboxes: Sandboxes,
) -> Inbox:
    """Return the list of what waits for a person."""
    return Inbox(
        approvals,
        statuses,
        agents,
        pushes=home.pushes,
        pulls=home.pulls,
        endings=home.endings,
        mentions=DashboardMentions(ground),
        sandboxes=sandboxes,
    )


def build_catalogue(
    ground: Ground, ports: SandboxPorts, events: Events, background: Background
) -> AgentCatalogue:
    """Return the use cases on agents that can be installed."""
    runner = background.runners.own
    return AgentCatalogue(
        ground, ports.agents, ports.shelf, events=events, runner=runner, keyed=ports.keyed
    )


def build_tenants(
    ground: Ground,
    sandboxes: Sandboxes,
    ports: SandboxPorts,
    access: Access,
    settings: ServiceSettings,
) -> tuple[Secrets, Approvals, Tenancy]:
    """Return the use cases on secrets, on approvals, and on organizations, which remove both."""
    secrets = build_secrets(ground, sandboxes, ports)
    tenancy = build_tenancy(ground, sandboxes, secrets, access=access, settings=settings)
    return secrets, Approvals(ground, sandboxes), tenancy


def build_review(
    ground: Ground, sandboxes: Sandboxes, ports: SandboxPorts, forge: Forge, *, events: Events
) -> ReviewServices:
    """Return the services of a review."""
    changes = WorkingTrees(sandboxes)
    return ReviewServices(
        changes,
        Checkpoints(sandboxes),
        Commits(sandboxes),
        TreeEdits(sandboxes, changes),
        PullRequests(ground, sandboxes, forge=forge, vault=ports.vault, events=events),
    )


def build_previews(
    ground: Ground, sandboxes: Sandboxes, access: Access, tenancy: Tenancy
) -> PreviewServices:
    """Return the use cases of previews, and what the leader does for them."""
    previews = Previews(ground, sandboxes)
    visits = Visits(ground, sandboxes, logins=access.logins, tokens=tenancy.credentials.tokens)
    return PreviewServices(previews, visits, PreviewWatch(ground, previews))


def build_secrets(ground: Ground, sandboxes: Sandboxes, ports: SandboxPorts) -> Secrets:
    """Return the use cases on secrets."""
    return Secrets(ground, sandboxes, vault=ports.vault, masters=ports.vault)
