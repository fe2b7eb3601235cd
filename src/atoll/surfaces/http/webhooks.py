"""Routes of webhooks: endpoints to which the log is posted, and what they did not accept."""

from datetime import timedelta

from atoll.domain.errors import Invalid
from atoll.services.webhooks.webhooks import WebhookChange, WebhookReport
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import webhooks as api
from atoll.wire.api.webhooks import Webhooks
from atoll.wire.words.webhooks import MAX_OVERLAP, DeliveryState

operations = Operations()


@operations.serves(Webhooks.list)
async def list_webhooks(context: RequestContext) -> api.WebhookList:
    reports = await context.atoll.webhooks.endpoints.list(context.caller)
    return api.WebhookList(webhooks=[_view(report) for report in reports])


@operations.serves(Webhooks.create)
async def create_webhook(context: RequestContext, body: api.WebhookBody) -> api.MadeWebhookView:
    report, secret = await context.atoll.webhooks.endpoints.create(
        context.caller,
        body.url,
        event_types=tuple(body.event_types),
        streams=tuple(body.streams),
        scope=body.scope,
    )
    return _made_view(report, secret)


@operations.serves(Webhooks.get)
async def get_webhook(context: RequestContext, webhook: str) -> api.WebhookView:
    return _view(await context.atoll.webhooks.endpoints.get(context.caller, webhook))


@operations.serves(Webhooks.change)
async def change_webhook(
    context: RequestContext, webhook: str, body: api.WebhookChangeBody
) -> api.WebhookView:
    change = WebhookChange(
        url=body.url,
        event_types=None if body.event_types is None else tuple(body.event_types),
        streams=None if body.streams is None else tuple(body.streams),
        enabled=body.enabled,
    )
    return _view(await context.atoll.webhooks.endpoints.change(context.caller, webhook, change))


@operations.serves(Webhooks.remove)
async def remove_webhook(context: RequestContext, webhook: str) -> None:
    await context.atoll.webhooks.endpoints.remove(context.caller, webhook)


@operations.serves(Webhooks.rotate)
async def rotate_webhook(
    context: RequestContext, webhook: str, body: api.RotateBody
) -> api.MadeWebhookView:
    overlap = timedelta(seconds=body.overlap)
    if overlap > MAX_OVERLAP:
        raise Invalid(f"overlap is at most {MAX_OVERLAP.days} days", field="overlap")
    endpoints = context.atoll.webhooks.endpoints
    report, secret = await endpoints.rotate(context.caller, webhook, overlap=overlap)
    return _made_view(report, secret)


@operations.serves(Webhooks.test)
async def test_webhook(context: RequestContext, webhook: str) -> api.EndpointTestView:
    result = await context.atoll.webhooks.endpoints.test(context.caller, webhook)
    return answer_of(api.EndpointTestView, result, accepted=result.reason is None)


@operations.serves(Webhooks.deliveries)
async def list_deliveries(
    context: RequestContext,
    webhook: str,
    *,
    state: DeliveryState | None = None,
    after: int = 0,
    limit: int = 100,
) -> api.DeliveryPage:
    page = await context.atoll.webhooks.deliveries.list(
        context.caller, webhook, state=state, after=after, limit=limit
    )
    last = page[-1].position if page else after
    return api.DeliveryPage(
        deliveries=[answer_of(api.DeliveryView, delivery) for delivery in page], next=last
    )


@operations.serves(Webhooks.drop)
async def drop_dead_letters(context: RequestContext, webhook: str) -> None:
    await context.atoll.webhooks.deliveries.drop(context.caller, webhook)


@operations.serves(Webhooks.replay)
async def replay_webhook(
    context: RequestContext, webhook: str, body: api.ReplayBody
) -> api.ReplayView:
    if body.after is not None and body.event_id is not None:
        raise Invalid("give `event_id` or `after`, not both", field="after")
    deliveries = context.atoll.webhooks.deliveries
    if body.after is not None:
        replay = await deliveries.replay_from(context.caller, webhook, body.after)
    else:
        replay = await deliveries.replay(context.caller, webhook, body.event_id)
    return answer_of(api.ReplayView, replay)


def _view(report: WebhookReport) -> api.WebhookView:
    return answer_of(api.WebhookView, report.webhook, **_counts(report))


def _made_view(report: WebhookReport, secret: str) -> api.MadeWebhookView:
    return answer_of(api.MadeWebhookView, report.webhook, **_counts(report), secret=secret)


def _counts(report: WebhookReport) -> dict[str, object]:
    return {
        "webhook_id": report.webhook.id,
        "retrying": report.retrying,
        "replaying": report.replaying,
        "dead": report.dead,
    }
