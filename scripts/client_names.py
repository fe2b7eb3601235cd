"""Where the client that is made of the declarations has other names and arguments than they.

The client was there before them, and its names stay.
"""

from typing import Final

NOT_MADE: Final = frozenset(
    {
        *("annotations", "fields", "operation"),
        *("dashboards.comments", "dashboards.sandboxes", "people.bearers", "people.guests"),
        *("people.push", "people.team_tokens", "projections", "sandboxes.sessions", "server"),
        *("workers.reports", "workers.summaries"),
    }
)
"""Modules of `atoll.wire.api` of which the client has nothing."""

_ORG: Final = "Organizations"

LEFT_OUT: Final = frozenset(
    {
        *("AgentStatuses", "Events", "Logins", "CliLogins", "Me", "Profiles"),
        *("Repositories", "Search", "UsageSeries"),
        *("Agents.get", "Dashboards.copy", "Dashboards.get", "Dashboards.people"),
        *("Desktops.end_presence", "Desktops.report_presence"),
        *("Drives.begin", "Drives.come_back", "Drives.finish", "Execs.forget", "Execs.signal"),
        *("Extensions.findings", "Files.list", "Files.move", "Files.remove"),
        *("Organizations.rename", "OrgInvitations.look", "OverseenSandboxes.destroy"),
        *("OwnLogins.accept", "OwnLogins.look"),
        *("Ports.close", "Previews.get", "ProviderLogins.begin", "ProviderLogins.end"),
        *("PullRequests.branches", "PullRequests.repositories"),
        *("Pulls.cancel", "Pulls.list", "Pulls.order", "Quotas.set", "Quotas.set_of_member"),
        *(
            "Recordings.marks",
            "Recordings.text",
            "Sandboxes.begin_task",
            "Sandboxes.delete",
            "Sandboxes.run_setup",
        ),
        *("ServiceAccounts.list", "ServiceAccounts.remove"),
        *("Terminals.close", "Terminals.resize", "Terminals.signal"),
        *("UnpulledWork.mark", "Workers.deliver"),
    }
)
"""Areas and operations that are no method of a noun."""

JOINED: Final = {
    "DashboardShares": "Dashboards",
    **dict.fromkeys(("Members", "NetworkBounds", "OrgInvitations", "OverseenSandboxes"), _ORG),
    **dict.fromkeys(
        ("OwnLogins", "Ownership", "ProviderLogins", "Quotas", "RunningSandboxes"), _ORG
    ),
    **dict.fromkeys(("ServiceAccounts", "WorkerOversight"), _ORG),
    "Ports": "Previews",
    **dict.fromkeys(("Processes", "Pulls", "SandboxNetworks", "Syncs"), "Sandboxes"),
    **dict.fromkeys(("Tools", "UnpulledWork", "Works"), "Sandboxes"),
    "Recordings": "Terminals",
    "TreeChanges": "WorkingTrees",
}
"""Areas whose operations are methods of another one's noun."""

METHODS: Final = {
    "DashboardShares.list": "links",
    "DashboardShares.make": "make_link",
    "DashboardShares.revoke": "revoke_link",
    "Members.list": "members",
    "NetworkBounds.get": "network_bounds",
    "NetworkBounds.set": "bound_networks",
    "OrgInvitations.list": "invitations",
    "OrgInvitations.revoke": "uninvite",
    "OverseenSandboxes.list": "oversee",
    "OwnLogins.end": "unlink_login",
    "OwnLogins.get": "own_login",
    "OwnLogins.make": "link_login",
    "Ports.link": "link_port",
    "Ports.list": "ports",
    "Previews.tear_down": "delete",
    "Processes.end": "end_processes",
    "Processes.list": "processes",
    "Pulls.finish": "finish_pull",
    "Pulls.take": "take_pull",
    "Quotas.list": "quotas",
    "Quotas.own": "own_quota",
    "Recordings.delete": "delete_recording",
    "Recordings.list": "recordings",
    "Recordings.start": "record",
    "Recordings.stop": "stop_recording",
    "RunningSandboxes.list": "list_running",
    "RunningSandboxes.stop": "halt",
    "SandboxNetworks.get": "network",
    "SandboxNetworks.switch": "change_network",
    "ServiceAccounts.add": "add_service_account",
    "Tools.list": "tools",
    "Workers.list": "page",
}
"""Operations that have another name as a method."""

BLOCKING_BY_HAND: Final = {
    "AgentCatalogue": "atoll.client.catalogues.AgentCatalogue",
    "Agents": "atoll.client.sandboxes.Agents",
    "Extensions": "atoll.client.catalogues.Extensions",
    "Files": "atoll.client.files.Files",
    "Organizations": "atoll.client.organizations.Organizations",
    "Projects": "atoll.client.projects.Projects",
    "Sandboxes": "atoll.client.sandboxes.Sandboxes",
    "Workers": "atoll.client.workers.workers.Workers",
    "WorkingTrees": "atoll.client.files.WorkingTrees",
}
"""Nouns that a class by hand extends. What it defines is not made."""

