from datetime import UTC, datetime

import pytest

from atoll.domain.repository.commits import (
    MAX_MESSAGE,
    MAX_PARENTS,
    MAX_REFS,
    MAX_WORDS,
    CommitRef,
    read_commit,
    read_history,
)
from atoll.wire.words.library import RefKind

MARK = "m" * 8
END = f"\0{MARK}\0"
A, B, C = "a" * 40, "b" * 40, "c" * 64


def commit(name: str = A, parents: str = B, at: str = "1000000000", subject: str = "s") -> str:
    return "\0".join((name, parents, "Ann", "a@example.org", at, subject, ""))


def output(*commits: str, refs: str = "", head: str = f"fix\0{A}\0{B}") -> bytes:
    return (head + END + refs + END + "".join(commits)).encode("utf-8", "surrogateescape")


def test_history_has_head_refs_and_commits() -> None:
    refs = f"{A}\0\0refs/heads/fix\0{B}\0{C}\0refs/tags/v1\0{A}\0\0refs/remotes/o/x\0"
    found = read_history(output(commit(), commit(C, f"{A} {B}"), refs=refs), MARK, 1)
    assert found is not None
    assert (found.branch, found.head, found.digest, found.more) == ("fix", A, B, True)
    assert found.refs == (
        CommitRef("fix", RefKind.BRANCH, A),
        CommitRef("v1", RefKind.TAG, C),
        CommitRef("o/x", RefKind.REMOTE, A),
    )
    (only,) = found.commits
    assert (only.commit, only.parents, only.author, only.email, only.subject) == (
        A,
        (B,),
        "Ann",
        "a@example.org",
        "s",
    )
    assert only.at == datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)


def test_history_of_nothing_is_empty() -> None:
    found = read_history(output(head="\0\0"), MARK, 5)
    assert found is not None
    assert (found.branch, found.head, found.digest, found.commits) == (None, None, "", ())


@pytest.mark.parametrize("out", [b"", b"x", b"fix" + END.encode() + END.encode()])
def test_output_of_no_script_of_ours_is_none(out: bytes) -> None:
    assert read_history(out, MARK, 5) is None


@pytest.mark.parametrize(
    "wrong", [{"name": "x"}, {"name": "A" * 40}, {"at": "-1"}, {"at": "9" * 16}, {"at": "²"}]
)
def test_commit_that_cannot_be_read_is_left_out(wrong: dict[str, str]) -> None:
    found = read_history(output(commit(**wrong), commit(B)), MARK, 5)
    assert found is not None and [one.commit for one in found.commits] == [B]


def test_texts_and_counts_of_a_history_are_bounded() -> None:
    refs = f"{A}\0\0refs/heads/{'x' * 999}\0" * (MAX_REFS + 5)
    refs = f"{A}\0\0refs/notes/x\0zz\0\0refs/tags/z\0{refs}"
    long = commit(parents=f"{B} " * 99 + "x", at="9" * 15, subject="\udcff" * 999)
    found = read_history(output(long, "cut\0", refs=refs), MARK, 5)
    assert found is not None
    assert len(found.refs) == MAX_REFS and len(found.refs[0].name) == MAX_WORDS
    (only,) = found.commits
    assert (len(only.parents), only.at.year) == (MAX_PARENTS, 9999)
    assert only.subject == "\ufffd" * MAX_WORDS


def test_commit_with_its_message_is_read_and_bounded() -> None:
    section = commit(subject="one\n\ntwo\n" + "x" * 99_999).removesuffix("\0").encode()
    found = read_commit(section)
    assert found is not None
    assert (found[0].subject, found[1][:9], len(found[1])) == ("one", "one\n\ntwo\n", MAX_MESSAGE)
    assert read_commit(b"x") is None
    assert read_commit(commit("x").encode()) is None
