import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import DashboardId
from atoll.domain.people.push import (
    PER_WINDOW,
    WINDOW,
    PushRate,
    PushReason,
    host_of,
    origin_of,
    push_message,
    push_reason,
    read_target,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEY = base64.urlsafe_b64encode(b"\x04" + b"k" * 64).decode().rstrip("=")
AUTH = base64.urlsafe_b64encode(b"a" * 16).decode().rstrip("=")


def test_target_is_read_as_browsers_spell_it() -> None:
    target = read_target("https://push.example/a?b=c", KEY, AUTH + "==")
    assert (len(target.p256dh), target.auth) == (65, b"a" * 16)
    assert "kkk" not in repr(target)
    assert origin_of("https://push.example:8443/a") == "https://push.example:8443"
    assert host_of("https://push.example:8443/a") == "push.example"


@pytest.mark.parametrize(
    ("endpoint", "p256dh", "auth", "field"),
    [
        ("http://push.example/", KEY, AUTH, "endpoint"),
        ("https://push.example/#a", KEY, AUTH, "endpoint"),
        ("https://10.0.0.1/a", KEY, AUTH, "endpoint"),
        ("https://[::1]/a", KEY, AUTH, "endpoint"),
        ("https://push.example/", KEY, "é", "keys.auth"),
        ("https://push.example/", KEY, "aaaaa", "keys.auth"),
        ("https://push.example:x/", KEY, AUTH, "endpoint"),
        ("https://push.example/" + "a" * 1024, KEY, AUTH, "endpoint"),
        ("https://пуш.example/", KEY, AUTH, "endpoint"),
        ("https://push.example/", KEY[:-4], AUTH, "keys.p256dh"),
        ("https://push.example/", KEY, "?", "keys.auth"),
    ],
)
def test_target_that_cannot_work_names_its_field(
    endpoint: str, p256dh: str, auth: str, field: str
) -> None:
    with pytest.raises(Invalid) as caught:
        read_target(endpoint, p256dh, auth)
    assert caught.value.field == field


def test_message_holds_the_name_and_a_fixed_sentence_alone() -> None:
    told = json.loads(push_message("box\x1b[31m" + "x" * 200, PushReason.NEEDS_YOU))
    assert told == {
        "sandbox": ("box[31m" + "x" * 200)[:80],
        "reason": "needs_you",
        "text": "An agent needs you.",
    }
    board = (DashboardId("dsh_1"), "itm_1")
    assert json.loads(push_message("Plan", PushReason.MENTIONED, board)) == {
        "sandbox": "Plan",
        "reason": "mentioned",
        "text": "Somebody mentions you.",
        "dashboard": "dsh_1",
        "item": "itm_1",
    }


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        ("approval.asked", None, PushReason.NEEDS_YOU),
        ("agent.status", "needs_you", PushReason.NEEDS_YOU),
        ("agent.status", "done", PushReason.DONE),
        ("agent.status", "failed", PushReason.FAILED),
        ("sandbox.setup_ended", "failed", PushReason.SETUP_FAILED),
        ("sandbox.setup_ended", "done", None),
        ("git.pushed", None, PushReason.PUSHED),
        ("sandbox.ends_soon", None, PushReason.ENDS_SOON),
        ("dashboard.mentioned", None, PushReason.MENTIONED),
        ("agent.status", "working", None),
        ("agent.status", {"a": 1}, None),
        ("terminal.opened", "done", None),
    ],
)
def test_reason_is_that_an_agent_needs_its_person_or_has_ended(
    kind: str, status: object, reason: PushReason | None
) -> None:
    assert push_reason(kind, status) is reason


def test_rate_admits_ten_a_minute_of_a_sandbox_and_forgets_the_quiet() -> None:
    rate: PushRate | None = PushRate()
    for second in range(PER_WINDOW):
        assert rate is not None
        rate = rate.admit("one", NOW + timedelta(seconds=second))
    assert rate is not None
    last = NOW + timedelta(seconds=PER_WINDOW)
    assert rate.admit("one", last) is None
    assert rate.admit("two", last) is not None
    later = rate.admit("one", NOW + WINDOW)
    assert later is not None
    quiet = later.admit("two", NOW + 3 * WINDOW)
    assert quiet is not None
    assert list(quiet.times) == ["two"]
