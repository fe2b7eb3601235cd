"""Oversight: every sandbox of an organization or installation, and how administrators end one."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import NO_WAIT, ItemId, Waiting
from atoll.wire.api.operation import Answer, Area, Parameters, operation
from atoll.wire.api.overview import DoorCountsView
from atoll.wire.api.sandboxes.sandboxes import EVERY_STATE, SandboxLimit, States, Unpulled
from atoll.wire.words.overview import MAX_OFFSET, SortKey
from atoll.wire.words.sandboxes import Scope, State


class OverseenView(Answer):
    """A sandbox as administrators see it. `agents` are there, `working` are at work, `waiting` need
    their person; `counts` are of its whole life."""

    sandbox_id: str
    name: str
    state: State
    reason: str | None
    owner: str
    scope: Scope
    profile: str
    created_at: str
    last_used_at: str | None
    expires_at: str
    retained_until: str | None
    agents: int
    working: int
    waiting: int
    counts: DoorCountsView


class OverseenPageView(Answer):
    """A page. `total` sandboxes are on all pages, `tally` counts all that fit the other filters by
    state, and `next` is the following `offset`, null on the last page."""

    sandboxes: list[OverseenView]
    total: int
    tally: dict[State, int]
    next: int | None


class OverseenQuery(Parameters):
    """The filters, the order and the part of the list."""

    state: States = EVERY_STATE
    owner: Annotated[
        Annotated[str, Meta(max_length=200)] | None, Meta(description="Only this member's.")
    ] = None
    q: Annotated[str, Meta(description="A part of the name.", max_length=200)] = ""
    sort: Annotated[SortKey, Meta(description="The column.")] = SortKey.CREATED
    descending: Annotated[bool, Meta(description="Highest or newest first.")] = True
    offset: Annotated[int, Meta(ge=0, le=MAX_OFFSET)] = 0
    limit: SandboxLimit = 50


EVERY_SANDBOX = OverseenQuery()


class RunningView(Answer):
    """A sandbox that runs, or is being made, of whatever organization."""

    sandbox_id: str
    name: str
    state: State
    reason: str | None
    owner: str
    org_id: str


class RunningList(Answer):
    """Sandboxes that run on the installation."""

    sandboxes: list[RunningView]


class OverseenSandboxes(Area):
    """The sandboxes of an organization, whoever owns them."""

    tag = "overview"
    needs = "org.manage"

    @operation(
        "GET /v1/organizations/{organization}/sandboxes", name="oversee_sandboxes", problems=(404,)
    )
    def list(
        self, organization: ItemId, *, filters: OverseenQuery = EVERY_SANDBOX
    ) -> OverseenPageView:
        """Return the sandboxes of an organization, whoever owns them. Their files, terminals and
        tasks stay their owners'."""

    @operation(
        "POST /v1/organizations/{organization}/sandboxes/{sandbox}/stop",
        name="stop_overseen",
        status=202,
        problems=(404, 409),
    )
    def stop(
        self, organization: ItemId, sandbox: ItemId, *, waiting: Waiting = NO_WAIT
    ) -> OverseenView:
        """End the sandbox's processes and keep its files: its owner can start it again.
        `?wait=true` waits for the end."""

    @operation(
        "POST /v1/organizations/{organization}/sandboxes/{sandbox}/destroy",
        name="destroy_overseen",
        status=202,
        problems=(404, 409),
    )
    def destroy(
        self, organization: ItemId, sandbox: ItemId, *, unpulled: Unpulled = None
    ) -> OverseenView:
        """Destroy the sandbox permanently, with all that nobody pulled from it.

        With `unpulled=refuse` nothing is destroyed while it holds such work.
        """


class RunningSandboxes(Area):
    """The sandboxes that run on an installation."""

    tag = "overview"
    needs = "system.manage"

    @operation("GET /v1/running", name="list_running")
    def list(self) -> RunningList:
        """Return every sandbox of the installation that runs or is being made, whoever owns it."""

    @operation(
        "POST /v1/running/{sandbox}/stop", name="stop_running", status=202, problems=(404, 409)
    )
    def stop(self, sandbox: ItemId, *, waiting: Waiting = NO_WAIT) -> RunningView:
        """Stop a sandbox of the installation, whoever owns it, as `atoll down` does: one that is
        being made once it is ready. `?wait=true` waits for the end."""
