import pytest

from atoll.domain.broker.passage import IncomingRequest, Passage, Refusal
from atoll.domain.repository.git_remote import (
    ZERO,
    BrokerRemote,
    git_environment,
    holdable,
    judge_git,
    judge_update,
    read_remote,
)

URL = "https://Git.example/o/r.git"
REMOTE = read_remote(URL, "token-123", ("agent/*", "refs/tags/v1"))
SHA = "a" * 40


def ask(method: str, path: str, query: str = "", remote: BrokerRemote = REMOTE) -> object:
    return judge_git((remote,), IncomingRequest(method, path, query, (("Authorization", "own"),)))


@pytest.mark.parametrize("spelling", ["o/r", "o/r.git"])
@pytest.mark.parametrize(
    ("method", "rest", "query", "rule"),
    [
        ("GET", "info/refs", "service=git-upload-pack", "git-fetch"),
        ("GET", "info/refs", "service=git-receive-pack", "git-push"),
        ("POST", "git-upload-pack", "", "git-fetch"),
        ("POST", "git-receive-pack", "", "git-push"),
    ],
)
def test_git_smart_http_passes_with_the_token(
    spelling: str, method: str, rest: str, query: str, rule: str
) -> None:
    verdict = ask(method, f"/git.example/{spelling}/{rest}", query)
    assert isinstance(verdict, tuple)
    remote, passage = verdict
    assert remote is REMOTE and isinstance(passage, Passage)
    assert passage.rule == rule and passage.origin.judged
    assert passage.target == f"/{spelling}/{rest}" + (f"?{query}" if query else "")
    assert ("Authorization", "Basic eC1hY2Nlc3MtdG9rZW46dG9rZW4tMTIz") in passage.headers
    assert "own" not in str(passage.headers)


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "/git.example/o/r/info/refs", ""),
        ("GET", "/git.example/o/r/info/refs", "service=git-upload-pack&x=1"),
        ("GET", "/git.example/o/r/HEAD", ""),
        ("POST", "/git.example/o/r/git-upload-pack", "x=1"),
        ("GET", "/git.example/o/r/git-receive-pack", ""),
        ("GET", "/git.example/o/r2/info/refs", "service=git-upload-pack"),
        ("GET", "/evil.example/o/r/info/refs", "service=git-upload-pack"),
        ("POST", "/git.example/o/r/git-receive-pack/x", ""),
        ("GET", "/git.example", ""),
    ],
)
def test_git_anything_else_is_not_there(method: str, path: str, query: str) -> None:
    verdict = ask(method, path, query)
    assert isinstance(verdict, Refusal)
    assert (verdict.status, verdict.error) == (404, "unknown_remote")


def test_git_tricky_path_is_refused() -> None:
    verdict = ask("GET", "/git.example/o/../r/info/refs", "service=git-upload-pack")
    assert isinstance(verdict, Refusal) and verdict.status == 400


def test_git_push_without_patterns_is_refused() -> None:
    remote = read_remote(URL, "t", ())
    verdict = ask("POST", "/git.example/o/r/git-receive-pack", remote=remote)
    assert isinstance(verdict, Refusal) and verdict.error == "push_not_allowed"


@pytest.mark.parametrize(
    ("ref", "new", "allowed"),
    [
        ("refs/heads/agent/x", SHA, True),
        ("refs/heads/agent/x/y", SHA, True),
        ("refs/tags/v1", SHA, True),
        ("refs/heads/agent/x", ZERO, False),
        ("refs/heads/main", SHA, False),
        ("refs/heads/agentx", SHA, False),
        ("refs/tags/v10", SHA, False),
        ("refs/heads/agent/../main", SHA, False),
        ("refs/heads/agent/x.lock", SHA, False),
        ("HEAD", SHA, False),
        ("refs/heads/agent/a\x1bb", SHA, False),
    ],
)
def test_git_update_is_allowed_by_pattern_only(ref: str, new: str, allowed: bool) -> None:
    assert (judge_update(REMOTE, SHA, new, ref) is None) is allowed


@pytest.mark.parametrize(
    "url", ["https://h", "https://h/.git", "https://h/a?b", "ssh://h/a", "h/a"]
)
def test_git_remote_that_is_no_https_repository_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        read_remote(url, "t", ())


def test_git_environment_turns_every_spelling_to_the_door() -> None:
    pairs = dict(git_environment((URL,), "http://127.0.0.1:8082/git"))
    assert pairs["GIT_CONFIG_COUNT"] == "3"
    assert pairs["GIT_CONFIG_KEY_0"] == "url.http://127.0.0.1:8082/git/git.example/o/r.insteadOf"
    assert [pairs[f"GIT_CONFIG_VALUE_{n}"] for n in range(3)] == [
        "https://git.example/o/r",
        "git@git.example:o/r",
        "ssh://git@git.example/o/r",
    ]
    assert git_environment((), "http://x") == ()


def test_git_environment_turns_pushes_to_the_door_only_where_they_are_allowed() -> None:
    pairs = dict(git_environment((URL,), "http://127.0.0.1:8082/git", pushed=(URL,)))
    assert pairs["GIT_CONFIG_COUNT"] == "6"
    assert pairs["GIT_CONFIG_KEY_3"].endswith("/git.example/o/r.pushInsteadOf")
    assert pairs["GIT_CONFIG_VALUE_3"] == "https://git.example/o/r"


def test_branch_may_be_held_and_neither_a_tag_nor_a_deletion() -> None:
    assert holdable("b" * 40, "refs/heads/fix/x")
    assert not holdable("b" * 40, "refs/tags/v1") and not holdable("0" * 40, "refs/heads/fix")
    assert not holdable("b" * 40, "refs/heads/a\nb")
