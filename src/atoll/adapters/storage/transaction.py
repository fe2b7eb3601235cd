"""The rows of a transaction on one connection, area by area."""

from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.approvals import SqlApprovalRows
from atoll.adapters.storage.audit import SqlAuditRows
from atoll.adapters.storage.contents import (
    SqlContentBlobRows,
    SqlContentKeyRows,
    SqlContentRows,
)
from atoll.adapters.storage.dashboards.comments import SqlDashboardCommentRows
from atoll.adapters.storage.dashboards.dashboards import SqlDashboardRows
from atoll.adapters.storage.dashboards.documents import (
    SqlDashboardHistoryRows,
    SqlDocumentAuthorRows,
    SqlDocumentRows,
)
from atoll.adapters.storage.dashboards.mentions import SqlDashboardMentionRows
from atoll.adapters.storage.events import SqlEventRows
from atoll.adapters.storage.hooks import SqlHookRows
from atoll.adapters.storage.hosts.hosts import SqlHostRows
from atoll.adapters.storage.hosts.pools import SqlPooledRows, SqlPoolRows
from atoll.adapters.storage.hosts.routes import SqlRouteRows
from atoll.adapters.storage.library.profiles import SqlProfileRows
from atoll.adapters.storage.library.projects import SqlProjectRows
from atoll.adapters.storage.library.pulls import SqlPullRows
from atoll.adapters.storage.logins import SqlAgentLoginRows
from atoll.adapters.storage.logs import SqlLogRows
from atoll.adapters.storage.outbox import SqlOutboxRows
from atoll.adapters.storage.overview.meters import (
    SqlMeterHostRows,
    SqlMeterRows,
    SqlMeterStateRows,
)
from atoll.adapters.storage.overview.sandboxes import SqlOverviewSandboxRows
from atoll.adapters.storage.overview.search import SqlSearchRows
from atoll.adapters.storage.overview.usage import SqlUsageRows
from atoll.adapters.storage.people.budgets import SqlBudgetRows, SqlLeaseRows, SqlSpendingRows
from atoll.adapters.storage.people.identity import (
    SqlCliLoginRows,
    SqlLoginTicketRows,
    SqlPersonRows,
    SqlPersonSessionRows,
)
from atoll.adapters.storage.people.organizations import (
    SqlInvitationRows,
    SqlMemberRows,
    SqlNetworkBoundRows,
    SqlOrganizationRows,
)
from atoll.adapters.storage.people.push import SqlPushRows
from atoll.adapters.storage.people.quotas import SqlQuotaRows, SqlSessionRows
from atoll.adapters.storage.people.shades import SqlShadeRows
from atoll.adapters.storage.people.shares import SqlShareRows
from atoll.adapters.storage.people.ssh_identities import SqlSshIdentityRows
from atoll.adapters.storage.people.ssh_keys import SqlSshKeyRows
from atoll.adapters.storage.people.tokens import SqlSigningKeyRows, SqlTokenRows
from atoll.adapters.storage.previews import SqlPreviewRows, SqlPreviewVisitRows
from atoll.adapters.storage.projections import SqlProjectionRows, SqlTallyRows
from atoll.adapters.storage.replicas import SqlLoginRows, SqlMaintenanceRows, SqlReplicaRows
from atoll.adapters.storage.sandboxes import SqlIdempotencyRows, SqlSandboxRows
from atoll.adapters.storage.screens import SqlScreenRows
from atoll.adapters.storage.secrets import SqlSecretRows
from atoll.adapters.storage.snapshots import SqlDiskOrderRows, SqlSnapshotRows
from atoll.adapters.storage.tools.wakings import SqlWakingRows
from atoll.adapters.storage.tools.watches import SqlWatchRows
from atoll.adapters.storage.webhooks import SqlWebhookDeliveryRows, SqlWebhookRows
from atoll.adapters.storage.work.threads import SqlReviewThreadRows
from atoll.adapters.storage.workers.desktops import SqlDesktopRows
from atoll.adapters.storage.workers.dialled import (
    SqlHostEntryRows,
    SqlHostLeaseRows,
    SqlHostOfferRows,
)
from atoll.adapters.storage.workers.summaries import SqlWorkerSummaryRows
from atoll.adapters.storage.workers.workers import (
    SqlWorkerArtifactRows,
    SqlWorkerEventRows,
    SqlWorkerRequestRows,
    SqlWorkerRows,
)
from atoll.ports.store.store import (
    DashboardTables,
    LogTables,
    PeopleTables,
    SandboxTables,
    Transaction,
    WorkerTables,
)


