import pytest

from atoll.domain.broker.provider import (
    ANTHROPIC,
    MISTRAL,
    OPENAI,
    PROVIDERS,
    Upstream,
    broker_environment,
    placeholder,
    safe_base_url,
)

KEY = "sk-canary-0123456789abcdef"


def test_providers_are_the_thirteen_by_their_path_names() -> None:
    assert len(PROVIDERS) == 13
    assert all(one.upstream.startswith("https://") and one.key_env for one in PROVIDERS.values())


def test_broker_environment_is_what_the_vendors_sdk_reads() -> None:
    assert broker_environment(OPENAI, "http://b") == (
        ("OPENAI_API_KEY", placeholder(OPENAI)),
        ("OPENAI_BASE_URL", "http://b/openai/v1"),
    )
    assert broker_environment(MISTRAL, "http://b") == (("MISTRAL_API_KEY", placeholder(MISTRAL)),)


def test_key_shows_in_no_representation() -> None:
    assert KEY not in repr(Upstream(ANTHROPIC, ANTHROPIC.upstream, KEY))


def test_placeholder_names_its_provider() -> None:
    assert "openai" in placeholder(OPENAI)


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://gateway.example/base", True),
        ("http://127.0.0.1:9", True),
        ("http://[::1]:9", True),
        ("http://gateway.example", False),
        ("https://u:p@gateway.example", False),
        ("https://gateway.example?q", False),
        ("https://gateway.example:99999", False),
        ("https://", False),
        ("ftp://gateway.example", False),
    ],
)
def test_safe_base_url_never_sends_a_key_in_the_clear(url: str, safe: bool) -> None:
    assert safe_base_url(url) is safe
