"""The use cases of a control plane, as every surface receives them.

No surface is known here; `wiring.control.graph` builds the services.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from atoll.ports.extension import Extension, MissingExtension
from atoll.services.agents.agents import Agents
from atoll.services.agents.catalogue import AgentCatalogue
from atoll.services.agents.statuses import AgentStatuses
from atoll.services.approvals.approvals import Approvals
from atoll.services.approvals.request_watch import RequestWatch
from atoll.services.dashboards.comments import DashboardComments
from atoll.services.dashboards.dashboards import Dashboards
from atoll.services.dashboards.homes import DashboardHomes
from atoll.services.dashboards.rooms import Rooms
from atoll.services.dashboards.shares import DashboardShares
from atoll.services.dashboards.sweep import DashboardSweep
from atoll.services.drive.connections import DriveConnections
from atoll.services.drive.transfers import DriveTransfers
from atoll.services.forges.issues import Issues
from atoll.services.forges.pull_requests import PullRequests
from atoll.services.forges.pull_watch import PullWatch
from atoll.services.hooks import Hooks
from atoll.services.hosts.hosts import Hosts
from atoll.services.hosts.pool_upkeep import PoolServices
from atoll.services.hosts.strays import Strays
from atoll.services.inbox.end_reports import EndReports
from atoll.services.inbox.endings import Endings
from atoll.services.inbox.inbox import Inbox
from atoll.services.journals.audit import AuditLog
from atoll.services.journals.events import Events
from atoll.services.journals.replication import Replication
from atoll.services.library.changes import WorkingTrees
from atoll.services.library.checkpoints import Checkpoints
from atoll.services.library.commits import Commits
from atoll.services.library.kept import KeptWorktrees
from atoll.services.library.profiles import Profiles
from atoll.services.library.projects import Projects
from atoll.services.library.pull_orders import PullOrders
from atoll.services.library.pushes import HeldPushes
from atoll.services.library.repositories import Repositories
from atoll.services.library.syncs import Syncs
from atoll.services.library.tree_edits import TreeEdits
from atoll.services.library.unpulled import UnpulledWork
from atoll.services.lifecycle.vendor_keys import VendorKeys
from atoll.services.logins.agent_logins import AgentLogins
from atoll.services.overview.machine import MachineHealth
from atoll.services.overview.oversight import Oversight
from atoll.services.overview.search import Search
from atoll.services.overview.usage import Usage
from atoll.services.overview.worker_oversight import WorkerOversight
from atoll.services.people.bearers import Credentials
from atoll.services.people.budgets import Budgets
from atoll.services.people.cli_logins import CliLogins
from atoll.services.people.dashboard_owners import DashboardOwners
from atoll.services.people.identity.provider_logins import ProviderLogins
from atoll.services.people.identity.refreshes import Refreshes
from atoll.services.people.identity.sessions import PersonSessions
from atoll.services.people.invitations import Invitations
from atoll.services.people.logins import Logins
from atoll.services.people.memberships import Memberships
from atoll.services.people.organizations import Organizations
from atoll.services.people.own_logins import OwnLogins
from atoll.services.people.ownership import Ownership
from atoll.services.people.push.delivery import PushDelivery
from atoll.services.people.push.subscriptions import PushSubscriptions
from atoll.services.people.quotas import OrganizationBounds, Quotas
from atoll.services.people.shares import Shares
from atoll.services.people.tokens import TeamTokens
from atoll.services.policies.shades import Shades
from atoll.services.previews.previews import PreviewServices
from atoll.services.routes.routes import Routes
from atoll.services.sandboxes.admission import Admission
from atoll.services.sandboxes.background import Background
from atoll.services.sandboxes.consumers import Consumers
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.secrets import Secrets
from atoll.services.snapshots.forks import SnapshotServices
from atoll.services.ssh.gateway import SshServices
from atoll.services.terminals.runtime_calls import RuntimeCalls
from atoll.services.terminals.terminals import Terminals
from atoll.services.tools.children import Children
from atoll.services.tools.list_changes import ListChanges
from atoll.services.tools.mcp_sessions import McpSessions
from atoll.services.tools.resources import Resources
from atoll.services.tools.tool_calls import ToolCalls
from atoll.services.tools.tool_lists import ToolLists
from atoll.services.tools.waker import Waker
from atoll.services.tools.wakings import Wakings
from atoll.services.tools.watches import Watches
from atoll.services.webhooks.worker import WebhookServices
from atoll.services.work.merges import Merges
from atoll.services.work.reviews import Reviews
from atoll.services.work.states import WorkStates
from atoll.services.work.threads import ReviewThreads
from atoll.services.workers.desktops import Desktops
from atoll.services.workers.driving import WorkerDriver
from atoll.services.workers.handing_over import Handovers
from atoll.services.workers.heartbeats import Heartbeats
from atoll.services.workers.intake import HostIntake
from atoll.services.workers.reports import WorkerReports
from atoll.services.workers.retention import WorkerRetention
from atoll.services.workers.streams import WorkerStreams
from atoll.services.workers.summaries import WorkerSummaries
from atoll.services.workers.workers import Workers

Readiness = Callable[[], Awaitable[str | None]]
"""The reason why the server is not ready yet, or None when it is."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The use cases of logins at a provider."""

    logins: ProviderLogins
    sessions: PersonSessions
    refreshes: Refreshes


