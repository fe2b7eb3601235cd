"""Areas whose client is made, and where its names and arguments differ from the declarations.

The client was there before them, and its names stay.
"""

from typing import Final

AREAS: Final = (
    "agents.agents",
    "agents.inbox",
    "agents.logins",
    "agents.sandbox_agents",
    "approvals",
    "audit",
    "dashboards.dashboards",
    "dashboards.shares",
    "hooks",
    "hosts.hosts",
    "hosts.routes",
    "library.drive",
    "library.kept",
    "people.invitations",
    "people.organizations",
    "people.ownership",
    "people.quotas",
    "people.shares",
    "people.tokens",
    "sandboxes.networks",
    "sandboxes.requests",
    "sandboxes.views",
    "secrets",
    "webhooks",
    "workers.desktops",
)
NOUNS_BY_HAND: Final = frozenset(
    {
        *("agents.agents", "agents.sandbox_agents", "dashboards.dashboards", "dashboards.shares"),
        *("library.drive", "people.invitations", "people.organizations", "people.ownership"),
        *("people.quotas", "workers.desktops"),
        *("sandboxes.networks", "sandboxes.requests", "sandboxes.views"),
    }
)
"""Areas of which only shapes and bodies are made: the client has one noun for several of them."""

NAMED_OTHERWISE: Final = {
    "EgressRule": "Rule",
    "InboxView": "InboxList",
    "MadePatView": "MadeToken",
    "MadeView": "MadeShare",
    "Part": "WallPart",
    "SettingsView": "AgentSettings",
    "StatusView": "AgentStatus",
}
"""Shapes that have another name than their answer without `View`."""

BY_HAND: Final = {
    "Gap": "atoll.client.terminal_shapes",
    "Payload": "atoll.client.terminal_shapes",
}
"""Shapes of areas that are still written by hand, and their modules."""

ITERATED: Final = frozenset({"Webhooks.deliveries"})
"""Pages that the awaited client yields item by item, by hand."""

KEYWORDS: Final = frozenset(
    {
        *("AgentLogins.expose", "AgentLogins.paste", "AgentLogins.turn"),
        *("Hosts.drain", "Hosts.trust", "Secrets.rotate", "Webhooks.rotate"),
    }
)
"""Operations whose body is given by its fields, as keywords."""

BY_PLACE: Final = frozenset(
    {
        *("AgentLogins.expose", "AgentLogins.paste"),
        *("Hosts.trust", "Secrets.rotate", "Tokens.list"),
    }
)
"""Operations whose keywords may be given without their names."""

NAMED: Final = frozenset({"host", "route"})
"""Parameters of paths that are names or ids."""

ARGUMENTS: Final = {"secret": "name"}
"""Arguments of methods that have another name than their parameter of the path."""

UNLIMITED: Final = frozenset({"DriveFile", "HostRoom", "Quantities", "RouteHealth"})
"""Shapes whose numbers are -1 where they are null."""
