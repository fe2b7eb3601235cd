"""Desktops: a person's own machines, which dial in and follow what they are offered."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import Word
from atoll.wire.api.operation import Answer, Area, Request, Stream, operation
from atoll.wire.api.sandboxes.views import IsolationView
from atoll.wire.http.media_types import SSE
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.words.workers import LONGEST_NOTE, MAX_DESKTOPS, MOST_NOTES

DesktopName = Annotated[
    str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,39}\Z", description="The desktop's name.")
]
Notes = Annotated[
    tuple[Annotated[str, Meta(max_length=LONGEST_NOTE)], ...], Meta(max_length=MOST_NOTES)
]


class WallBody(Request):
    """The wall of a desktop's workers: `degraded` says what it lacks."""

    level: IsolationLevel
    mechanism: Word
    degraded: Notes = ()


class PresenceBody(Request):
    """The presence of a desktop, whose lane runs with this wall."""

    isolation: WallBody


class DesktopView(Answer):
    """A linked desktop. `present`: its lane runs. `heard_at` is when that was heard last, null
    where it never was, and once it has ended. `isolation` is the wall that it reports, null before
    its lane has run. `workers` are those that it has."""

    name: str
    present: bool
    linked_at: str
    heard_at: str | None
    isolation: IsolationView | None
    workers: list[str]


class DesktopList(Answer):
    """The caller's desktops, by name."""

    desktops: list[DesktopView]


_FAILURES = (404, 409)


class Desktops(Area):
    """The machines of a person that take their workers."""

    tag = "workers"
    needs = "agent.use"

    @operation(
        "PUT /v1/desktops/{desktop}", name="link_desktop", problems=(409,), also={201: "Linked."}
    )
    def link(self, desktop: DesktopName) -> DesktopView:
        """Link a machine of the caller's own. A repetition changes nothing."""

    @operation("GET /v1/desktops", name="list_desktops", max_items=MAX_DESKTOPS)
    def list(self) -> DesktopList:
        """List the caller's desktops; a person has few."""

    @operation("PUT /v1/desktops/{desktop}/presence", name="report_presence", problems=_FAILURES)
    def report_presence(self, desktop: DesktopName, body: PresenceBody) -> DesktopView:
        """Report that a desktop's lane runs, and its wall. It is repeated within 20 seconds."""

    @operation(
        "DELETE /v1/desktops/{desktop}/presence",
        name="end_presence",
        status=204,
        problems=_FAILURES,
    )
    def end_presence(self, desktop: DesktopName) -> None:
        """Report that a desktop's lane has ended."""

    @operation(
        "DELETE /v1/desktops/{desktop}", name="unlink_desktop", status=204, problems=_FAILURES
    )
    def unlink(self, desktop: DesktopName) -> None:
        """Unlink a desktop: the leases of its workers end."""

    @operation(
        "GET /v1/desktops/{desktop}/offers",
        name="follow_offers",
        stream=SSE,
        about="One server-sent event for each offer.",
        problems=_FAILURES,
    )
    def offers(self, desktop: DesktopName) -> Stream:
        """Follow what a desktop shall do: every offer without a receipt, then each as it comes."""
