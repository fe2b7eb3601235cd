from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.event import Event
from atoll.domain.ids import PERSONAL_ORG, EventId, PrincipalId, SandboxId
from atoll.domain.webhooks.webhook import (
    Webhook,
    WebhookId,
    after_success,
    checked_event_types,
    checked_streams,
    checked_url,
    disable_webhook,
    enable_webhook,
    lifecycle_webhook_id,
    moved_back,
)
from atoll.wire.words.webhooks import MAX_FILTERS, MAX_URL

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
WEBHOOK = Webhook(
    id=WebhookId("whk_1"),
    org_id=PERSONAL_ORG,
    owner=PrincipalId("person"),
    url="https://hooks.example:8443/in?key=k",
    event_types=(),
    streams=(),
    enabled=True,
    reason=None,
    cursor=7,
    secret_version=1,
    created_at=NOW,
)


def event(event_type: str = "sandbox.ready", stream: str = "sandbox:sb_1") -> Event:
    return Event(
        id=EventId("ev_1"),
        position=8,
        stream=stream,
        seq=1,
        event_type=event_type,
        event_version=1,
        at=NOW,
        org_id=PERSONAL_ORG,
        actor_kind="atm",
        actor_id="atoll",
        reason=None,
        payload={"name": "zwölf"},
    )


@pytest.mark.parametrize(
    ("types", "streams", "wanted"),
    [
        ((), (), True),
        (("sandbox.ready",), (), True),
        (("sandbox.*",), ("sandbox:*",), True),
        (("agent.*", "sandbox.ready"), ("sandbox:sb_1",), True),
        (("sandbox.failed", "agent.*"), (), False),
        ((), ("sandbox:sb_2", "vault"), False),
        (("sandbox.ready",), ("profile:*",), False),
    ],
)
def test_webhook_wants_what_passes_both_filters(
    types: tuple[str, ...], streams: tuple[str, ...], wanted: bool
) -> None:
    webhook = replace(WEBHOOK, event_types=types, streams=streams)
    assert webhook.wants(event()) is wanted


def test_webhook_never_wants_events_about_itself() -> None:
    assert not WEBHOOK.wants(event("webhook.failed", WEBHOOK.stream))
    assert WEBHOOK.wants(event("webhook.failed", "webhook:whk_2"))


def test_host_of_a_webhook_leaves_the_rest_of_its_url_out() -> None:
    assert WEBHOOK.host == "hooks.example"


@pytest.mark.parametrize(
    "url",
    ["", "http://hooks.example/", "https://", "https://u:p@hooks.example/", "https://h.example/#x",
     "https://h.example:0/", "https://h.example:99999/", "https://[::1", "javascript:alert(1)",
     "https://h.example/\r\nX: y", "https://h.example/ü", "https://h.example/a b",
     "https://h.example/" + "x" * MAX_URL],
)  # fmt: skip
def test_url_that_is_no_plain_https_url_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked_url(url)
    assert refused.value.field == "url"


def test_plain_http_passes_only_where_it_is_allowed() -> None:
    assert checked_url("http://127.0.0.1:8000/in", plain=True) == "http://127.0.0.1:8000/in"
    with pytest.raises(Invalid):
        checked_url("ftp://127.0.0.1/", plain=True)


def test_filters_are_kinds_of_events_and_names_of_streams_each_once() -> None:
    assert checked_event_types(["sandbox.*", "agent.status", "sandbox.*"]) == (
        "sandbox.*",
        "agent.status",
    )
    assert checked_streams(["sandbox:*", "vault", "sandbox:sb_1"]) == (
        "sandbox:*",
        "vault",
        "sandbox:sb_1",
    )


@pytest.mark.parametrize("one", ["", "sandbox", "sandbox.readyy", "sandboxes.*", "*", "sandbox.**"])
def test_event_type_that_no_event_has_is_refused(one: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked_event_types([one])
    assert refused.value.field == "event_types"


@pytest.mark.parametrize(
    "one",
    [
        "",
        ":",
        "Sandbox:x",
        "sandbox:",
        "sandbox:a b",
        "sandbox:" + "x" * 300,
        "deploy:*",
        "sandbox",
    ],
)
def test_stream_that_cannot_be_is_refused(one: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked_streams([one])
    assert refused.value.field == "streams"


def test_filters_are_bounded() -> None:
    with pytest.raises(Invalid, match="more than 50"):
        checked_streams([f"sandbox:{number}" for number in range(MAX_FILTERS + 1)])


def test_success_ends_the_time_of_failures() -> None:
    failing = replace(WEBHOOK, failing_since=NOW, failure="no")
    after = after_success(failing, NOW + timedelta(seconds=5))
    assert (after.failing_since, after.failure) == (None, "no")
    assert after.delivered_at == NOW + timedelta(seconds=5)


def test_disabled_webhook_says_why_until_it_is_enabled() -> None:
    off = disable_webhook(replace(WEBHOOK, failing_since=NOW), "why")
    assert (off.enabled, off.reason) == (False, "why")
    assert enable_webhook(off) == WEBHOOK


def test_webhook_that_was_moved_back_does_not_stand_where_it_stood() -> None:
    again = moved_back(moved_back(WEBHOOK, 3), 7)
    assert again.cursor == WEBHOOK.cursor
    assert not again.stands_as(WEBHOOK)
    assert WEBHOOK.stands_as(replace(WEBHOOK, enabled=False))


def test_lifecycle_webhook_reads_the_stream_of_its_sandbox_and_bears_its_name() -> None:
    sandbox_id = SandboxId("sb_3k7qa2mnzv5xw4ty")
    assert WEBHOOK.only_stream is None
    assert lifecycle_webhook_id(sandbox_id) == "whk_3k7qa2mnzv5xw4ty"
    assert replace(WEBHOOK, sandbox_id=sandbox_id).only_stream == f"sandbox:{sandbox_id}"
