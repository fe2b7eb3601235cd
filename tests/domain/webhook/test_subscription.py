import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import OrgId, PrincipalId, TokenId, WebhookId
from atoll.domain.tool.occurrence import Wanted
from atoll.domain.webhook.delivery import Receipt, failure_of
from atoll.domain.webhook.signature import body_of, message_for
from atoll.domain.webhook.subscription import (
    LONGEST,
    SHORTEST,
    EventSubscription,
    checked_secret,
    granted_until,
    subscription_id,
)
from atoll.domain.webhook.webhook import Webhook, has_ended
from tests.domain.tool.test_occurrence import EVENT

NOW = datetime(2026, 1, 1, tzinfo=UTC)
READY = Wanted("sandbox.ready")
URL = "https://hooks.example/in"
SUBSCRIPTION = EventSubscription(READY, NOW + LONGEST, TokenId("tok_1"))
WEBHOOK = Webhook(
    id=WebhookId("sub_1"),
    org_id=OrgId("personal"),
    owner=PrincipalId("local"),
    url=URL,
    event_types=(),
    streams=(),
    enabled=True,
    reason=None,
    cursor=3,
    secret_version=1,
    created_at=NOW,
    subscription=SUBSCRIPTION,
)


def test_id_is_derived_from_every_part_of_the_key() -> None:
    org, owner = OrgId("o"), PrincipalId("p")
    wanted = replace(READY, stream="s", path="sandbox/x")
    ids = {
        subscription_id(org, owner, URL, wanted),
        subscription_id(OrgId("o2"), owner, URL, wanted),
        subscription_id(org, PrincipalId("p2"), URL, wanted),
        subscription_id(org, owner, f"{URL}2", wanted),
        subscription_id(org, owner, URL, replace(wanted, kind="sandbox.active")),
        subscription_id(org, owner, URL, replace(wanted, stream=None)),
        subscription_id(org, owner, URL, replace(wanted, path=None)),
    }
    assert len(ids) == 7
    assert subscription_id(org, owner, URL, wanted) in ids


@pytest.mark.parametrize("size", [24, 32, 64])
def test_secret_of_24_to_64_bytes_is_taken(size: int) -> None:
    secret = "whsec_" + base64.b64encode(b"k" * size).decode()
    assert checked_secret(secret) == secret


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", "whsec_!!!!", "x" * 40, base64.b64encode(b"k" * 32).decode(), "whsec_é"]
    + ["whsec_" + base64.b64encode(b"k" * size).decode() for size in (23, 65)],
)
def test_other_secrets_are_refused(secret: str) -> None:
    with pytest.raises(Invalid):
        checked_secret(secret)


def test_time_is_granted_within_bounds_and_never_after_the_credential() -> None:
    assert granted_until(NOW, timedelta(0), at_most=None) == NOW + SHORTEST
    assert granted_until(NOW, timedelta(days=9), at_most=None) == NOW + LONGEST
    soon = NOW + timedelta(seconds=5)
    assert granted_until(NOW, timedelta(hours=1), at_most=soon) == soon


def test_subscription_wants_what_it_names_and_ends() -> None:
    assert WEBHOOK.wants(EVENT)
    assert not WEBHOOK.wants(replace(EVENT, event_type="sandbox.active"))
    assert not WEBHOOK.wants(replace(EVENT, stream=WEBHOOK.stream))
    assert not has_ended(WEBHOOK, NOW)
    assert has_ended(WEBHOOK, SUBSCRIPTION.expires_at)
    assert not has_ended(replace(WEBHOOK, subscription=None), NOW + timedelta(days=900))


def test_message_has_the_position_that_is_safe() -> None:
    told = json.loads(message_for(WEBHOOK, EVENT, safe=3))
    assert (told["eventId"], told["name"], told["cursor"]) == (EVENT.id, EVENT.event_type, "3")
    assert message_for(replace(WEBHOOK, subscription=None), EVENT, safe=3) == body_of(EVENT)


@pytest.mark.parametrize("status", [410, 413])
def test_endpoint_of_a_subscription_refuses_one_message_alone(status: int) -> None:
    found = failure_of("h", Receipt(status), subscribed=True)
    assert found is not None and found.final and not found.gone
