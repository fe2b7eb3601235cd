"""Services of tools, built from the ground."""

from atoll.services.application import Tenancy, ToolServices
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.tools.children import Children
from atoll.services.tools.consent import Consent
from atoll.services.tools.event_feeds import EventFeeds
from atoll.services.tools.mcp_sessions import McpSessions
from atoll.services.tools.resources import Resources
from atoll.services.tools.settings import ToolSettings
from atoll.services.tools.tool_calls import ToolCalls
from atoll.services.tools.wake_giving import WakeGiving
from atoll.services.tools.waker import Waker
from atoll.services.tools.wakings import Wakings
from atoll.services.tools.watches import Watches


def build_tools(
    ground: Ground,
    events: Events,
    tenancy: Tenancy,
    sandboxes: Sandboxes,
    *,
    settings: ToolSettings,
) -> ToolServices:
    """Return the use cases of tools, and the waker of agents."""
    scheme = settings.uri_scheme
    wakings = Wakings(ground, events)
    return ToolServices(
        calls=ToolCalls(ground, events, Consent(ground), wakings),
        wakings=wakings,
        waker=Waker(ground, WakeGiving(ground, sandboxes, scheme=scheme)),
        sessions=McpSessions(ground, tenancy.credentials.signing_keys),
        resources=Resources(events, scheme=scheme),
        children=Children(ground, sandboxes),
        watches=Watches(ground, events, scheme=scheme),
        feeds=EventFeeds(ground, events, scheme=scheme) if settings.mcp_events else None,
    )
