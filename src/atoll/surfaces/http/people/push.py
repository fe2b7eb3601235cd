"""Routes of push subscriptions: browsers that are notified while the page is closed."""

from atoll.domain.people.push import PushSubscription, host_of, read_target
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.people import push as api
from atoll.wire.api.people.push import PushSubscriptions

operations = Operations()


@operations.serves(PushSubscriptions.list)
async def list_push_subscriptions(context: RequestContext) -> api.PushSubscriptionList:
    found = await context.atoll.push.subscriptions.list(context.caller)
    key = await context.atoll.push.subscriptions.public_key()
    return api.PushSubscriptionList(
        public_key=key, subscriptions=[_view(subscription) for subscription in found]
    )


@operations.serves(PushSubscriptions.add)
async def add_push_subscription(
    context: RequestContext, body: api.PushSubscriptionBody
) -> api.PushSubscriptionView:
    target = read_target(body.endpoint, body.keys.p256dh, body.keys.auth)
    return _view(await context.atoll.push.subscriptions.subscribe(context.caller, target))


@operations.serves(PushSubscriptions.remove)
async def remove_push_subscription(context: RequestContext, subscription: str) -> None:
    await context.atoll.push.subscriptions.unsubscribe(context.caller, subscription)


def _view(subscription: PushSubscription) -> api.PushSubscriptionView:
    return answer_of(
        api.PushSubscriptionView,
        subscription,
        subscription_id=subscription.id,
        service=host_of(subscription.target.endpoint),
    )
