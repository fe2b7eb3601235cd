"""Services of sandboxes: what provisions them, changes their states and watches them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from atoll.adapters.addresses import look_up
from atoll.domain.errors import AtollError
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import (
    Extension,
)
from atoll.services.approvals.requests import ApprovalRequests
from atoll.services.contents.disk_returns import DiskReturns
from atoll.services.ground import Ground
from atoll.services.journals.journal_poll import JournalPoll
from atoll.services.journals.journals import Journals
from atoll.services.journals.pruning import EventPruning
from atoll.services.lifecycle.deadlines import Deadlines
from atoll.services.lifecycle.directory import Directory, SandboxLookup
from atoll.services.lifecycle.host_room import HostRoom
from atoll.services.lifecycle.projections import Projections
from atoll.services.lifecycle.room import SandboxRoom
from atoll.services.lifecycle.runtimes import RuntimeTokens, SandboxRuntimes
from atoll.services.lifecycle.screens import Screens
from atoll.services.lifecycle.transitions import Transitions
from atoll.services.lifecycle.usage_sampling import UsageSampling
from atoll.services.lifecycle.waits import SandboxWaits
from atoll.services.logins.lent import ExposureRules, LentLogins
from atoll.services.logins.upkeep import LoginServices
from atoll.services.policies.leases import Leases
from atoll.services.policies.network_boundary import NetworkBoundary, Registries
from atoll.services.policies.policies import Policies
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.provisioning.bring_up import BringUpSteps
from atoll.services.provisioning.inside_agents import Layers
from atoll.services.provisioning.provisioning import Provisioning
from atoll.services.provisioning.relocation import Relocations
from atoll.services.provisioning.seeds import lay_login
from atoll.services.provisioning.settings import ProvisioningSettings
from atoll.services.provisioning.startups import Startups
from atoll.services.provisioning.steps.prebuild import Prebuilding
from atoll.services.provisioning.steps.screens import ScreenRead
from atoll.services.provisioning.teardowns import Teardowns
from atoll.services.routes.rerouting import Rerouting
from atoll.services.sandboxes.admission import Admission
from atoll.services.sandboxes.agent_checks import AgentChecks
from atoll.services.sandboxes.backend_watch import BackendWatch
from atoll.services.sandboxes.background import Background, Runners
from atoll.services.sandboxes.final_collection import FinalCollection
from atoll.services.sandboxes.maintenance import Maintenance
from atoll.services.sandboxes.metadata import Metadata
from atoll.services.sandboxes.mount_grant_sweep import MountGrantSweep
from atoll.services.sandboxes.owed_work import OwedWork
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.sandboxes.remote_maintenance import RemoteMaintenance
from atoll.services.sandboxes.replica_watch import ReplicaWatch
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.services.sandboxes.sleep.sleepers import Sleepers
from atoll.services.sandboxes.task_queue import TaskQueue
from atoll.services.sandboxes.waiting_tasks import WaitingTasks
from atoll.services.sandboxes.work_queues import WorkQueues
from atoll.services.settings import ServiceSettings
from atoll.services.task_runner import TaskRunner
from atoll.services.webhooks.lifecycle_webhooks import LifecycleWebhooks
from atoll.services.work.changes import WorkChanges
from atoll.services.workers.desktops import Desktops
from atoll.wiring.control.library import (
    Preparation,
)
from atoll.wiring.control.lifecycle.bring_up import bring_up_steps
from atoll.wiring.control.lifecycle.keeping import Keeping, build_keeping
from atoll.wiring.control.lifecycle.ports import SandboxPorts
from atoll.wiring.control.lifecycle.transitions import build_transitions
from atoll.wiring.control.outside.contents import build_disk_returns
from atoll.wiring.control.outside.hosts import build_routing
from atoll.wiring.control.outside.issuers import build_logins


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
    policy_push: PolicyPush
    logins: LoginServices
    projections: Projections
    journals: Journals
    screens: Screens
    disk_returns: DiskReturns


@dataclass(frozen=True, slots=True)
class SandboxServices:
    """Services of sandboxes: their use cases, what other services use of them, and the tasks that
    `Background.run` runs for all."""

    sandboxes: Sandboxes
    background: Background
    admission: Admission
    access: RuntimeAccess
    policy_push: PolicyPush
    boundary: NetworkBoundary
    checks: AgentChecks
    journals: Journals
    directory: Directory
    keeping: Keeping
    disk_returns: DiskReturns


def build_lifecycle(
    ground: Ground, ports: SandboxPorts, preparation: Preparation, *, settings: ServiceSettings
) -> Lifecycle:
    """Return what changes the states of sandboxes."""
    doors = partial(has_doors, ports.extensions)
    exposures = ExposureRules(preparation.profiles.get, doors)
    directory, metadata = Directory(ground.clock), Metadata(ground.store, ports.metadata)
    room = SandboxRoom(settings.admission.default_limits)
    hosts = HostRoom(settings.admission.default_limits)
    projections = Projections(ground)
    transitions = build_transitions(
        ground, directory, room=room, hosts=hosts, projections=projections, metadata=metadata
    )
    runners = Runners(TaskRunner(), TaskRunner())
    runtimes = SandboxRuntimes(ports.clients, RuntimeTokens(ports.vault))
    policies = build_policies(ground, ports, transitions, settings=settings)
    push = PolicyPush(directory, ground.clock, runtimes, policies=policies, lay=lay_login)
    logins = build_logins(
        ground, ports, runners.own, settings.logins, push=push.push_changes, exposures=exposures
    )
    requests = ApprovalRequests(ground)
    return Lifecycle(
        runners=runners,
        runtimes=runtimes,
        directory=directory,
        metadata=metadata,
        room=room,
        hosts=hosts,
        transitions=transitions,
        policies=policies,
        policy_push=push,
        logins=logins,
        projections=projections,
        journals=Journals(
            ground,
            transitions,
            {**requests.handlers, **preparation.pushes.handlers, **logins.upkeep.handlers},
            further=requests.further,
            projections=projections,
            settings=settings.journals,
        ),
        screens=Screens(ground, ports.vault),
        disk_returns=build_disk_returns(ground, ports.vault, ports.contents, ports.extensions),
    )


def build_policies(
    ground: Ground, ports: SandboxPorts, transitions: Transitions, *, settings: ServiceSettings
) -> Policies:
    """Return what composes the policies of sandboxes."""
    return Policies(
        ground,
        transitions,
        vault=ports.vault,
        settings=settings.policies,
        inside=ports.inside,
        lent=LentLogins(ports.vault, partial(has_doors, ports.extensions)).find,
    )


def has_doors(extensions: Mapping[str, Extension], sandbox: Sandbox) -> bool:
    """Report whether the backend of a sandbox gives it doors. One that does not answer has some:
    nothing of a login goes inside then."""
    extension = extensions.get(sandbox.profile.extension)
    try:
        return extension is None or extension.capabilities().doors
    except AtollError:
        return True


def build_sandboxes(
    ground: Ground,
    ports: SandboxPorts,
    preparation: Preparation,
    hooks: LifecycleWebhooks,
    *,
    settings: ServiceSettings,
) -> SandboxServices:
    """Return the services of sandboxes."""
    cycle = build_lifecycle(ground, ports, preparation, settings=settings)
    directory, runtimes, clock = cycle.directory, cycle.runtimes, ground.clock
    provisioning = build_provisioning(ground, ports, cycle, preparation, settings.provisioning)
    own, lead = cycle.runners.own, cycle.runners.lead
    maintenance = Maintenance(provisioning, clock, lead)
    keeping = build_keeping(ground, ports.extensions, preparation.prebuilt_trees, settings)
    bring_up = build_bring_up(ground, ports, cycle, preparation, provisioning, keeping.prebuilding)
    reconciler = build_reconciler(ground, cycle, provisioning, bring_up, maintenance=maintenance)
    remote = RemoteMaintenance(ground, maintenance, runtimes, runner=own, leading=lead)
    watch, queue = build_watch(ground, ports, cycle, reconciler), TaskQueue(ground, reconciler)
    waiting = WaitingTasks(
        directory, clock, runtimes, reconciler=reconciler, runner=lead, keeper=keeping.prebuilds
    )
    lookup = SandboxLookup(ground, directory)
    waits = SandboxWaits(ground, lookup, reconciler.settled)
    access = build_access(cycle, lookup, waits, reconciler, maintenance=remote, watch=watch)
    checks = AgentChecks(ports.agents, ports.extensions, cycle.policies.compose)
    admission = build_admission(
        ground, ports, cycle, preparation, hooks, checks=checks, settings=settings.admission
    )
    sandboxes = Sandboxes(
        ground,
        lookup,
        admission=admission,
        reconciler=reconciler,
        access=access,
        waits=waits,
        journals=cycle.journals,
        policy_push=cycle.policy_push,
        boundary=cycle.policies.boundary,
        task_queue=queue,
        waiting_tasks=waiting,
        disks=cycle.disk_returns,
    )
    return SandboxServices(
        sandboxes,
        build_background(
            ground,
            ports,
            cycle,
            watch,
            queue,
            waiting,
            reconciler=reconciler,
            maintenance=remote,
            settings=settings,
        ),
        admission=admission,
        access=access,
        policy_push=cycle.policy_push,
        boundary=cycle.policies.boundary,
        checks=checks,
        journals=cycle.journals,
        directory=directory,
        keeping=keeping,
        disk_returns=cycle.disk_returns,
    )


def build_access(
    cycle: Lifecycle,
    lookup: SandboxLookup,
    waits: SandboxWaits,
    reconciler: Reconciler,
    *,
    maintenance: RemoteMaintenance,
    watch: BackendWatch,
) -> RuntimeAccess:
    """Return the access to the runtimes of sandboxes."""
    return RuntimeAccess(
        lookup,
        cycle.runtimes,
        waits,
        reconciler=reconciler,
        maintenance=maintenance,
        backend_watch=watch,
        journals=cycle.journals,
        sleepers=Sleepers(reconciler, waits),
    )


def build_bring_up(
    ground: Ground,
    ports: SandboxPorts,
    cycle: Lifecycle,
    preparation: Preparation,
    provisioning: Provisioning,
    prebuilding: Prebuilding | None,
) -> BringUpSteps:
    """Return what brings sandboxes up."""
    steps = bring_up_steps(
        provisioning,
        cycle.runtimes,
        policies=cycle.policies,
        workspaces=preparation.workspaces,
        layers=Layers(ports.agents, ports.safety, ports.configs),
        screens=ScreenRead(cycle.screens, ground.clock),
        prebuilding=prebuilding,
    )
    return BringUpSteps(provisioning.extension, ground.telemetry, steps)


def build_background(
    ground: Ground,
    ports: SandboxPorts,
    cycle: Lifecycle,
    watch: BackendWatch,
    queue: TaskQueue,
    waiting: WaitingTasks,
    *,
    reconciler: Reconciler,
    maintenance: RemoteMaintenance,
    settings: ServiceSettings,
) -> Background:
    """Return the tasks that run for all sandboxes."""
    return Background(
        ground.leadership,
        cycle.runners,
        cycle.metadata,
        reconciler,
        watch,
        build_replica_watch(ground, cycle, reconciler, queue=queue),
        cycle.policy_push,
        Leases(ground, cycle.policy_push),
        build_journal_poll(ground, cycle),
        cycle.projections,
        UsageSampling(ground),
        EventPruning(ground, settings.events.retention),
        queue,
        waiting,
        maintenance,
        cycle.logins,
        MountGrantSweep(ground, ports.grants),
        WorkChanges(ground, cycle.projections).run,
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
    queue: TaskQueue,
) -> ReplicaWatch:
    """Return what watches other control planes on the database."""
    return ReplicaWatch(
        ground,
        cycle.directory,
        reconciler=reconciler,
        policy_push=cycle.policy_push,
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
    ground: Ground,
    cycle: Lifecycle,
    provisioning: Provisioning,
    bring_up: BringUpSteps,
    *,
    maintenance: Maintenance,
) -> Reconciler:
    """Return what performs the work that the lifecycle decided."""
    queues, relocations = WorkQueues(cycle.runners.lead), Relocations(provisioning)
    runtimes, journals, rerouting = cycle.runtimes, cycle.journals, Rerouting(ground)
    final = FinalCollection(
        ground, provisioning, runtimes=runtimes, journals=journals, screens=cycle.screens
    )
    return Reconciler(
        ground,
        cycle.transitions,
        provisioning,
        startups=Startups(
            ground,
            provisioning,
            bring_up,
            rerouting=rerouting,
            ending=final.take,
            disks=cycle.disk_returns,
        ),
        teardowns=Teardowns(
            ground,
            provisioning,
            relocations,
            collect=final.run,
            destruction=queues.ending,
        ),
        maintenance=maintenance,
        relocations=relocations,
        work_queues=queues,
        owed_work=OwedWork(ground, queues),
        rerouting=rerouting,
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
    """Return what raises the walls of sandboxes and tears them down."""
    return Provisioning(
        ports.extensions,
        cycle.runtimes,
        workspaces=preparation.workspaces,
        saver=preparation.saver,
        policies=cycle.policies,
        registries=Registries(ground.store, cycle.policies.boundary, look_up),
        settings=settings,
    )


def build_admission(
    ground: Ground,
    ports: SandboxPorts,
    cycle: Lifecycle,
    preparation: Preparation,
    hooks: LifecycleWebhooks,
    *,
    checks: AgentChecks,
    settings: AdmissionSettings,
) -> Admission:
    """Return what admits new sandboxes."""
    return Admission(
        ground,
        cycle.transitions,
        preparation.profiles,
        room=cycle.room,
        boundary=cycle.policies.boundary,
        routing=build_routing(
            ground,
            ports.extensions,
            cycle.hosts,
            settings=settings,
            linked=Desktops(ground, ports.vault).linked,
        ),
        extensions=ports.extensions,
        agents=checks,
        workspaces=preparation.workspaces,
        disks=cycle.disk_returns,
        lifecycle_webhooks=hooks,
        settings=settings,
    )
