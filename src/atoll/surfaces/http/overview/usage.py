"""The route of usage over time."""

from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import overview as api
from atoll.wire.api.overview import UsageSeries

operations = Operations()


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
