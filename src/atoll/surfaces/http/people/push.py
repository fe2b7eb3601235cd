"""Routes of push subscriptions: browsers that are notified while the page is closed."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.people.push import (
    MAX_ENDPOINT,
    MAX_SUBSCRIPTIONS,
    PushSubscription,
    host_of,
    read_target,
)
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/push-subscriptions", tags=["push"], route_class=JsonRoute)

_Key = Annotated[str, Field(pattern="^[A-Za-z0-9_=-]{1,200}$", strict=True)]


class PushKeysBody(Body):
    """The keys of a browser, as the Push API gives them, in base64url."""

    p256dh: _Key
    auth: _Key


class PushSubscriptionBody(Body):
    """A browser's subscription, in the names of the Push API."""

    endpoint: Annotated[str, Field(min_length=1, max_length=MAX_ENDPOINT, strict=True)]
    keys: PushKeysBody


class PushSubscriptionView(ResponseModel):
    """A browser. `service` is the host of its push service; its endpoint stays here."""

    subscription_id: str
    service: str
    created_at: str


class PushSubscriptionList(ResponseModel):
    """The caller's browsers, and the key (base64url) that another one subscribes with."""

    public_key: str
    subscriptions: list[PushSubscriptionView]


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413)


@router.get(
    "",
    response_model=PushSubscriptionList,
    responses=_FAILURES,
    openapi_extra=at_most(MAX_SUBSCRIPTIONS),
)
@needs(Capability.ME)
async def list_push_subscriptions(atoll: Atoll, caller: Caller) -> Response:
    """Return the caller's browsers and the server's public key (VAPID, RFC 8292)."""
    found = await atoll.push.subscriptions.list(caller)
    key = await atoll.push.subscriptions.public_key()
    return Json({"public_key": key, "subscriptions": [_view(one) for one in found]})


@router.post("", status_code=201, response_model=PushSubscriptionView, responses=_FAILURES)
@needs(Capability.ME)
async def add_push_subscription(
    atoll: Atoll, caller: Caller, body: PushSubscriptionBody
) -> Response:
    """Notify a browser from now on. The same endpoint again replaces its keys and its id."""
    target = read_target(body.endpoint, body.keys.p256dh, body.keys.auth)
    return Json(_view(await atoll.push.subscriptions.subscribe(caller, target)), 201)


@router.delete("/{subscription}", status_code=204, responses=_FAILURES)
@needs(Capability.ME)
async def remove_push_subscription(atoll: Atoll, caller: Caller, subscription: ItemId) -> Response:
    """Notify a browser no longer."""
    await atoll.push.subscriptions.unsubscribe(caller, subscription)
    return no_content()


def _view(subscription: PushSubscription) -> dict[str, Any]:
    return PushSubscriptionView.of(
        subscription,
        subscription_id=subscription.id,
        service=host_of(subscription.target.endpoint),
    )
