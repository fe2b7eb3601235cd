import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.broker.passage import (
    DECIDING,
    BrokerSecret,
    Headers,
    IncomingRequest,
    Origin,
    Passage,
    Refusal,
    judge,
    judge_custom,
)
from atoll.domain.broker.provider import (
    ANTHROPIC,
    CHATGPT,
    CLAUDE,
    DEEPGRAM,
    GEMINI,
    OPENAI,
    PROVIDERS,
    Upstream,
)
from atoll.domain.network.address import PrivateReach
from atoll.domain.network.host import read_target

KEY = "sk-canary-0123456789abcdef"
UPSTREAM = Upstream(OPENAI, "https://gateway.example:8443/base/", KEY)
WEBSOCKET = (("Upgrade", "WebSocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "k"))


def ask(
    method: str = "POST", path: str = "/v1/responses", query: str = "", headers: Headers = ()
) -> Passage | Refusal:
    return judge(UPSTREAM, IncomingRequest(method, path, query, headers))


def passes(
    method: str = "POST", path: str = "/v1/responses", query: str = "", headers: Headers = ()
) -> Passage:
    verdict = ask(method, path, query, headers)
    assert isinstance(verdict, Passage), verdict
    return verdict


@pytest.mark.parametrize(
    ("upstream", "path", "credentials"),
    [
        (
            Upstream(CHATGPT, CHATGPT.upstream, KEY, "acct-1"),
            "/backend-api/codex/responses",
            (("Authorization", f"Bearer {KEY}"), ("chatgpt-account-id", "acct-1")),
        ),
        (
            Upstream(CHATGPT, CHATGPT.upstream, KEY),
            "/backend-api/codex/responses/compact",
            (("Authorization", f"Bearer {KEY}"),),
        ),
        (
            Upstream(CLAUDE, CLAUDE.upstream, KEY, "acct-1"),
            "/v1/messages",
            (("Authorization", f"Bearer {KEY}"),),
        ),
    ],
)
def test_judge_login_sends_its_token_and_account_and_none_of_the_clients(
    upstream: Upstream, path: str, credentials: Headers
) -> None:
    theirs = (("authorization", "Bearer x"), ("ChatGPT-Account-ID", "x"), ("x-api-key", "x"))
    verdict = judge(upstream, IncomingRequest("POST", path, "", theirs))
    assert isinstance(verdict, Passage) and verdict.masks == (KEY,)
    assert verdict.headers[1:-1] == credentials


def test_judge_inference_goes_to_the_base_url_with_the_real_key() -> None:
    passage = passes(query="a=1")
    assert passage.origin == Origin("https", "gateway.example", 8443)
    assert passage.target == "/base/v1/responses?a=1"
    assert passage.headers == (
        ("Host", "gateway.example:8443"),
        ("Authorization", f"Bearer {KEY}"),
        ("Accept-Encoding", "identity"),
    )
    assert (passage.rule, passage.masks, passage.websocket) == ("responses", (KEY,), False)
    assert KEY not in repr(passage)


def test_judge_gateway_of_somebodys_own_is_dialled_where_it_may_lead() -> None:
    theirs = Upstream(OPENAI, UPSTREAM.base_url, KEY, reach=PrivateReach(True, ("10.1.0.0/16",)))
    verdict = judge(theirs, IncomingRequest("POST", "/v1/responses"))
    assert isinstance(verdict, Passage)
    assert verdict.origin == Origin(
        "https", "gateway.example", 8443, judged=True, loopback=True, ranges=("10.1.0.0/16",)
    )


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS.keys())
def test_judge_every_vendors_key_goes_out_its_own_way(provider: object) -> None:
    upstream = Upstream(PROVIDERS[provider.name], provider.upstream, KEY)  # type: ignore[attr-defined]
    own = ((upstream.provider.header.upper(), "own"), ("Authorization", "own"))
    path = {
        "anthropic": "/v1/messages", "openai": "/v1/responses", "mistral": "/v1/ocr",
        "google": "/v1beta1/publishers/google/models/gemini-2.5-pro:generateContent",
        "gemini": "/v1beta/models/gemini-2.5-pro:generateContent", "cohere": "/v2/chat",
        "elevenlabs": "/v1/text-to-speech/v1/stream", "deepgram": "/v1/listen",
        "groq": "/openai/v1/chat/completions", "together": "/v1/chat/completions",
        "fireworks": "/inference/v1/chat/completions", "replicate": "/v1/models/o/n/predictions",
        "huggingface": "/hf-inference/models/o/n",
    }[upstream.provider.name]  # fmt: skip
    verdict = judge(upstream, IncomingRequest("POST", path, headers=own))
    assert isinstance(verdict, Passage)
    assert (upstream.provider.header, upstream.provider.scheme + KEY) in verdict.headers
    assert "own" not in str(verdict.headers)


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("key=own", ""),
        ("alt=sse&key=own", "alt=sse"),
        ("key=own&alt=sse", "alt=sse"),
        ("KEY=own&a=1&%6bey=own&b=2;access_token=own", "a=1&b=2"),
        ("monkey=1&b", "monkey=1&b"),
        ("xi-api-key=own&single_use_token=own", ""),
    ],
)
def test_judge_credentials_in_the_query_are_stripped(query: str, kept: str) -> None:
    assert passes(query=query).target.partition("?")[2] == kept


