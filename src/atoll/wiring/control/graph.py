"""Services of a control plane: each is built here, from the ports and services it uses.

`wiring.control.assembly` chooses the adapters behind the ports; tests choose others.
"""

from dataclasses import replace
from functools import partial

from atoll.adapters.addresses import look_up
from atoll.ports.vault import Vault
from atoll.services.agents.agents import Agents
from atoll.services.agents.catalogue import AgentCatalogue
from atoll.services.agents.statuses import AgentStatuses
from atoll.services.application import (
    Application,
    Backends,
    DashboardServices,
    DriveServices,
    HomeServices,
    PushServices,
    ReviewServices,
    Tenancy,
    WorkServices,
)
from atoll.services.approvals.approvals import Approvals
from atoll.services.approvals.request_watch import RequestWatch
from atoll.services.contents.disk_orders import DiskOrders
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.forges.forge_tokens import ForgeTokens
from atoll.services.forges.issues import Issues
from atoll.services.forges.pull_requests import PullRequests
from atoll.services.forges.pull_watch import PullWatch
from atoll.services.ground import Ground
from atoll.services.hooks import Hooks
from atoll.services.hosts.pool_upkeep import PoolServices, PoolUpkeep
from atoll.services.hosts.pooled_backends import PooledBackends
from atoll.services.hosts.pools import Pools
from atoll.services.inbox.conflicts import Conflicts
from atoll.services.inbox.inbox import Inbox
from atoll.services.journals.audit import AuditLog
from atoll.services.journals.events import Events
from atoll.services.library.changes import WorkingTrees
from atoll.services.library.checkpoints import Checkpoints
from atoll.services.library.commits import Commits
from atoll.services.library.profiles import Profiles
from atoll.services.library.syncs import Syncs
from atoll.services.library.tree_edits import TreeEdits
from atoll.services.lifecycle.directory import SandboxLookup
from atoll.services.lifecycle.host_room import HostRoom
from atoll.services.lifecycle.room import SandboxRoom, SessionRoom
from atoll.services.lifecycle.vendor_keys import check_paid
from atoll.services.people.push.delivery import PushDelivery
from atoll.services.people.push.subscriptions import PushSubscriptions
from atoll.services.people.shares import Shares
from atoll.services.policies.network_boundary import Registries
from atoll.services.previews.own_credentials import OwnCredentials
from atoll.services.previews.previews import Previews, PreviewServices, PreviewWatch
from atoll.services.previews.visits import Visits
from atoll.services.sandboxes.background import Background
from atoll.services.sandboxes.consumers import Consumers
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.services.secrets import Secrets
from atoll.services.settings import ServiceSettings
from atoll.services.snapshots.exports import SnapshotExports
from atoll.services.snapshots.forks import Forks, SnapshotServices
from atoll.services.snapshots.schedule import SnapshotSchedule
from atoll.services.snapshots.snapshots import Snapshots, SnapshotUpkeep
from atoll.services.snapshots.turns import TurnSnapshots
from atoll.services.ssh.gateway import SshServices
from atoll.services.terminals.runtime_calls import RuntimeCalls
from atoll.services.terminals.terminals import Terminals
from atoll.services.work.merges import Merges
from atoll.services.work.reviews import Reviews
from atoll.services.work.states import WorkLog, WorkStates
from atoll.services.work.threads import ReviewThreads
from atoll.wiring.control.access import Access, build_access
from atoll.wiring.control.exchange import Exchange, build_dashboards, build_panes, build_replication
from atoll.wiring.control.identity import people_of
from atoll.wiring.control.library import Library, LibraryPorts, build_projects
from atoll.wiring.control.lifecycle.home import build_home, build_repositories
from atoll.wiring.control.lifecycle.ports import SandboxPorts
from atoll.wiring.control.lifecycle.sandboxes import SandboxServices, build_sandboxes
from atoll.wiring.control.lifecycle.workers import build_workers
from atoll.wiring.control.outside.drive import build_drive
from atoll.wiring.control.outside.hosts import build_backends, build_routing
from atoll.wiring.control.outside.ssh import build_ssh
from atoll.wiring.control.outside.webhooks import build_webhooks
from atoll.wiring.control.overview.services import build_overview
from atoll.wiring.control.replicas import readiness
from atoll.wiring.control.tenancy import build_tenancy
from atoll.wiring.control.tools import build_tools


