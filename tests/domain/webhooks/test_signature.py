import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.event import Event
from atoll.domain.webhooks.signature import (
    body_of,
    bound_to,
    checked_secret,
    signed_headers,
    spelled_secret,
)
from tests.domain.webhooks.test_webhook import WEBHOOK, event

KEY = bytes(range(32))


def test_signature_is_that_of_the_example_of_the_specification() -> None:
    """The test vector of the reference libraries of Standard Webhooks."""
    headers = signed_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        at=datetime.fromtimestamp(1614265330, UTC),
        secrets=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )
    assert headers["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek"
    assert headers["webhook-timestamp"] == "1614265330"
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_two_secrets_make_two_signatures_the_newest_first() -> None:
    at = datetime.fromtimestamp(1614265330, UTC)
    secrets = [spelled_secret(KEY), spelled_secret(KEY[::-1])]
    both = signed_headers("ev_1", b"{}", at=at, secrets=secrets)["webhook-signature"].split(" ")
    alone = [signed_headers("ev_1", b"{}", at=at, secrets=[one]) for one in secrets]
    assert both == [one["webhook-signature"] for one in alone]
    made = hmac.digest(KEY, b"ev_1.1614265330.{}", hashlib.sha256)
    assert both[0] == "v1," + base64.b64encode(made).decode()


def test_secret_is_spelled_as_receivers_read_it() -> None:
    spelled = spelled_secret(KEY)
    assert spelled.startswith("whsec_")
    assert base64.b64decode(spelled.removeprefix("whsec_")) == KEY


def test_secret_opens_for_its_own_webhook_and_version_only() -> None:
    assert bound_to(WEBHOOK, 1) != bound_to(WEBHOOK, 2)
    assert WEBHOOK.id in bound_to(WEBHOOK, 1)


def test_body_is_the_event_in_its_envelope() -> None:
    told: Event = event()
    assert json.loads(body_of(told)) == {
        "type": "sandbox.ready",
        "timestamp": "2026-01-01T12:00:00.000Z",
        "data": {
            "id": "ev_1",
            "position": 8,
            "stream": "sandbox:sb_1",
            "seq": 1,
            "event_type": "sandbox.ready",
            "event_version": 1,
            "at": "2026-01-01T12:00:00.000Z",
            "org_id": "personal",
            "actor": {"kind": "atm", "id": "atoll"},
            "reason": None,
            "payload": {"name": "zwölf"},
        },
    }


def test_secret_of_the_specification_signs() -> None:
    for length in (24, 32, 64):
        secret = spelled_secret(bytes(length))
        assert checked_secret(secret) == secret


@pytest.mark.parametrize(
    "value",
    [
        "",
        "whsec_",
        spelled_secret(bytes(23)),
        spelled_secret(bytes(65)),
        spelled_secret(KEY).removeprefix("whsec_"),
        spelled_secret(KEY) + "!",
        spelled_secret(KEY).replace("A", "é", 1),
        "sk-ant-api03-0123456789abcdef0123456789abcdef",
    ],
)
def test_value_that_is_no_signing_secret_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked_secret(value)
    assert len(value) < 10 or value not in refused.value.message
