"""The Store port: the control plane's durable state, in transactions.

`Store.begin` is the one way to write; writes are serialised, so what a transaction reads it
may act on. Events are appended in the same transaction as the state they report.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.errors import Unavailable
from atoll.domain.ids import DesktopId, SandboxId
from atoll.domain.workers.desktop import Desktop
from atoll.ports.store.approvals import ApprovalRows
from atoll.ports.store.audit import AuditRows
from atoll.ports.store.contents import ContentBlobRows, ContentKeyRows, ContentRows
from atoll.ports.store.dashboards.comments import DashboardCommentRows
from atoll.ports.store.dashboards.dashboards import (
    DashboardHistoryRows,
    DashboardRows,
    DocumentAuthorRows,
    DocumentRows,
)
from atoll.ports.store.dashboards.mentions import DashboardMentionRows
from atoll.ports.store.events import EventRows
from atoll.ports.store.hooks import HookRows
from atoll.ports.store.hosts.hosts import HostRows
from atoll.ports.store.hosts.pools import PooledRows, PoolRows
from atoll.ports.store.hosts.routes import RouteRows
from atoll.ports.store.library.profiles import ProfileRows
from atoll.ports.store.library.projects import ProjectRows
from atoll.ports.store.library.pulls import PullRows
from atoll.ports.store.logins import AgentLoginRows
from atoll.ports.store.logs import LogRows
from atoll.ports.store.outbox import OutboxRows
from atoll.ports.store.overview.meters import MeterHostRows, MeterRows, MeterStateRows
from atoll.ports.store.overview.sandboxes import OverviewSandboxRows
from atoll.ports.store.overview.search import SearchRows
from atoll.ports.store.overview.usage import UsageRows
from atoll.ports.store.people.budgets import BudgetRows, LeaseRows, SpendingRows
from atoll.ports.store.people.identity import (
    CliLoginRows,
    LoginTicketRows,
    PersonRows,
    PersonSessionRows,
)
from atoll.ports.store.people.organizations import (
    InvitationRows,
    MemberRows,
    NetworkBoundRows,
    OrganizationRows,
)
from atoll.ports.store.people.push import PushRows
from atoll.ports.store.people.quotas import QuotaRows, SessionRows
from atoll.ports.store.people.shades import ShadeRows
from atoll.ports.store.people.shares import ShareRows
from atoll.ports.store.people.ssh_identities import SshIdentityRows
from atoll.ports.store.people.ssh_keys import SshKeyRows
from atoll.ports.store.people.tokens import SigningKeyRows, TokenRows
from atoll.ports.store.previews import PreviewRows, PreviewVisitRows
from atoll.ports.store.projections import ProjectionRows, TallyRows
from atoll.ports.store.records import OwnedRecords, Records
from atoll.ports.store.replicas import LoginRows, MaintenanceRows, ReplicaRows
from atoll.ports.store.sandboxes import IdempotencyRows, SandboxRows
from atoll.ports.store.screens import SealedScreens
from atoll.ports.store.secrets import SecretRows
from atoll.ports.store.snapshots import DiskOrderRows, SnapshotRows
from atoll.ports.store.tools.wakings import WakingRows
from atoll.ports.store.tools.watches import WatchRows
from atoll.ports.store.webhooks import WebhookDeliveryRows, WebhookRows
from atoll.ports.store.work.threads import ReviewThreadRows
from atoll.ports.store.workers.dialled import HostEntryRows, HostLeaseRows, HostOfferRows
from atoll.ports.store.workers.summaries import WorkerSummaryRows
from atoll.ports.store.workers.workers import (
    WorkerArtifactRows,
    WorkerEventRows,
    WorkerRequestRows,
    WorkerRows,
)


@dataclass(frozen=True, kw_only=True)
class SandboxTables:
    """Sandboxes, and what runs and waits in them."""

    sandboxes: SandboxRows
    """Sandboxes."""

    idempotency: IdempotencyRows
    """Idempotency keys."""

    logs: LogRows
    """Provisioning logs and journal marks."""

    approvals: ApprovalRows
    """Approval requests and decisions."""

    secrets: SecretRows
    """Secrets and their sealed values."""

    sessions: SessionRows
    """Sessions that quotas count."""

    previews: PreviewRows
    """Previews."""

    preview_visits: PreviewVisitRows
    """Tickets and visits of browsers to previews."""

    hosts: HostRows
    """Hosts, and the sandboxes on each."""

    pools: PoolRows
    """Pools of environments that are built before anybody asks for one."""

    pooled: PooledRows
    """The environments in them."""

    routes: RouteRows
    """Decisions of routes, their rules, and how backends fared."""

    maintenance: MaintenanceRows
    """Maintenance starts that replicas ask the leader for."""

    replicas: ReplicaRows
    """The leader, and owed work."""

    every_sandbox: OverviewSandboxRows
    """Sandboxes as administrators look over them."""

    search: SearchRows
    """Candidates of a search."""

    usage: UsageRows
    """Usage over time."""

    screens: Records[SealedScreens, SandboxId]
    """Screens of sandboxes that sleep."""

    snapshots: SnapshotRows
    """Snapshots."""

    disk_orders: DiskOrderRows
    """Orders of replicas to the one that has the disks of snapshots."""
    content_keys: ContentKeyRows
    """The key of each organization's contents, sealed."""

    contents: ContentRows
    """Contents, and those that are being made."""

    content_blobs: ContentBlobRows
    """The stored blobs of contents, and what refers to them."""

    review_threads: ReviewThreadRows
    """Review threads of sandboxes."""


