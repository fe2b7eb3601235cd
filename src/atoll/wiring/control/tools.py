"""Services of tools, built from the ground."""

import asyncio
from collections.abc import Sequence

from atoll.domain.tools.offer import ToolReach
from atoll.domain.tools.tool import Tool
from atoll.services.application import Tenancy, ToolServices
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.tools.children import Children
from atoll.services.tools.consent import Consent
from atoll.services.tools.list_changes import ListChanges
from atoll.services.tools.mcp_sessions import McpSessions
from atoll.services.tools.resources import Resources
from atoll.services.tools.settings import ToolSettings
from atoll.services.tools.tool_calls import ToolCalls
from atoll.services.tools.tool_lists import ToolLists
from atoll.services.tools.wake_giving import WakeGiving
from atoll.services.tools.waker import Waker
from atoll.services.tools.wakings import Wakings
from atoll.services.tools.watches import Watches
from atoll.wiring.control.lifecycle.sandboxes import SandboxServices


def build_tools(
    ground: Ground,
    events: Events,
    within: SandboxServices,
    tenancy: Tenancy,
    *,
    settings: ToolSettings,
    lent: asyncio.Event,
) -> ToolServices:
    """Return the use cases of tools, and the waker of agents. `lent` is set once a sandbox has
    access to tools."""
    scheme, credentials = settings.uri_scheme, tenancy.credentials
    wakings = Wakings(ground, events)
    return ToolServices(
        calls=ToolCalls(ground, events, Consent(ground), wakings),
        wakings=wakings,
        waker=Waker(ground, WakeGiving(ground, within.access, scheme=scheme)),
        sessions=McpSessions(ground, credentials.signing_keys),
        resources=Resources(events, scheme=scheme),
        children=Children(ground, within.sandboxes),
        watches=Watches(ground, events, scheme=scheme),
        list_changes=ListChanges(ground, tenancy.memberships),
        lent=lent,
        lists=ToolLists(
            within.sandboxes,
            credentials.tokens.owner,
            _all_tools,
            reach=ToolReach(settings.outside_namespaces),
        ),
    )


def _all_tools() -> Sequence[Tool]:
    from atoll.surfaces.mcp.toolbox import toolbox  # loaded late: most servers never use it

    return [one.tool for one in toolbox().all()]
