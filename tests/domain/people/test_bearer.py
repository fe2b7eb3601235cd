"""Signed tokens: which claims are believed, by whom, and for how long."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.people.bearer import (
    BearerClaims,
    BearerRequest,
    SubscriptionRequest,
    claims_hold,
    ends_at,
    read_capabilities,
)
from atoll.domain.people.capability import Capability
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import MAX_SUBSCRIBED

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = int(NOW.timestamp())
CLAIMS = BearerClaims(
    iss="https://atoll.example",
    sub=PrincipalId("person"),
    aud="atoll",
    exp=AT + 900,
    iat=AT,
    nbf=AT,
    jti="j",
    sovereign_id="atoll",
    org_id=PERSONAL_ORG,
    roles=(),
    groups=(),
    capabilities=("sandbox.read",),
    kind=ActorKind.PERSON,
    origin="token:tok_1",
)


def _holds(at: datetime = NOW, issuer: str = "https://atoll.example", **changed: Any) -> bool:
    return claims_hold(replace(CLAIMS, **changed), issuer=issuer, now=at)


def test_token_holds_from_its_making_until_its_end() -> None:
    assert _holds() and _holds(NOW + timedelta(seconds=899))
    assert not _holds(NOW + timedelta(seconds=900))


def test_clock_may_differ_by_half_a_minute_and_never_lengthens_a_life() -> None:
    assert _holds(NOW - timedelta(seconds=30)) and not _holds(NOW - timedelta(seconds=31))
    assert _holds(nbf=AT + 30) and not _holds(nbf=AT + 31) and not _holds(iat=AT + 31)
    assert not _holds(NOW + timedelta(seconds=900, microseconds=1))


@pytest.mark.parametrize(
    "changed",
    [{"iss": "https://evil.example"}, {"iss": "https://atoll.example/"}, {"iss": ""},
     {"aud": "other"}, {"aud": ""}, {"aud": "ATOLL"}, {"exp": AT}, {"exp": AT + 901},
     {"exp": AT + 10**12}, {"aud": "sandbox"}],
    ids=str,
)  # fmt: skip
def test_other_claims_do_not_hold(changed: dict[str, Any]) -> None:
    assert not _holds(**changed)


def test_audience_of_sandboxes_holds_with_a_sandbox() -> None:
    assert _holds(aud="sandbox", sandbox_id=SandboxId("sb_1")) and _holds(aud="subscription")


def test_exchange_names_an_audience_that_is_not_kept_for_us() -> None:
    assert BearerRequest().audience == "atoll" and BearerRequest("billing").audience == "billing"
    for audience in ("subscription", "sandbox"):
        with pytest.raises(Invalid):
            BearerRequest(audience)
    for seconds in (0, -1, 901):
        with pytest.raises(Invalid):
            BearerRequest(seconds=seconds)


def test_subscription_names_what_it_reads() -> None:
    assert SubscriptionRequest(("sandbox:sb_1",), ("agents",)).seconds == 900
    many = tuple(str(number) for number in range(MAX_SUBSCRIBED + 1))
    for streams, models in (
        ((), ()),
        (many, ()),
        (("deploy:x",), ()),
        ((), ("nothing",)),
        ((), many),
    ):
        with pytest.raises(Invalid):
            SubscriptionRequest(streams, models)
    with pytest.raises(Invalid):
        SubscriptionRequest(("auth",), seconds=901)


def test_token_ends_with_the_one_it_is_made_from() -> None:
    soon = NOW + timedelta(seconds=5)
    assert ends_at(900, now=NOW, maker_ends=None) == NOW + timedelta(seconds=900)
    assert ends_at(900, now=NOW, maker_ends=soon) == soon
    assert ends_at(1, now=NOW, maker_ends=soon) == NOW + timedelta(seconds=1)


def test_unknown_capability_gives_nothing() -> None:
    assert read_capabilities(("sandbox.read", "sandbox.everything")) == {Capability.SANDBOX_READ}