@dataclass(frozen=True, kw_only=True)
class LogTables:
    """The log, what is derived of it, and what goes out of it."""

    events: EventRows
    """The log."""

    outbox: OutboxRows
    """Progress of publishing the log."""

    projections: ProjectionRows
    """Read models, which are derived from the log."""

    tallies: TallyRows
    """Counts for monitoring."""

    meters: MeterRows
    """Meters, which are derived from the log."""

    meter_states: MeterStateRows
    """The states of sandboxes that meters are derived from."""

    meter_hosts: MeterHostRows
    """The same of hosts that cost something."""

    spending: SpendingRows
    """The money that sandboxes spent at models, by day."""

    audit: AuditRows
    """The audit log."""

    webhooks: WebhookRows
    """Webhooks and their sealed secrets."""

    webhook_deliveries: WebhookDeliveryRows
    """Events that webhooks could not deliver."""

    hooks: HookRows
    """Hooks, and the reports they took."""

    watches: WatchRows
    """Watches of sessions of clients of tools."""

    wakings: WakingRows
    """Watches of sandboxes, whose agents are woken."""


@dataclass(frozen=True, kw_only=True)
class PeopleTables:
    """People, organizations, and how they come in."""

    organizations: OrganizationRows
    """Organizations."""

    members: MemberRows
    """Their members."""

    invitations: InvitationRows
    """Invitations to them."""

    network_bounds: NetworkBoundRows
    """Bounds that they set on the networks of their sandboxes."""

    quotas: QuotaRows
    """Quotas."""

    budgets: BudgetRows
    """Budgets."""

    budget_leases: LeaseRows
    """The parts of them that doors may spend."""

    ssh_keys: SshKeyRows
    """Their SSH keys."""

    ssh_identities: SshIdentityRows
    """The installation's own keys for SSH."""

    people: PersonRows
    """People who log in at a provider."""

    person_sessions: PersonSessionRows
    """Their sessions."""

    login_tickets: LoginTicketRows
    """Logins that their page has yet to finish."""

    cli_logins: CliLoginRows
    """Logins of command lines that wait."""

    logins: LoginRows
    """Tickets and sessions of the installation's person."""

    tokens: TokenRows
    """Personal access tokens."""

    signing_keys: SigningKeyRows
    """Keys that sign tokens."""

    shares: ShareRows
    """Share links and guests."""

    shades: ShadeRows
    """The background that each works on."""

    push: PushRows
    """Browsers that receive push notifications."""

    profiles: ProfileRows
    """People's profiles."""

    projects: ProjectRows
    """Decisions on project files."""

    pulls: PullRows
    """Pull orders."""


@dataclass(frozen=True, kw_only=True)
class WorkerTables:
    """Workers, and the logins and hosts they work by."""

    agent_logins: AgentLoginRows
    """Logins of agents, without their tokens."""

    workers: WorkerRows
    """Workers."""

    worker_requests: WorkerRequestRows
    """The requests of workers, and their receipts."""

    worker_events: WorkerEventRows
    """The streams of workers."""

    worker_summaries: WorkerSummaryRows
    """The read model of how much of each stream is derived."""

    worker_artifacts: WorkerArtifactRows
    """Their artifacts."""

    desktops: OwnedRecords[Desktop, DesktopId]
    """The desktops that people linked, by name; a person has one of each name."""

    host_leases: HostLeaseRows
    """Leases of dialled hosts."""

    host_offers: HostOfferRows
    """Offers to them, without a receipt yet."""

    host_entries: HostEntryRows
    """Entries that they delivered."""


@dataclass(frozen=True, kw_only=True)
class DashboardTables:
    """Dashboards and their documents."""

    dashboards: DashboardRows
    """Dashboards and their people."""

    documents: DocumentRows
    """Documents of dashboards."""

    document_authors: DocumentAuthorRows
    """The person of each client of a document."""

    dashboard_history: DashboardHistoryRows
    """The history of documents."""

    dashboard_comments: DashboardCommentRows
    """Comments on items of dashboards."""

    dashboard_mentions: DashboardMentionRows
    """Mentions of people on dashboards."""


@dataclass(frozen=True, kw_only=True)
class Transaction(SandboxTables, LogTables, PeopleTables, WorkerTables, DashboardTables):
    """A transaction: rows that are read and changed together, by noun."""


class StoreUnavailable(Unavailable):
    """A store that did not answer. What needed it may go on once it does; what a backend or a
    runtime lacks is told apart by this."""


class Store(Protocol):
    """Raises `StoreUnavailable` when the database cannot be reached or stays locked."""

    def begin(self) -> AbstractAsyncContextManager[Transaction]:
        """Return a writing transaction: commits on a clean exit, else rolls back. One at a time."""
        ...

    def read(self) -> AbstractAsyncContextManager[Transaction]:
        """Return a read-only transaction, which sees committed rows and never waits for a writer on
        SQLite."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
