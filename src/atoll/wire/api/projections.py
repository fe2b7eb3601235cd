"""Projections: read models that a client follows as they change."""

from typing import Annotated

from atoll.wire.api.annotations import Header
from atoll.wire.api.events import EventId
from atoll.wire.api.fields import Position
from atoll.wire.api.operation import Area, Stream, operation


class AgentProjection(Area):
    """The agents of all sandboxes, as `GET /v1/agents` shows them."""

    tag = "agents"
    needs = "agent.read"

    @operation(
        "GET /v1/projections/agents/stream",
        name="follow_agents",
        stream="text/event-stream",
        about="A server-sent event `all`, then one `changed` for each sandbox.",
    )
    def follow(
        self,
        *,
        after: Position | None = None,
        last_event_id: Annotated[EventId | None, Header("last-event-id")] = None,
    ) -> Stream:
        """Follow the agents of all sandboxes: all of them, then those of each sandbox that changes.

        After `Last-Event-ID` (or `?after=`) it begins with what changed since, or with all of it
        where the log no longer says that.
        """
