"""Push subscriptions: browsers that are notified while the page is closed."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.people import MAX_ENDPOINT, MAX_SUBSCRIPTIONS

Key = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_=-]{1,200}\Z")]


class PushKeysBody(Request):
    """The keys of a browser, as the Push API gives them, in base64url."""

    p256dh: Key
    auth: Key


class PushSubscriptionBody(Request):
    """A browser's subscription, in the names of the Push API."""

    endpoint: Annotated[str, Meta(min_length=1, max_length=MAX_ENDPOINT)]
    keys: PushKeysBody


class PushSubscriptionView(Answer):
    """A browser. `service` is the host of its push service; its endpoint stays here."""

    subscription_id: str
    service: str
    created_at: str


class PushSubscriptionList(Answer):
    """The caller's browsers, and the key (base64url) that another one subscribes with."""

    public_key: str
    subscriptions: list[PushSubscriptionView]


_FAILURES = (404, 409, 413)


class PushSubscriptions(Area):
    """The browsers of the caller that are notified."""

    tag = "push"
    needs = "me.manage"

    @operation(
        "GET /v1/push-subscriptions",
        name="list_push_subscriptions",
        problems=_FAILURES,
        max_items=MAX_SUBSCRIPTIONS,
    )
    def list(self) -> PushSubscriptionList:
        """Return the caller's browsers and the server's public key (VAPID, RFC 8292)."""

    @operation(
        "POST /v1/push-subscriptions",
        name="add_push_subscription",
        status=201,
        problems=_FAILURES,
    )
    def add(self, body: PushSubscriptionBody) -> PushSubscriptionView:
        """Notify a browser from now on. The same endpoint again replaces its keys and its id."""

    @operation(
        "DELETE /v1/push-subscriptions/{subscription}",
        name="remove_push_subscription",
        status=204,
        problems=_FAILURES,
    )
    def remove(self, subscription: ItemId) -> None:
        """Notify a browser no longer."""
