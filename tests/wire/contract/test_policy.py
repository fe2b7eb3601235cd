"""The policy message: strict, whole, and silent about what it holds."""

import json

import pytest

from atoll.wire.contract.policy import (
    Approved,
    BadPolicy,
    EgressRule,
    Network,
    Policy,
    ProviderKey,
    RedactedValue,
    decode_policy,
    encode_policy,
)

CANARY = "sk-canary-0123456789"


def test_policy_encoded_and_decoded_is_the_same() -> None:
    policy = Policy(
        revision=7,
        providers=(ProviderKey(provider="openai", secret_id="sec_1", version=2, value=CANARY),),
        approvals=(
            Approved(approval_id="ap_1", secret_id="sec_2", version=1, host="a.example", port=443),
        ),
        network=Network(mode="full", rules=(EgressRule(host="*.example.com"),)),
    )
    assert decode_policy(encode_policy(policy)) == policy


def test_policy_empty_allows_nothing() -> None:
    policy = decode_policy(b"{}")
    assert policy == Policy()
    assert (policy.providers, policy.network.rules, policy.approvals) == ((), (), ())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"revision":"x"}',
        b'{"other":1}',
        b'{"network":{"mode":"open"}}',
        b'{"network":{"rules":[{"host":"a","ports":[0]}]}}',
        b'{"redacted":[{"name":"n","value":["' + CANARY.encode() + b'"]}]}',
        b"\xff",
        b'{"\xff":1}',
        b'{"env":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_policy_malformed_is_refused_without_its_values(body: bytes) -> None:
    with pytest.raises(BadPolicy) as caught:
        decode_policy(body)
    assert CANARY not in str(caught.value)


def test_policy_shown_holds_no_value() -> None:
    policy = Policy(redacted=(RedactedValue(name="key", value=CANARY),))
    assert CANARY not in repr(policy) + str(policy) + f"{policy.redacted!r}"


def test_policy_leaves_out_what_an_older_runtime_does_not_know() -> None:
    assert json.loads(encode_policy(Policy(revision=3))) == {"revision": 3}