def build_application(
    ground: Ground, ports: SandboxPorts, library: Library, *, settings: ServiceSettings
) -> Application:
    """Return all use cases. The caller runs their background and loads their logins."""
    ports, access = with_access(ground, ports, library.ports, settings=settings)
    hooks = build_webhooks(ground, ports.vault, library.ports.webhooks)
    within = build_sandboxes(ground, ports, library.preparation, hooks.lifecycle, settings=settings)
    sandboxes, background, reach = within.sandboxes, within.background, within.access
    own, events, works = library.ports, access.events, WorkStates(ground.store)
    calls, terminals, agents, statuses = build_sessions(ground, within, access)
    secrets, approvals, tenancy = build_tenants(ground, within, library, access, ports, settings)
    home = build_home(ground, within, library, calls=calls, events=events, settings=settings)
    syncs = Syncs(reach, library.workspaces, agents=agents, statuses=statuses, events=events)
    conflicts = Conflicts(sandboxes, works, syncs, terminals)
    review = build_review(ground, within, own, works=works, vault=ports.vault)
    backends = backends_of(ground, within, ports, library, settings.admission)
    return Application(
        sandboxes=sandboxes,
        admission=within.admission,
        background=background,
        terminals=terminals,
        agents=agents,
        statuses=statuses,
        secrets=secrets,
        approvals=approvals,
        request_watch=RequestWatch(ground),
        tenancy=tenancy,
        backends=backends,
        runtime_calls=calls,
        home=home,
        events=events,
        logins=access.logins,
        consumers=Consumers(ground.store, sandboxes),
        inbox=build_inbox(ground, approvals, statuses, agents, conflicts, home=home, within=within),
        catalogue=build_catalogue(ground, ports, events, background),
        shares=Shares(ground, sandboxes, wrong=access.logins.wrong, inviter=access.logins.person),
        push=PushServices(PushSubscriptions(ground, own.push), PushDelivery(ground, own.push)),
        syncs=syncs,
        review=review,
        profiles=library.preparation.profiles,
        readiness=readiness(ground, background),
        repositories=build_repositories(within, library, events, settings=settings),
        projects=build_projects(ground, library, settings=settings),
        audit=AuditLog(ground, own.audit, retention=settings.audit.retention),
        replication=build_replication(ground, own.exchange),
        dashboards=dashboards_of(ground, within, access, own.exchange, terminals),
        webhooks=hooks,
        snapshots=build_snapshots(ground, within, ports),
        hooks=Hooks(ground, ports.vault, access.owners, access.logins),
        ssh=ssh_of(ground, within, access, tenancy, terminals, ports, own),
        drive=drive_of(ground, within, calls, library, ports, events=events),
        previews=build_previews(ground, within, access, tenancy),
        workers=build_workers(
            ground, within, agents, ports, library, events=events, settings=settings.workers
        ),
        tools=build_tools(
            ground, events, within, tenancy, settings=settings.tools, lent=access.tools_lent
        ),
        work=build_work(ground, within, library, works, syncs=syncs, review=review, agents=agents),
        overview=build_overview(
            ground, library, sandboxes, statuses, home=home, secrets=secrets, routes=backends.routes
        ),
    )


def dashboards_of(
    ground: Ground,
    within: SandboxServices,
    access: Access,
    exchange: Exchange | None,
    terminals: Terminals,
) -> DashboardServices:
    """Return the use cases on dashboards."""
    return build_dashboards(
        ground,
        access,
        exchange,
        within.sandboxes,
        terminals,
        checks=within.checks,
        runner=within.background.runners.own,
    )


def drive_of(
    ground: Ground,
    within: SandboxServices,
    calls: RuntimeCalls,
    library: Library,
    ports: SandboxPorts,
    *,
    events: Events,
) -> DriveServices:
    """Return the use cases of drives."""
    return build_drive(
        ground,
        within.sandboxes,
        calls,
        library.ports.drive,
        runtimes=within.access,
        vault=ports.vault,
        events=events,
    )


def ssh_of(
    ground: Ground,
    within: SandboxServices,
    access: Access,
    tenancy: Tenancy,
    terminals: Terminals,
    ports: SandboxPorts,
    own: LibraryPorts,
) -> SshServices:
    """Return the use cases of SSH."""
    return build_ssh(
        ground,
        within.sandboxes,
        within.access,
        access,
        tenancy=tenancy,
        terminals=terminals,
        vault=ports.vault,
        gateway=own.gateway,
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
    ground: Ground, within: SandboxServices, access: Access
) -> tuple[RuntimeCalls, Terminals, Agents, AgentStatuses]:
    """Return the calls of runtimes, the use cases on terminals and agents, which share places, and
    what agents do."""
    room = SessionRoom(ground)
    panes = build_panes(ground, access)
    checks, journals = within.checks, within.journals
    terminals = Terminals(
        within.access,
        room,
        checks=checks,
        journals=journals,
        tracer=ground.telemetry.tracer,
        panes=panes.host_of,
    )
    agents = Agents(within.access, terminals, room, checks=checks, journals=journals)
    calls = RuntimeCalls(within.access, checks, ground.telemetry.tracer)
    return calls, terminals, agents, AgentStatuses(ground.store, ground.bus)


def build_inbox(
    ground: Ground,
    approvals: Approvals,
    statuses: AgentStatuses,
    agents: Agents,
    conflicts: Conflicts,
    *,
    home: HomeServices,
    within: SandboxServices,
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
        sandboxes=within.sandboxes,
        logins=within.background.logins.logins,
        conflicts=conflicts,
    )


def build_catalogue(
    ground: Ground, ports: SandboxPorts, events: Events, background: Background
) -> AgentCatalogue:
    """Return the use cases on agents that can be installed."""
    runner = background.runners.own
    return AgentCatalogue(
        ground,
        ports.agents,
        ports.shelf,
        events=events,
        runner=runner,
        providers_with_key=ports.providers_with_key,
    )


