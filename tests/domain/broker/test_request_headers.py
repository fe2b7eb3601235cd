import pytest

from atoll.domain.broker.provider import PROVIDERS
from atoll.domain.broker.request_headers import OF_GIT, may_be_declared, of_provider, of_secret

MISREAD = (
    "x-http-method-override", "x-method-override", "x-http-method", "x-original-url",
    "x-rewrite-url", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    "x-forwarded-prefix", "x-real-ip", "true-client-ip", "range", "if-range", "via", "x-host",
    "x-accel-redirect", "proxy-foo", "sec-fetch-mode", "x_forwarded_for", "x_api_key",
)  # fmt: skip


@pytest.mark.parametrize("name", MISREAD)
def test_header_that_is_misread_on_the_way_passes_nowhere(name: str) -> None:
    assert not any(of_provider(one).passes(name) for one in PROVIDERS)
    assert not OF_GIT.passes(name) and not of_secret(()).passes(name)
    assert not may_be_declared(name) and not may_be_declared(name.upper())


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("openai", "x-stainless-retry-count"), ("openai", "openai-beta"), ("openai", "originator"),
        ("openai", "session_id"), ("anthropic", "anthropic-version"), ("mistral", "user-agent"),
        ("gemini", "x-goog-api-client"), ("cohere", "x-fern-language"), ("groq", "traceparent"),
    ],
)  # fmt: skip
def test_header_of_a_vendors_sdk_passes_to_its_vendor(provider: str, name: str) -> None:
    assert of_provider(provider).passes(name)


def test_header_of_one_vendor_does_not_pass_to_another_nor_with_an_underscore() -> None:
    assert not of_provider("anthropic").passes("openai-beta")
    assert not of_provider("cohere").passes("session_id")
    assert not of_provider("openai").passes("x-stainless_retry")


def test_header_a_secrets_owner_declared_passes_with_that_secret() -> None:
    assert of_secret(("X-Shard",)).passes("x-shard")
    assert not of_secret(()).passes("x-shard")
    assert of_secret(()).passes("content-type") and OF_GIT.passes("git-protocol")
    assert may_be_declared("X-Shard")
