import base64
from typing import Any

from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/push-subscriptions": {
        "endpoint": "test_browser_is_subscribed_listed_and_removed",
        "keys.auth": "test_subscription_that_cannot_work_names_its_field",
        "keys.p256dh": "test_subscription_that_cannot_work_names_its_field",
    },
}

KEYS = {
    "p256dh": base64.urlsafe_b64encode(b"\x04" + b"k" * 64).decode(),
    "auth": base64.urlsafe_b64encode(b"a" * 16).decode(),
}
BODY: dict[str, Any] = {"endpoint": "https://push.example/one", "keys": KEYS}
PATH = "/v1/push-subscriptions"


async def test_browser_is_subscribed_listed_and_removed(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post(PATH, json=BODY)
        assert made.status_code == 201, made.text
        view = made.json()
        assert (view["service"], "endpoint" in view) == ("push.example", False)
        told = (await client.get(PATH)).json()
        assert told["subscriptions"] == [view]
        assert len(told["public_key"]) == 87
        gone = f"{PATH}/{view['subscription_id']}"
        assert (await client.delete(gone)).status_code == 204
        assert (await client.delete(gone)).status_code == 404
        assert (await client.get(PATH)).json()["subscriptions"] == []


async def test_subscription_that_cannot_work_names_its_field(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for wrong, field in (
            ({"endpoint": "http://push.example/"}, "endpoint"),
            ({"endpoint": "https://10.0.0.1/"}, "endpoint"),
            ({"keys": {**KEYS, "auth": "YQ"}}, "keys.auth"),
            ({"keys": {**KEYS, "p256dh": "YQ"}}, "keys.p256dh"),
        ):
            told = await client.post(PATH, json={**BODY, **wrong})
            assert (told.status_code, told.json()["field"]) == (422, field)


async def test_nobody_subscribes_without_a_login(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        assert (await client.post(PATH, json=BODY)).status_code == 401
        assert (await client.get(PATH)).status_code == 401
