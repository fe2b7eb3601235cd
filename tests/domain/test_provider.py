from dataclasses import replace

import pytest

from atoll.domain.agent import Agent, commands, layer_path
from atoll.domain.provider import (
    ANTHROPIC,
    GEMINI,
    OPENAI,
    Passage,
    Refusal,
    Upstream,
    judge,
    passes_back,
    placeholder,
    redirect_stays,
    safe_base_url,
)

KEY = "sk-canary-0123456789abcdef"
UPSTREAM = Upstream(OPENAI, "https://gateway.example/base/", KEY)


def ask(
    method: str = "POST",
    path: str = "/v1/responses",
    *,
    query: str = "",
    headers: tuple[tuple[str, str], ...] = (),
) -> Passage | Refusal:
    return judge(UPSTREAM, method, path, query=query, headers=headers)


def test_judge_inference_goes_to_the_base_url_with_the_real_key() -> None:
    passage = ask(query="a=1")
    assert isinstance(passage, Passage)
    assert passage.url == "https://gateway.example/base/v1/responses?a=1"
    assert ("Authorization", f"Bearer {KEY}") in passage.headers
    assert passage.rule == "responses"


def test_judge_anthropic_key_goes_in_its_own_header() -> None:
    upstream = Upstream(ANTHROPIC, ANTHROPIC.upstream, KEY)
    passage = judge(upstream, "POST", "/v1/messages", query="", headers=())
    assert isinstance(passage, Passage)
    assert ("x-api-key", KEY) in passage.headers


@pytest.mark.parametrize(
    "method_and_path",
    [
        "POST /v1beta/models/gemini-2.5-flash:generateContent",
        "POST /v1beta/models/gemini-2.5-flash:streamGenerateContent",
        "POST /v1beta/models/gemini-2.5-flash:countTokens",
        "GET /v1beta/models",
        "GET /v1beta/models/gemini-2.5-flash",
    ],
)
def test_judge_gemini_inference_goes_out_with_its_own_header(method_and_path: str) -> None:
    method, path = method_and_path.split()
    upstream = Upstream(GEMINI, GEMINI.upstream, KEY)
    headers = (("x-goog-api-key", placeholder(GEMINI)),)
    passage = judge(upstream, method, path, query="alt=sse", headers=headers)
    assert isinstance(passage, Passage)
    assert passage.url == f"{GEMINI.upstream}{path}?alt=sse"
    assert passage.headers == (("x-goog-api-key", KEY), ("Accept-Encoding", "identity"))


@pytest.mark.parametrize(
    "method_and_path",
    [
        "POST /v1beta/files",
        "POST /v1beta/cachedContents",
        "POST /v1beta/tunedModels/x:generateContent",
        "POST /v1beta/models/x/operations:generateContent",
        "POST /v1/models/x:generateContent",
        "GET /v1beta/models/x:generateContent",
        "POST /upload/v1beta/files",
    ],
)
def test_judge_gemini_anything_else_is_refused(method_and_path: str) -> None:
    method, path = method_and_path.split()
    verdict = judge(Upstream(GEMINI, GEMINI.upstream, KEY), method, path, query="", headers=())
    assert isinstance(verdict, Refusal)


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("key=own", ""),
        ("alt=sse&key=own", "alt=sse"),
        ("key=own&alt=sse", "alt=sse"),
        ("KEY=own&a=1&%6bey=own&b=2;access_token=own", "a=1&b=2"),
        ("monkey=1&b", "monkey=1&b"),
    ],
)
def test_judge_credentials_in_the_query_are_stripped(query: str, kept: str) -> None:
    passage = ask(query=query)
    assert isinstance(passage, Passage)
    assert passage.url.partition("?")[2] == kept


@pytest.mark.parametrize(
    "slot", ["Authorization", "X-API-Key", "api-key", "x-goog-api-key", "Cookie"]
)
def test_judge_client_credentials_in_any_slot_are_stripped(slot: str) -> None:
    passage = ask(headers=((slot, "attackers-own"), ("X-Keep", "1")))
    assert isinstance(passage, Passage)
    assert "attackers-own" not in str(passage.headers)
    assert ("X-Keep", "1") in passage.headers


def test_judge_hop_by_hop_and_named_by_connection_are_stripped() -> None:
    passage = ask(headers=(("Connection", "close, X-Hop"), ("X-Hop", "1"), ("TE", "trailers")))
    assert isinstance(passage, Passage)
    assert {name for name, _ in passage.headers} == {"Authorization", "Accept-Encoding"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/organization/api_keys"),
        ("POST", "/v1/files"),
        ("DELETE", "/v1/models/x"),
        ("POST", "/v1/responses/extra/deep"),
        ("HEAD", "/"),
    ],
)
def test_judge_anything_but_inference_is_refused(method: str, path: str) -> None:
    verdict = ask(method, path)
    assert isinstance(verdict, Refusal)
    assert (verdict.status, verdict.error) == (403, "not_allowed")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../admin",
        "/v1/./responses",
        "/v1/%2e%2e/admin",
        "/v1%2fresponses",
        "/v1/%00",
        "/v1/%252e",
        "/v1/a b",
        "/v1/\\x",
    ],
)
def test_judge_tricky_paths_are_refused(path: str) -> None:
    verdict = ask("POST", path)
    assert isinstance(verdict, Refusal)
    assert (verdict.status, verdict.error) == (400, "bad_path")


def test_judge_websocket_attempt_is_answered_cleanly() -> None:
    verdict = ask("GET", headers=(("Upgrade", "websocket"),))
    assert isinstance(verdict, Refusal)
    assert verdict.status == 426


def test_key_shows_in_no_representation() -> None:
    assert KEY not in repr(UPSTREAM)
    assert KEY not in repr(ask())


@pytest.mark.parametrize("name", ["Set-Cookie", "WWW-Authenticate", "Connection", "X-Named"])
def test_passes_back_withholds_what_is_not_the_sandboxs(name: str) -> None:
    assert not passes_back(name, "close, x-named")


def test_passes_back_lets_content_type_through() -> None:
    assert passes_back("Content-Type")


@pytest.mark.parametrize(
    ("location", "stays"),
    [
        ("/v1/other", True),
        ("https://a.example/x", True),
        ("https://A.EXAMPLE/x", True),
        ("https://b.example/x", False),
        ("http://a.example/x", False),
        ("//b.example/x", False),
        ("\\\\b.example", False),
        ("https://a.example:444/", False),
    ],
)
def test_redirect_stays_only_on_the_same_origin(location: str, stays: bool) -> None:
    assert redirect_stays("https://a.example", location) is stays


def test_placeholder_names_its_provider() -> None:
    assert "openai" in placeholder(OPENAI)


def test_agent_answers_to_its_aliases() -> None:
    agent = Agent("claude-code", "claude", ("claude",), ("claude", "-p"), aliases=("claude",))
    assert [c.name for c in commands((agent,))] == ["claude-code", "claude"]
    assert layer_path(replace(agent, name="x")) == "/opt/atoll/agents/x"


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