def build_tenants(
    ground: Ground,
    within: SandboxServices,
    library: Library,
    access: Access,
    ports: SandboxPorts,
    settings: ServiceSettings,
) -> tuple[Secrets, Approvals, Tenancy]:
    """Return the use cases on secrets, on approvals, and on organizations, which remove both."""
    secrets = build_secrets(ground, within, ports, library.preparation.profiles)
    tenancy = build_tenancy(ground, within, secrets, access=access, settings=settings)
    approvals = Approvals(
        ground, within.sandboxes, access=within.access, policy_push=within.policy_push
    )
    return secrets, approvals, tenancy


def build_review(
    ground: Ground,
    within: SandboxServices,
    own: LibraryPorts,
    *,
    works: WorkStates,
    vault: Vault,
) -> ReviewServices:
    """Return the services of a review."""
    access, tokens = within.access, ForgeTokens(ground.store, vault)
    log = WorkLog(ground, within.background.projections)
    changes = WorkingTrees(access)
    return ReviewServices(
        changes,
        Checkpoints(access),
        Commits(access),
        TreeEdits(access, changes),
        PullRequests(
            within.sandboxes, access, forge=own.forge, tokens=tokens, works=works, log=log
        ),
        Issues(ground.store, tokens=tokens, forge=own.forge, reader=own.issues),
        PullWatch(ground, tokens=tokens, reader=own.issues, log=log),
    )


def build_work(
    ground: Ground,
    within: SandboxServices,
    library: Library,
    states: WorkStates,
    *,
    syncs: Syncs,
    review: ReviewServices,
    agents: Agents,
) -> WorkServices:
    """Return the use cases on work."""
    log = WorkLog(ground, within.background.projections)
    merges = Merges(within.access, library.workspaces, syncs=syncs, edits=review.edits, log=log)
    lookup = SandboxLookup(ground, within.directory)
    threads = ReviewThreads(ground, lookup, changes=review.changes, agents=agents, log=log)
    return WorkServices(states, Reviews(within.sandboxes, states, log), threads, merges)


def build_previews(
    ground: Ground, within: SandboxServices, access: Access, tenancy: Tenancy
) -> PreviewServices:
    """Return the use cases of previews, and what the leader does for them."""
    previews = Previews(ground, within.sandboxes, within.access)
    visits = Visits(
        ground,
        within.sandboxes,
        access=within.access,
        logins=access.logins,
        tokens=tenancy.credentials.tokens,
    )
    own = OwnCredentials(ground, access.logins, access.keys, issuer=access.issuer.issuer.url)
    return PreviewServices(previews, visits, PreviewWatch(ground, previews), own)


def build_snapshots(
    ground: Ground, within: SandboxServices, ports: SandboxPorts
) -> SnapshotServices:
    """Return the use cases on snapshots and forks, and what the leader does for them."""
    keeper = within.keeping.keeper
    snapshots = Snapshots(ground, within.sandboxes, keeper)
    returns = within.disk_returns
    return SnapshotServices(
        keeper,
        snapshots,
        SnapshotExports(ground, returns, DiskOrders(ground)),
        Forks(ground, snapshots, within.sandboxes),
        SnapshotUpkeep(ground, keeper, within.keeping.prebuilds),
        SnapshotSchedule(ground, within.directory, keeper),
        TurnSnapshots(ground, within.directory, keeper),
        None if ports.contents is None else returns.places.contents,
    )


def backends_of(
    ground: Ground,
    within: SandboxServices,
    ports: SandboxPorts,
    library: Library,
    settings: AdmissionSettings,
) -> Backends:
    """Return the extensions, and the use cases of hosts, of routes and of pools."""
    profiles = library.preparation.profiles
    pools = build_pools(ground, within, ports, profiles, settings=settings)
    return build_backends(ground, within.sandboxes, ports, library, pools, settings=settings)


def build_pools(
    ground: Ground,
    within: SandboxServices,
    ports: SandboxPorts,
    profiles: Profiles,
    *,
    settings: AdmissionSettings,
) -> PoolServices:
    """Return the use cases on pools, and the leader's care for them."""
    room = HostRoom(settings.default_limits)
    backends = PooledBackends(
        ground,
        ports.extensions,
        profiles=profiles,
        routing=build_routing(ground, ports.extensions, room, settings=settings),
        registries=Registries(ground.store, within.boundary, look_up),
        room=SandboxRoom(settings.default_limits),
        hosts=room,
    )
    pools = Pools(ground, backends, most=settings.max_pooled)
    return PoolServices(pools, PoolUpkeep(ground, pools, backends, within.directory))


def build_secrets(
    ground: Ground, within: SandboxServices, ports: SandboxPorts, profiles: Profiles
) -> Secrets:
    """Return the use cases on secrets."""
    return Secrets(
        ground,
        within.sandboxes,
        policy_push=within.policy_push,
        boundary=within.boundary,
        profiles=profiles,
        vault=ports.vault,
        masters=ports.vault,
        check_vendor=partial(check_paid, ports.extensions, ports.installed),
    )
