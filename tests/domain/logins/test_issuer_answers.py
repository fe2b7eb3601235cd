from datetime import timedelta
from typing import Any

import pytest

from atoll.domain.logins.agent_login import (
    CodeExpired,
    Denied,
    LoginRefused,
    PollUnanswered,
    SlowDown,
    StillPending,
)
from atoll.domain.logins.issuer_answers import (
    ends_grant,
    openai_poll_verdict,
    poll_verdict,
    read_seconds,
)


@pytest.mark.parametrize(
    ("status", "error", "verdict"),
    [
        (400, "authorization_pending", StillPending),
        (400, "slow_down", SlowDown),
        (400, "access_denied", Denied),
        (400, "expired_token", CodeExpired),
        (400, "invalid_grant", LoginRefused),
        (429, "", SlowDown),
        (503, "", PollUnanswered),
        (408, "", PollUnanswered),
        (404, "", LoginRefused),
    ],
)
def test_poll_is_read_by_the_error_in_its_body(status: int, error: str, verdict: type) -> None:
    assert type(poll_verdict(status, error)) is verdict


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (403, StillPending),
        (404, StillPending),
        (429, SlowDown),
        (500, PollUnanswered),
        (400, LoginRefused),
    ],
)
def test_openai_poll_is_read_by_its_status(status: int, verdict: type) -> None:
    assert type(openai_poll_verdict(status)) is verdict


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("5", 5), (5, 5), (1.5, 1.5), (1e300, 366 * 24 * 3600)],
)
def test_seconds_are_read_as_number_or_text(value: object, seconds: float) -> None:
    assert read_seconds(value) == timedelta(seconds=seconds)


@pytest.mark.parametrize("value", [None, True, 0, -1, "", "-5", "5s", "9" * 10, [], float("nan")])
def test_other_values_are_no_seconds(value: object) -> None:
    assert read_seconds(value) is None


@pytest.mark.parametrize(
    ("body", "over"),
    [
        ({"error": "invalid_grant"}, True),
        ({"error": {"code": "refresh_token_reused"}}, True),
        ({"error": "server_error"}, False),
        ({"error": {"code": None}}, False),
        ({"error": 5}, False),
        ({}, False),
    ],
)
def test_answer_to_a_refresh_ends_a_grant_by_its_error_alone(
    body: dict[str, Any], over: bool
) -> None:
    assert ends_grant(body) is over
