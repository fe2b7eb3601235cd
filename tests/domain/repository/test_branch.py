import time
from datetime import UTC, datetime

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.repository.branch import (
    branch_of_ref,
    branch_of_task,
    conflicting_branches,
    default_branch,
    read_branch,
    read_new_branch,
)

REFUSED = [
    "", "-x", "--upload-pack=x", "/x", "x/", "x.", "@", "HEAD", "a..b", "a//b", "a@{b", "a b",
    "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\b", ".a", "a/.b", "a.lock", "a.lock/b", "a\nb",
    "a\x7fb", "a\u202eb", "\ud800", "x" * 201,
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_branch_broken_rule_refused(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_branch(text, field="from_branch")
    assert caught.value.field == "from_branch"
    assert branch_of_ref(f"refs/heads/{text}") is None


@pytest.mark.parametrize("text", ["main", "fix/1", "a-b_c.d", "feature/ümlaut", "@x", "a@b"])
def test_branch_good_name_kept(text: str) -> None:
    assert read_branch(text) == text
    assert branch_of_ref(f"refs/heads/{text}") == text


@pytest.mark.parametrize(
    ("text", "advice"),
    [("refs/heads/x", "name it 'x'"), ("refs/tags/v1", "leave that out"), ("a b", "space")],
)
def test_new_branch_with_the_name_of_a_ref_is_refused(text: str, advice: str) -> None:
    with pytest.raises(Invalid, match=advice):
        read_new_branch(text)
    assert read_new_branch("reference/x") == "reference/x"


@pytest.mark.parametrize(
    ("name", "beside"),
    [("a", ["a/b"]), ("a/b", []), ("a/b/c", ["a/b"]), ("ab", []), ("x/y/z", ["x"]), ("c", [])],
)
def test_rivals_are_the_names_above_and_below(name: str, beside: list[str]) -> None:
    assert conflicting_branches({name}, ["a/b", "a2", "cd/e", "x"]) == beside


def test_branch_of_another_ref_is_none() -> None:
    assert branch_of_ref("refs/tags/v1") is None
    assert branch_of_ref("HEAD") is None


def test_default_branch_says_when() -> None:
    assert default_branch(datetime(2024, 1, 15, 14, 30, tzinfo=UTC)) == "sandbox-20240115-1430"


def test_task_of_marks_in_disorder_has_a_branch_in_a_moment() -> None:
    began = time.process_time()
    assert branch_of_task("\u0300\u0327" * 100_000).startswith("task-")
    assert time.process_time() - began < 0.1
