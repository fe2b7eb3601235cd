"""Routes of consumers, harnesses on whose behalf sandboxes exist."""

from msgspec.structs import asdict

from atoll.domain.overview.usage import ConsumerUsage
from atoll.domain.sandboxes.consumer import ConsumerFilter
from atoll.surfaces.http.sandboxes.view import sandbox_views
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.overview import DoorCountsView
from atoll.wire.api.sandboxes import consumers as api
from atoll.wire.api.sandboxes.consumers import EVERY_CONSUMER, ConsumerQuery, Consumers

operations = Operations()


def consumers_of(query: ConsumerQuery) -> ConsumerFilter:
    """Return the consumers that a request selects."""
    return ConsumerFilter(**asdict(query))


@operations.serves(Consumers.end)
async def end_consumer(context: RequestContext, body: api.ConsumerEndBody) -> api.EndedView:
    ended = await context.atoll.consumers.end(context.caller, ConsumerFilter(**asdict(body)))
    return api.EndedView(sandboxes=await sandbox_views(context.atoll, ended))


@operations.serves(Consumers.usage)
async def read_consumer_usage(
    context: RequestContext, *, consumers: ConsumerQuery = EVERY_CONSUMER
) -> api.ConsumerUsageList:
    usages = await context.atoll.consumers.usage(context.caller, consumers_of(consumers))
    return api.ConsumerUsageList(consumers=[_usage_view(usage) for usage in usages])


def _usage_view(usage: ConsumerUsage) -> api.ConsumerUsageView:
    return answer_of(api.ConsumerUsageView, usage, counts=answer_of(DoorCountsView, usage.counts))
