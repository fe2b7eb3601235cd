"""The nouns of the client for programs.

Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.connection import Connection
from atoll.client.aio.made.agents.agents import AsyncAgentCatalogue
from atoll.client.aio.made.agents.inbox import AsyncInbox
from atoll.client.aio.made.agents.logins import AsyncAgentLogins
from atoll.client.aio.made.agents.sandbox_agents import AsyncAgents
from atoll.client.aio.made.approvals import AsyncApprovals
from atoll.client.aio.made.extensions import AsyncExtensions
from atoll.client.aio.made.forges import AsyncIssues, AsyncPullRequests
from atoll.client.aio.made.hooks import AsyncHooks
from atoll.client.aio.made.hosts.hosts import AsyncHosts
from atoll.client.aio.made.hosts.pools import AsyncPools
from atoll.client.aio.made.hosts.routes import AsyncRoutes
from atoll.client.aio.made.library.commits import AsyncCommits
from atoll.client.aio.made.library.drive import AsyncDrives
from atoll.client.aio.made.library.kept import AsyncKeptFiles
from atoll.client.aio.made.library.projects import AsyncProjects
from atoll.client.aio.made.library.working_trees import AsyncWorkingTrees
from atoll.client.aio.made.people.budgets import AsyncBudgets
from atoll.client.aio.made.people.organizations import AsyncOrganizations
from atoll.client.aio.made.people.shares import AsyncShares
from atoll.client.aio.made.people.tokens import AsyncTokens
from atoll.client.aio.made.sandboxes.consumers import AsyncConsumers
from atoll.client.aio.made.sandboxes.snapshots import AsyncSandboxSnapshots, AsyncSnapshots
from atoll.client.aio.made.secrets import AsyncSecrets
from atoll.client.aio.made.ssh.access import AsyncSshGateway
from atoll.client.aio.made.ssh.keys import AsyncSshKeys
from atoll.client.aio.made.work.threads import AsyncReviewThreads
from atoll.client.aio.made.workers.desktops import AsyncDesktops


class MadeNouns:
    """Nouns of the API whose calls are all made, over one connection."""

    def __init__(self, connection: Connection) -> None:
        self.catalogue = AsyncAgentCatalogue(connection)
        self.logins = AsyncAgentLogins(connection)
        self.agents = AsyncAgents(connection)
        self.approvals = AsyncApprovals(connection)
        self.budgets = AsyncBudgets(connection)
        self.commits = AsyncCommits(connection)
        self.consumers = AsyncConsumers(connection)
        self.desktops = AsyncDesktops(connection)
        self.drive = AsyncDrives(connection)
        self.extensions = AsyncExtensions(connection)
        self.hooks = AsyncHooks(connection)
        self.hosts = AsyncHosts(connection)
        self.inbox = AsyncInbox(connection)
        self.issues = AsyncIssues(connection)
        self.kept = AsyncKeptFiles(connection)
        self.organizations = AsyncOrganizations(connection)
        self.pools = AsyncPools(connection)
        self.projects = AsyncProjects(connection)
        self.pulls = AsyncPullRequests(connection)
        self.review_threads = AsyncReviewThreads(connection)
        self.routes = AsyncRoutes(connection)
        self.sandbox_snapshots = AsyncSandboxSnapshots(connection)
        self.secrets = AsyncSecrets(connection)
        self.shares = AsyncShares(connection)
        self.snapshots = AsyncSnapshots(connection)
        self.ssh_gateway = AsyncSshGateway(connection)
        self.ssh_keys = AsyncSshKeys(connection)
        self.tokens = AsyncTokens(connection)
        self.trees = AsyncWorkingTrees(connection)
