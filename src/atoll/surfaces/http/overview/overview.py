"""Routes of the overview: the search over names and texts, and usage over time."""

from collections.abc import Sequence

from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import overview as api
from atoll.wire.api.overview import Search, UsageSeries
from atoll.wire.words.overview import HitKind

operations = Operations()


@operations.serves(Search.find)
async def search(
    context: RequestContext, *, q: str, kind: Sequence[HitKind] = (), limit: int = 20
) -> api.HitList:
    hits, complete = await context.atoll.overview.search.find(
        context.caller, q, kinds=frozenset(kind), limit=limit
    )
    return api.HitList(hits=[answer_of(api.HitView, one) for one in hits], complete=complete)


@operations.serves(UsageSeries.read)
async def read_usage(
    context: RequestContext, organization: str, *, hours: int = 24, bucket: api.Bucket = "1h"
) -> api.UsageView:
    found = await context.atoll.overview.usage.series(
        context.caller, organization, hours=hours, bucket=bucket
    )
    return answer_of(
        api.UsageView,
        found,
        begin=instant(found.span.begin),
        end=instant(found.span.end),
        bucket_seconds=int(found.span.width.total_seconds()),
    )
