"""Addresses of issues, the words of their tasks, and the text that answers them."""

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.repository.forge import ForgeRepository, PullRequest
from atoll.domain.repository.issue import (
    MAX_TASK_TEXT,
    ForgeIssue,
    IssueAddress,
    branch_of_issue,
    read_issue_address,
    state_of_issue,
    task_of_issue,
    with_answer,
)
from atoll.wire.words.forges import MAX_TEXT, MAX_TITLE, ForgeKind, IssueKind, PullState
from atoll.wire.words.sandboxes import MAX_TASK_PROMPT

HUB = "https://github.com/o/r"
AT = ForgeRepository(ForgeKind.GITHUB, "https://github.com", "o", "r")
ADDRESS = IssueAddress(HUB, "issues", 12)
ISSUE = ForgeIssue(12, "Fix the parser", "It reads two spaces.", open=True)
PULL = PullRequest(12, "Fix", PullState.MERGED, False, "fix", "main", "a" * 40)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (f"{HUB}/issues/12", ADDRESS),
        (f" {HUB}/issues/12/ ", ADDRESS),
        (f"{HUB}/issues/12?x=1#issuecomment-5", ADDRESS),
        (f"{HUB}/pull/7/files#diff-1", IssueAddress(HUB, "pull", 7)),
        (
            "https://Git.Example.com:3000/code/o/r.git/pulls/7",
            IssueAddress("https://git.example.com:3000/code/o/r", "pulls", 7),
        ),
        (
            "https://git.example/issues/issues/issues/3",
            IssueAddress("https://git.example/issues/issues", "issues", 3),
        ),
    ],
)
def test_address_names_a_repository_and_a_number(text: str, address: IssueAddress) -> None:
    assert read_issue_address(text) == address
    assert read_issue_address(address.url) == address
    kind = IssueKind.ISSUE if address.word == "issues" else IssueKind.PULL
    assert address.kind is kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        HUB,
        f"{HUB}/issues",
        f"{HUB}/issues/0",
        f"{HUB}/issues/x",
        f"{HUB}/issues/9999999999",
        f"{HUB}/commits/12",
        "http://github.com/o/r/issues/12",
        "https://me:secret@github.com/o/r/issues/12",
        "https://[::1/o/r/issues/12",
        "https://github.com/../r/issues/12",
        f"{HUB}/issues/12\x1b[2J" + "x" * 600,
        "https://github.com/" + "o" * 600 + "/r/issues/12",
    ],
)
def test_text_that_is_no_address_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_issue_address(text)
    assert refused.value.field == "address"
    assert "issues/NUMBER" in refused.value.message and refused.value.message.isprintable()


def test_branch_has_words_of_the_title_and_the_number() -> None:
    assert branch_of_issue(ISSUE) == "fix-parser-12"
    assert branch_of_issue(ForgeIssue(3, "", "", open=True)) == "issue-3"


def test_task_has_title_text_and_where_they_are_from() -> None:
    words = task_of_issue(ADDRESS, ISSUE, None).split("\n\n")
    assert words[:2] == ["Fix the parser", "It reads two spaces."]
    assert ADDRESS.url in words[2] and "by others" in words[2]
    assert "branch fix leads into main" in task_of_issue(ADDRESS, ISSUE, PULL)


def test_task_of_the_longest_issue_fits_a_prompt() -> None:
    longest = ForgeIssue(1, "😀" * MAX_TITLE, "😀" * MAX_TEXT, open=True)
    words = task_of_issue(ADDRESS, longest, None)
    assert len(words.encode()) < MAX_TASK_PROMPT
    assert f"{'😀' * 10}…" in words and words.count("😀") == MAX_TITLE + MAX_TASK_TEXT


def test_state_of_an_issue_is_open_or_closed_and_that_of_a_pull_its_own() -> None:
    assert state_of_issue(ISSUE, None) is PullState.OPEN
    assert state_of_issue(ForgeIssue(1, "", "", open=False), None) is PullState.CLOSED
    assert state_of_issue(ISSUE, PULL) is PullState.MERGED


@pytest.mark.parametrize(
    ("text", "repo_url", "whole"),
    [
        ("", HUB, "Closes #12"),
        ("It works.\n", HUB, "It works.\n\nCloses #12"),
        ("Fixes #12.", HUB, "Fixes #12."),
        ("fixes #123", HUB, "fixes #123\n\nCloses #12"),
        ("See #12", "https://github.com/O/R", "See #12\n\nCloses #12"),
        ("", "https://github.com/o/other", "Closes o/other#12"),
        ("", "https://git.example/o/r", "Closes https://git.example/o/r/issues/12"),
    ],
)
def test_text_of_a_pull_request_answers_its_issue_once(
    text: str, repo_url: str, whole: str
) -> None:
    address = IssueAddress(repo_url, "issues", 12)
    assert with_answer(text, address, AT) == whole
    assert with_answer(whole, address, AT) == whole