def transaction(connection: AsyncConnection) -> Transaction:
    """Return the rows on one connection."""
    return Transaction(
        **vars(_sandboxes(connection)),
        **vars(_log(connection)),
        **vars(_people(connection)),
        **vars(_workers(connection)),
        **vars(_dashboards(connection)),
    )


def _sandboxes(connection: AsyncConnection) -> SandboxTables:
    return SandboxTables(
        sandboxes=SqlSandboxRows(connection),
        idempotency=SqlIdempotencyRows(connection),
        logs=SqlLogRows(connection),
        approvals=SqlApprovalRows(connection),
        secrets=SqlSecretRows(connection),
        sessions=SqlSessionRows(connection),
        previews=SqlPreviewRows(connection),
        preview_visits=SqlPreviewVisitRows(connection),
        hosts=SqlHostRows(connection),
        pools=SqlPoolRows(connection),
        pooled=SqlPooledRows(connection),
        routes=SqlRouteRows(connection),
        maintenance=SqlMaintenanceRows(connection),
        replicas=SqlReplicaRows(connection),
        every_sandbox=SqlOverviewSandboxRows(connection),
        search=SqlSearchRows(connection),
        usage=SqlUsageRows(connection),
        screens=SqlScreenRows(connection),
        snapshots=SqlSnapshotRows(connection),
        disk_orders=SqlDiskOrderRows(connection),
        content_keys=SqlContentKeyRows(connection),
        contents=SqlContentRows(connection),
        content_blobs=SqlContentBlobRows(connection),
        review_threads=SqlReviewThreadRows(connection),
    )


def _log(connection: AsyncConnection) -> LogTables:
    return LogTables(
        events=SqlEventRows(connection),
        outbox=SqlOutboxRows(connection),
        projections=SqlProjectionRows(connection),
        tallies=SqlTallyRows(connection),
        meters=SqlMeterRows(connection),
        meter_states=SqlMeterStateRows(connection),
        meter_hosts=SqlMeterHostRows(connection),
        spending=SqlSpendingRows(connection),
        audit=SqlAuditRows(connection),
        webhooks=SqlWebhookRows(connection),
        webhook_deliveries=SqlWebhookDeliveryRows(connection),
        hooks=SqlHookRows(connection),
        watches=SqlWatchRows(connection),
        wakings=SqlWakingRows(connection),
    )


def _people(connection: AsyncConnection) -> PeopleTables:
    return PeopleTables(
        organizations=SqlOrganizationRows(connection),
        members=SqlMemberRows(connection),
        invitations=SqlInvitationRows(connection),
        network_bounds=SqlNetworkBoundRows(connection),
        quotas=SqlQuotaRows(connection),
        budgets=SqlBudgetRows(connection),
        budget_leases=SqlLeaseRows(connection),
        ssh_keys=SqlSshKeyRows(connection),
        ssh_identities=SqlSshIdentityRows(connection),
        people=SqlPersonRows(connection),
        person_sessions=SqlPersonSessionRows(connection),
        login_tickets=SqlLoginTicketRows(connection),
        cli_logins=SqlCliLoginRows(connection),
        logins=SqlLoginRows(connection),
        tokens=SqlTokenRows(connection),
        signing_keys=SqlSigningKeyRows(connection),
        shares=SqlShareRows(connection),
        shades=SqlShadeRows(connection),
        push=SqlPushRows(connection),
        profiles=SqlProfileRows(connection),
        projects=SqlProjectRows(connection),
        pulls=SqlPullRows(connection),
    )


def _workers(connection: AsyncConnection) -> WorkerTables:
    return WorkerTables(
        agent_logins=SqlAgentLoginRows(connection),
        workers=SqlWorkerRows(connection),
        worker_requests=SqlWorkerRequestRows(connection),
        worker_events=SqlWorkerEventRows(connection),
        worker_summaries=SqlWorkerSummaryRows(connection),
        worker_artifacts=SqlWorkerArtifactRows(connection),
        desktops=SqlDesktopRows(connection),
        host_leases=SqlHostLeaseRows(connection),
        host_offers=SqlHostOfferRows(connection),
        host_entries=SqlHostEntryRows(connection),
    )


def _dashboards(connection: AsyncConnection) -> DashboardTables:
    return DashboardTables(
        dashboards=SqlDashboardRows(connection),
        documents=SqlDocumentRows(connection),
        document_authors=SqlDocumentAuthorRows(connection),
        dashboard_history=SqlDashboardHistoryRows(connection),
        dashboard_comments=SqlDashboardCommentRows(connection),
        dashboard_mentions=SqlDashboardMentionRows(connection),
    )