@dataclass(frozen=True, slots=True)
class Tenancy:
    """The use cases of organizations, their members and tokens. `identity` are logins at a
    provider, None in single-person mode."""

    memberships: Memberships
    organizations: Organizations
    invitations: Invitations
    quotas: Quotas
    budgets: Budgets
    network_bounds: OrganizationBounds
    ownership: Ownership
    credentials: Credentials
    team_tokens: TeamTokens
    identity: Identity | None
    cli_logins: CliLogins
    own_logins: OwnLogins
    shades: Shades


@dataclass(frozen=True, slots=True)
class HomeServices:
    """Services by which work leaves a sandbox for its person's repository."""

    unpulled: UnpulledWork
    pushes: HeldPushes
    pulls: PullOrders
    kept: KeptWorktrees
    endings: Endings
    end_reports: EndReports


@dataclass(frozen=True, slots=True)
class PushServices:
    """The use cases of Web Push: who receives messages, and their delivery."""

    subscriptions: PushSubscriptions
    delivery: PushDelivery


@dataclass(frozen=True, slots=True)
class WorkerServices:
    """The use cases of workers, and what the leader does for them."""

    workers: Workers
    streams: WorkerStreams
    retention: WorkerRetention
    reports: WorkerReports
    handovers: Handovers
    driver: WorkerDriver
    heartbeats: Heartbeats
    summaries: WorkerSummaries
    desktops: Desktops
    intake: HostIntake


@dataclass(frozen=True, slots=True)
class Overview:
    """The use cases that look across the nouns."""

    search: Search
    usage: Usage
    oversight: Oversight
    workers: WorkerOversight
    machine: MachineHealth


@dataclass(frozen=True, slots=True)
class DashboardServices:
    """The use cases of dashboards: the dashboards themselves, the open ones, their sandboxes, the
    comments, the share links, and the sweep that the leader runs."""

    boards: Dashboards
    rooms: Rooms
    homes: DashboardHomes
    comments: DashboardComments
    shares: DashboardShares
    owners: DashboardOwners
    sweep: DashboardSweep


@dataclass(frozen=True, slots=True)
class ReviewServices:
    """Services by which a person looks at what an agent changed, and what becomes of it."""

    changes: WorkingTrees
    checkpoints: Checkpoints
    commits: Commits
    edits: TreeEdits
    pull_requests: PullRequests
    issues: Issues
    pull_watch: PullWatch


@dataclass(frozen=True, slots=True)
class DriveServices:
    """The use cases of people's drives."""

    connections: DriveConnections
    transfers: DriveTransfers


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The use cases of tools that agents call, of the sandboxes they act upon, of the sessions of
    their clients, of what these read and watch, and of what sandboxes watch, whose agents the
    leader wakes. `lent` is set once a sandbox has access to tools here."""

    calls: ToolCalls
    children: Children
    sessions: McpSessions
    resources: Resources
    watches: Watches
    wakings: Wakings
    waker: Waker
    lists: ToolLists
    list_changes: ListChanges
    lent: asyncio.Event


@dataclass(frozen=True, slots=True)
class Backends:
    """The extensions, by name, and the use cases of the hosts that they place sandboxes on, and of
    the routes that choose among them; the keys of vendors, the machines that are left behind there,
    and the extensions that could not be made; the pools of what is built before anybody asks."""

    extensions: Mapping[str, Extension]
    hosts: Hosts
    routes: Routes
    keys: VendorKeys
    strays: Strays
    pools: PoolServices
    missing_extensions: tuple[MissingExtension, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkServices:
    """The use cases on the work in sandboxes."""

    states: WorkStates
    reviews: Reviews
    threads: ReviewThreads
    merges: Merges


@dataclass(frozen=True, slots=True)
class Application:
    """All use cases of one control plane; made once in `wiring`."""

    sandboxes: Sandboxes
    admission: Admission
    background: Background
    terminals: Terminals
    agents: Agents
    statuses: AgentStatuses
    catalogue: AgentCatalogue
    inbox: Inbox
    consumers: Consumers
    shares: Shares
    push: PushServices
    runtime_calls: RuntimeCalls
    home: HomeServices
    syncs: Syncs
    review: ReviewServices
    profiles: Profiles
    events: Events
    logins: Logins
    backends: Backends
    readiness: Readiness
    secrets: Secrets
    approvals: Approvals
    request_watch: RequestWatch
    repositories: Repositories
    projects: Projects
    audit: AuditLog
    tenancy: Tenancy
    replication: Replication
    dashboards: DashboardServices
    webhooks: WebhookServices
    overview: Overview
    previews: PreviewServices
    workers: WorkerServices
    drive: DriveServices
    tools: ToolServices
    hooks: Hooks
    ssh: SshServices
    snapshots: SnapshotServices
    work: WorkServices

    @property
    def agent_logins(self) -> AgentLogins:
        """Return the use cases on agents' logins, whose upkeep is a background task."""
        return self.background.logins.logins
