"""The overview: search over names and texts, and usage over time."""

from typing import Annotated, Literal

from msgspec import Meta

from atoll.wire.api.fields import ItemId
from atoll.wire.api.operation import Answer, Area, operation
from atoll.wire.words.overview import MAX_HITS, MAX_POINTS, MAX_QUERY, HitKind

HitKinds = Annotated[list[HitKind], Meta(description="Only these kinds.", max_length=8)]
EVERY_KIND: HitKinds = []
Bucket = Literal["5m", "1h", "1d"]


class HitView(Answer):
    """A found thing. `text` is what is around the words, where they are not in the name alone.
    `sandbox_id` is the sandbox it belongs to, null for what belongs to none."""

    kind: HitKind
    id: str
    title: str
    text: str
    sandbox_id: str | None
    at: str | None


class HitList(Answer):
    """The best hits first; `complete` says that there are no more."""

    hits: list[HitView]
    complete: bool


class StandingView(Answer):
    """The numbers of now, or the highest of a time: of running sandboxes, agents in them, those at
    work, and open terminals and machine agents."""

    sandboxes: int
    agents: int
    working: int
    sessions: int


class DoorCountsView(Answer):
    """Counts of what passed the doors: `bytes_in` went from sandboxes into the network, `bytes_out`
    came back. Tokens are those of model providers, partly estimated."""

    requests: int
    refused: int
    bytes_in: int
    bytes_out: int
    tokens_in: int
    tokens_out: int


class UsagePointView(Answer):
    """The usage from `at` on, for the width of a bucket. `standing` is null where no control plane
    was at work."""

    at: str
    standing: StandingView | None
    counts: DoorCountsView


class UsageView(Answer):
    """A series without holes, oldest first, with the highest standing and the sums of it all, and
    what there is now."""

    begin: str
    end: str
    bucket_seconds: int
    points: list[UsagePointView]
    highest: StandingView
    counts: DoorCountsView
    now: StandingView


class Search(Area):
    """The search over names and texts."""

    tag = "overview"
    needs = "sandbox.read"

    @operation("GET /v1/search", name="search")
    def find(
        self,
        *,
        q: Annotated[str, Meta(description="The words; a hit has all.", max_length=MAX_QUERY)],
        kind: HitKinds = EVERY_KIND,
        limit: Annotated[int, Meta(ge=1, le=MAX_HITS)] = 20,
    ) -> HitList:
        """Search the names and texts of what the caller may see: sandboxes, tasks, branches,
        dashboards, secrets' names, members, profiles, and the reasons of events. Of each, the
        newest 2000 are looked at."""


class UsageSeries(Area):
    """The usage of organizations over time."""

    tag = "overview"
    needs = "org.manage"

    @operation(
        "GET /v1/organizations/{organization}/usage",
        name="read_usage",
        problems=(404,),
        max_items=MAX_POINTS,
    )
    def read(
        self,
        organization: ItemId,
        *,
        hours: Annotated[int, Meta(description="How far back; 48 for `5m`.", ge=1, le=2208)] = 24,
        bucket: Annotated[Bucket, Meta(description="The width.")] = "1h",
    ) -> UsageView:
        """Return the usage of an organization over time, sampled once a minute."""