AWAITED_BY_HAND: Final = {
    "Audit": "atoll.client.aio.records.AuditRecords",
    "Execs": "atoll.client.aio.work.AsyncExecs",
    "Files": "atoll.client.aio.work.AsyncFiles",
    "Sandboxes": "atoll.client.aio.work.AsyncSandboxes",
    "Terminals": "atoll.client.aio.work.AsyncTerminals",
    "Webhooks": "atoll.client.aio.records.WebhookRecords",
    "Workers": "atoll.client.aio.workers.AsyncWorkers",
}
"""The same of the awaited client: what streams, or goes over many pages."""

OF_COMMANDS: Final = frozenset({"Dashboards", "Previews"})
"""Nouns that the command line alone has: none is awaited."""

ATTRIBUTES: Final = {
    "AgentCatalogue": "catalogue",
    "AgentLogins": "logins",
    "Drives": "drive",
    "KeptFiles": "kept",
    "PullRequests": "pulls",
    "WorkingTrees": "trees",
}
"""Attributes of `Atoll` that have another name than their noun."""

NAMED_OTHERWISE: Final = {
    "EgressRule": "Rule",
    "ExecWithOutput": "Exec",
    "FileEntry": "Entry",
    "InboxView": "InboxList",
    "LeftList": "Processes",
    "LeftRecord": "Process",
    "MadePatView": "MadeToken",
    "MadeView": "MadeShare",
    "Part": "WallPart",
    "PullView": "PullOrder",
    "PushView": "HeldPush",
    "SettingsView": "AgentSettings",
    "StatusView": "AgentStatus",
}
"""Shapes that have another name than their answer without `View`."""

SHAPE_BASES: Final = {
    "ExecWithOutput": "atoll.client.parts.ExecOutput",
    "ProfileView": "atoll.client.parts.ProfileDocument",
    "WorkerView": "atoll.client.parts.NamedBackend",
}
"""Answers whose shapes extend one by hand, which has what no declaration says."""

NULL_NUMBERS: Final = {
    **dict.fromkeys(("ChangedFile", "DriveFile", "HostRoom", "Quantities", "RouteHealth"), -1),
    **dict.fromkeys(("BackendHealth.p50_ms", "BackendHealth.p95_ms"), -1),
    "ExecRecord.exit_code": 1,
}
"""Numbers that a shape has in the place of null, where that is not 0."""

KEYWORDS: Final = frozenset(
    {
        *("AgentLogins.expose", "AgentLogins.paste", "AgentLogins.turn", "Agents.ask"),
        "Consumers.end",
        *("Dashboards.give", "Dashboards.share", "Hosts.drain", "Hosts.trust", "Secrets.rotate"),
        *("Sandboxes.extend_ttl", "Webhooks.rotate", "Workers.stop"),
    }
)
"""Operations whose body is given by its fields, as keywords."""

BY_PLACE: Final = frozenset(
    {
        *("AgentLogins.expose", "AgentLogins.paste", "Agents.ask", "Commits.show"),
        *("Dashboards.give", "Dashboards.share", "Files.stat", "Files.total", "Hosts.trust"),
        *("Issues.get", "Projects.forget", "Sandboxes.extend_ttl", "Secrets.rotate"),
        *("Tokens.list", "Workers.stop", "WorkingTrees.checkpoints", "WorkingTrees.restore"),
    }
)
"""Operations whose keywords may be given without their names."""

BY_PAIRS: Final = frozenset(
    {
        *("Commits.list", "Drives.files", "PullRequests.get", "PullRequests.list"),
        *("Recordings.search", "TreeChanges.changes", "TreeChanges.diff", "Workers.list"),
    }
)
"""Operations whose query is given as pairs. Of a list it is one page."""

ARGUMENTS: Final = {
    "AgentCatalogue.agent": "name",
    "Agents.terminal": "agent",
    "Desktops.desktop": "name",
    "Execs.command": "exec_id",
    "OverseenSandboxes.state": "states",
    "Ownership.sandbox": "sandbox",
    "Pulls.finish.body": "result",
    "SandboxNetworks.switch.body": "change",
    "Shares.sandbox": "sandbox",
    "organization": "ref",
    "sandbox": "name",
    "secret": "name",
    **{name: name for name in ("agent", "card", "commit", "host", "invitation", "member")},
    **{name: name for name in ("number", "recording", "route", "subject", "terminal")},
}
"""Names of arguments, where a parameter of an operation, of an area, or of a path has another. A
parameter of a path has an `_id` behind its own by default."""

SILENCE_SECONDS: Final = {
    "Drives.bring": 3600.0,
    "Drives.send": 3600.0,
    "PullRequests.create": 360.0,
    "Syncs.sync": 900.0,
    "Works.merge": 900.0,
}
"""The longest silence before an answer, where it is not a minute: a file is on its way, a branch is
pushed, a remote is fetched."""