@pytest.mark.parametrize(
    "slot",
    ["Authorization", "X-API-Key", "api-key", "x-goog-api-key", "Cookie", "xi-api-key",
     "X-Auth-Token", "OpenAI-Organization", "Sec-WebSocket-Protocol"],
)  # fmt: skip
def test_judge_client_credentials_in_any_slot_are_stripped(slot: str) -> None:
    headers = passes(headers=((slot, "attackers-own"), ("X-Request-Id", "1"))).headers
    assert "attackers-own" not in str(headers)
    assert ("X-Request-Id", "1") in headers


def test_judge_hop_by_hop_and_named_by_connection_are_stripped() -> None:
    sent = (("Connection", "close, X-Hop"), ("X-Hop", "1"), ("TE", "trailers"), ("Host", "evil"))
    names = {name for name, _ in passes(headers=sent).headers}
    assert names == {"Host", "Authorization", "Accept-Encoding"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/organization/api_keys"),
        ("POST", "/v1/files"),
        ("POST", "/v1/realtime/client_secrets"),
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
    ("provider", "line"),
    [
        ("gemini", "POST /v1beta/files"),
        ("gemini", "POST /v1beta/cachedContents"),
        ("gemini", "POST /v1beta/tunedModels/x:generateContent"),
        ("gemini", "GET /v1beta/models/x:generateContent"),
        ("google", "GET /v1/projects/p/locations/l/models"),
        ("elevenlabs", "GET /v1/user"),
        ("elevenlabs", "POST /v1/voices/add"),
        ("elevenlabs", "POST /v1/single-use-token/realtime_scribe"),
        ("deepgram", "GET /v1/projects/p/keys"),
        ("deepgram", "POST /v1/auth/grant"),
        ("groq", "POST /openai/v1/files"),
        ("groq", "GET /openai/v1/batches"),
        ("together", "POST /v1/fine-tunes"),
        ("together", "GET /v1/files"),
        ("fireworks", "GET /v1/accounts/a/secrets"),
        ("mistral", "GET /v1/files"),
        ("mistral", "POST /v1/fine_tuning/jobs"),
        ("cohere", "POST /v1/check-api-key"),
        ("cohere", "GET /v1/datasets"),
        ("replicate", "GET /v1/account"),
        ("replicate", "GET /v1/predictions"),
        ("replicate", "POST /v1/files"),
        ("huggingface", "GET /api/whoami-v2"),
        ("anthropic", "GET /v1/organizations/api_keys"),
        ("anthropic", "GET /v1/messages/batches"),
    ],
)
def test_judge_accounts_keys_files_and_jobs_are_refused(provider: str, line: str) -> None:
    method, path = line.split()
    known = PROVIDERS[provider]
    verdict = judge(Upstream(known, known.upstream, KEY), IncomingRequest(method, path))
    assert isinstance(verdict, Refusal) and verdict.error == "not_allowed"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/../admin", "/v1/./responses", "/v1/%2e%2e/admin", "/v1%2fresponses", "/v1/%00",
        "/v1/%252e", "/v1/a b", "/v1/\\x",
    ],
)  # fmt: skip
def test_judge_tricky_paths_are_refused(path: str) -> None:
    verdict = ask("POST", path)
    assert isinstance(verdict, Refusal)
    assert (verdict.status, verdict.error) == (400, "bad_path")


def test_judge_websocket_where_there_is_none_is_answered_cleanly() -> None:
    verdict = ask("GET", headers=WEBSOCKET)
    assert isinstance(verdict, Refusal)
    assert (verdict.status, verdict.error) == (426, "websocket_not_offered")
    other = ask("POST", headers=(("Upgrade", "h2c"),))
    assert isinstance(other, Refusal) and other.error == "upgrade_not_offered"


def test_judge_websocket_loses_keys_in_subprotocols_and_extensions() -> None:
    sent = (
        *WEBSOCKET,
        ("Sec-WebSocket-Protocol", "realtime, openai-insecure-api-key.own"),
        ("Sec-WebSocket-Extensions", "permessage-deflate"),
    )
    passage = passes("GET", "/v1/realtime", "model=m", sent)
    assert passage.websocket and "own" not in str(passage.headers)
    assert passage.headers == (
        ("Host", "gateway.example:8443"),
        ("Authorization", f"Bearer {KEY}"),
        ("Accept-Encoding", "identity"),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Protocol", "realtime"),
        ("Sec-WebSocket-Key", "k"),
    )
    deepgram = judge(
        Upstream(DEEPGRAM, DEEPGRAM.upstream, KEY),
        IncomingRequest(
            "GET", "/v1/listen", "", (*WEBSOCKET, ("Sec-WebSocket-Protocol", "token, own"))
        ),
    )
    assert isinstance(deepgram, Passage)
    assert "Sec-WebSocket-Protocol" not in dict(deepgram.headers)


