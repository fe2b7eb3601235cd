"""What runs inside reads its own sandbox at the door, and nothing else passes."""

import pytest

from atoll.domain.broker.control_plane import CONTROL_PLANE, TOOLS, judge_api, judge_tools
from atoll.domain.broker.passage import IncomingRequest, Passage, Refusal
from atoll.domain.broker.provider import PROVIDERS, Upstream

API = Upstream(CONTROL_PLANE, "http://127.0.0.1:7680", "tok.en.x")
MCP = Upstream(TOOLS, "http://127.0.0.1:7680", "tok.en.x")


def test_reading_path_passes_with_the_token_and_without_the_clients_own() -> None:
    headers = (("Authorization", "Bearer mine"), ("Cookie", "atoll_session=x"), ("Accept", "*/*"))
    for path in ("/v1/me", "/v1/sandboxes/sb_1", "/v1/sandboxes/sb_1/files/content"):
        passage = judge_api(API, IncomingRequest("GET", path, "path=a&token=mine", headers))
        assert isinstance(passage, Passage)
        assert passage.target == f"{path}?path=a" and passage.origin.port == 7680
        assert ("Authorization", "Bearer tok.en.x") in passage.headers
        assert "mine" not in str(passage.headers) and "atoll_session" not in str(passage.headers)
        assert passage.masks == ("tok.en.x",) and passage.door == "/atoll"


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/sandboxes"), ("DELETE", "/v1/sandboxes/sb_1"), ("GET", "/v1/sandboxes"),
     ("GET", "/v1/tokens"), ("POST", "/auth/pat"), ("POST", "/auth/token"), ("GET", "/v1/events"),
     ("GET", "/v1/approvals"), ("GET", "/v1/sandboxes/sb_1/shares"), ("PATCH", "/v1/me"),
     ("GET", "/v1/sandboxes/sb_1/terminals/t_1/attach"), ("GET", "/v1/secrets"), ("GET", "/"),
     ("HEAD", "/v1/me"), ("GET", "/v1/me/"), ("GET", ""), ("GET", "/v1/sandboxes/../tokens"),
     ("GET", "/v1/sandboxes/sb_1%2f..%2ftokens"), ("GET", "//evil.example/v1/me"),
     ("GET", "/v1/sandboxes/sb_1/files/../../../tokens"), ("POST", "/internal/events"),
     ("POST", "/internal/executions/w/artifacts"), ("POST", "/internal/v1/codex/workers")],
)  # fmt: skip
def test_everything_else_is_refused(method: str, path: str) -> None:
    refusal = judge_api(API, IncomingRequest(method, path))
    assert isinstance(refusal, Refusal) and refusal.status in {400, 403}


def test_websocket_is_refused() -> None:
    headers = (("Upgrade", "websocket"), ("Connection", "Upgrade"))
    refusal = judge_api(API, IncomingRequest("GET", "/v1/me", headers=headers))
    assert isinstance(refusal, Refusal) and refusal.status == 403


def test_no_persons_secret_can_be_its_key() -> None:
    assert CONTROL_PLANE.name not in PROVIDERS


def test_tools_pass_by_three_methods_with_the_headers_of_the_protocol() -> None:
    headers = (("Authorization", "Bearer mine"), ("Mcp-Session-Id", "s"), ("Last-Event-ID", "7"),
               ("Mcp-Method", "tools/call"), ("Origin", "http://evil.example"))  # fmt: skip
    for method in ("POST", "GET", "DELETE"):
        for query in ("", "names=flat"):
            passage = judge_tools(MCP, IncomingRequest(method, "/mcp", query, headers))
            assert isinstance(passage, Passage)
            assert passage.target == ("/mcp?names=flat" if query else "/mcp")
            names = {name for name, _ in passage.headers}
            assert names == {"Host", "Authorization", "Accept-Encoding", "Mcp-Session-Id",
                             "Last-Event-ID", "Mcp-Method"}  # fmt: skip
            assert ("Authorization", "Bearer tok.en.x") in passage.headers
            assert passage.masks == ("tok.en.x",)


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [("PUT", "/mcp", ""), ("HEAD", "/mcp", ""), ("POST", "/mcp/", ""), ("POST", "/v1/me", ""),
     ("POST", "/mcp", "names=plain"), ("GET", "/mcp", "names=flat&token=x"), ("GET", "/mcp", "?")],
)  # fmt: skip
def test_nothing_else_of_tools_passes(method: str, path: str, query: str) -> None:
    refusal = judge_tools(MCP, IncomingRequest(method, path, query))
    assert isinstance(refusal, Refusal) and refusal.status in {400, 403}
    assert "/mcp" in refusal.message and TOOLS.name not in PROVIDERS