def test_judge_default_ports_follow_the_scheme() -> None:
    for url, port in (("http://127.0.0.1", 80), ("https://h.example", 443)):
        passage = judge(Upstream(ANTHROPIC, url, KEY), IncomingRequest("POST", "/v1/messages"))
        assert isinstance(passage, Passage) and passage.origin.port == port
    assert isinstance(
        judge(Upstream(GEMINI, GEMINI.upstream, KEY), IncomingRequest("GET", "/v1beta/models")),
        Passage,
    )


def custom(
    secret: BrokerSecret, url: str = "https://api.example/v1?a=1", **more: object
) -> Passage:
    incoming = IncomingRequest(
        "POST", "/broker/custom/S", "", (("Authorization", "own"), ("X-T", "own"))
    )
    verdict = judge_custom(secret, read_target(url), incoming, approved=True, dev=False)
    assert isinstance(verdict, Passage)
    return verdict


def test_judge_custom_is_sent_as_its_record_says() -> None:
    bearer = custom(BrokerSecret("S", "value-123"))
    assert ("Authorization", "Bearer value-123") in bearer.headers
    assert bearer.origin == Origin("https", "api.example", 443, judged=True, named=True)
    assert bearer.door == "/broker/custom/S?target=https://api.example"
    header = custom(BrokerSecret("S", "value-123", "header", "X-T"))
    assert [v for n, v in header.headers if n == "X-T"] == ["value-123"]
    query = custom(BrokerSecret("S", "v/1", "query", "a"))
    assert (query.target, query.masks) == ("/v1?a=v%2F1", ("v/1", "v%2F1"))
    assert custom(BrokerSecret("S", "v", "query", "k")).target == "/v1?a=1&k=v"
    basic = custom(BrokerSecret("S", "pass", "basic", "user"))
    assert ("Authorization", "Basic dXNlcjpwYXNz") in basic.headers
    assert basic.masks == ("pass", "dXNlcjpwYXNz")
    assert ("Authorization", "own") not in (*bearer.headers, *basic.headers)


def test_judge_custom_unapproved_says_exactly_what_the_contract_says() -> None:
    target = read_target("https://API.example.com/v1/chat")
    verdict = judge_custom(
        BrokerSecret("MY_API_KEY", "v"),
        target,
        IncomingRequest("POST", "/"),
        approved=False,
        dev=False,
    )
    assert isinstance(verdict, Refusal)
    assert (verdict.status, verdict.error, verdict.fields) == (
        403,
        "domain_not_approved",
        (("domain", "api.example.com"), ("secret", "MY_API_KEY")),
    )


@pytest.mark.parametrize(
    ("url", "incoming", "status"),
    [
        ("https://a.example/", IncomingRequest("GET", "/", "", WEBSOCKET), 405),
        ("https://a.example/", IncomingRequest("TRACE", "/"), 405),
        ("https://a.example/../x", IncomingRequest("GET", "/"), 400),
    ],
)
def test_judge_custom_odd_requests_are_refused(
    url: str, incoming: IncomingRequest, status: int
) -> None:
    verdict = judge_custom(
        BrokerSecret("S", "v"), read_target(url), incoming, approved=True, dev=False
    )
    assert isinstance(verdict, Refusal) and verdict.status == status


def test_judge_custom_plain_http_to_loopback_is_judged_as_such() -> None:
    target = read_target("http://127.0.0.1:9/x", dev=True)
    verdict = judge_custom(
        BrokerSecret("S", "v"), target, IncomingRequest("GET", "/"), approved=True, dev=True
    )
    assert isinstance(verdict, Passage)
    assert verdict.origin == Origin("http", "127.0.0.1", 9, judged=True, loopback=True, named=True)


NAMES = st.sampled_from(
    ["Connection", "upgrade", "X-A", "Openai-A", "x-request-id", "Cookie", "Expect", "Host", "TE",
     "Sec-WebSocket-Protocol", "Content-Length", "Accept"]
)  # fmt: skip
VALUES = st.sampled_from(["", "openai-a", "X-Request-Id, close", "websocket", "gzip", "1"])


@given(st.lists(st.tuples(NAMES, VALUES, VALUES), max_size=6))
def test_judge_looks_at_no_values_but_those_that_decide(rows: list[tuple[str, str, str]]) -> None:
    one = ask(headers=tuple((name, value) for name, value, _ in rows))
    changed = tuple(
        (name, value if name.lower() in DECIDING else other) for name, value, other in rows
    )
    two = ask(headers=changed)
    if isinstance(one, Refusal) or isinstance(two, Refusal):
        assert one == two
        return
    assert (one.target, one.rule, one.passed) == (two.target, two.rule, two.passed)
    count = len(two.headers) - len(two.passed)
    assert one.headers[:count] == two.headers[:count]
    assert two.headers[count:] == tuple(changed[at] for at in two.passed)
