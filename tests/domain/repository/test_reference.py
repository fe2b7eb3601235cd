"""References to repositories and their files, in every spelling, and the hostile ones."""

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.repository.reference import (
    FileRef,
    RepositoryRef,
    read_file_ref,
    read_repository_ref,
)

KEY = "0123456789abcdef"
FIELD = "inputs.repo_ref"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("o/r", RepositoryRef("o/r")),
        ("o/r@main", RepositoryRef("o/r", "main")),
        ("o/r@feature/a@b", RepositoryRef("o/r", "feature/a@b")),
        ("https://a.example/o/r.git@v1.2", RepositoryRef("https://a.example/o/r.git", "v1.2")),
        ("http://127.0.0.1:81/o/r@x", RepositoryRef("http://127.0.0.1:81/o/r", "x")),
        ("ssh://git@a.example/o/r@x", RepositoryRef("ssh://git@a.example/o/r", "x")),
        ("git@a.example:o/r", RepositoryRef("git@a.example:o/r")),
        ("git@a.example:o/r@x", RepositoryRef("git@a.example:o/r", "x")),
        (f"upload:{KEY}", RepositoryRef("", None, KEY)),
        (f"upload:{KEY}@x", RepositoryRef("", "x", KEY)),
        ("ext::sh", RepositoryRef("ext::sh")),
        ("no-slash@x", RepositoryRef("no-slash@x")),
    ],
)
def test_repository_is_read_with_its_branch_or_tag(text: str, expected: RepositoryRef) -> None:
    assert read_repository_ref(text, field=FIELD) == expected
    assert read_file_ref(text, field=FIELD) is None


@pytest.mark.parametrize(
    "text",
    [
        *("o/r@", "o/r@--upload-pack=touch", "o/r@-x", "o/r@a..b", "o/r@../../x", "o/r@a b"),
        *("o/r@a\0b", "o/r@a\nb", "o/r@HEAD", "o/r@@{1}", "o/r@x.lock", "o/r@a~1", "o/r@*"),
        *("o/r@" + "x" * 300, "o/r:a.md", "o/r@x:a.md", "upload:", "upload:../x", "upload:--x"),
        *(f"upload:{KEY}/..", f"upload:{KEY.upper()}", f"upload:{KEY}@--x"),
    ],
)
def test_repository_that_cannot_be_one_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_repository_ref(text, field=FIELD)
    assert refused.value.field == FIELD


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("o/r:a.md", FileRef(RepositoryRef("o/r"), "a.md")),
        ("o/r@v1:docs/a.md", FileRef(RepositoryRef("o/r", "v1"), "docs/a.md")),
        ("o/r@v1:/docs/a:b.md", FileRef(RepositoryRef("o/r", "v1"), "docs/a:b.md")),
        (
            "https://a.example:8443/o/r@v1:a.md",
            FileRef(RepositoryRef("https://a.example:8443/o/r", "v1"), "a.md"),
        ),
        ("git@a.example:o/r:a.md", FileRef(RepositoryRef("git@a.example:o/r"), "a.md")),
        (f"upload:{KEY}@x:a.md", FileRef(RepositoryRef("", "x", KEY), "a.md")),
    ],
)
def test_file_is_read_with_its_repository(text: str, expected: FileRef) -> None:
    assert read_file_ref(text, field=FIELD) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("o/r:", "o/r:..", "o/r:../a", "o/r:a/../../b", "o/r:%2e%2e/a", "o/r:a\0b", "o/r:/"),
        *("o/r:///etc/passwd", "o/r@--x:a", "o/r@:a", "upload:x:a", "o/r:" + "a" * 300),
    ],
)
def test_file_that_cannot_be_one_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_file_ref(text, field=FIELD)
    assert refused.value.field == FIELD


@pytest.mark.parametrize("text", ["a.md", "/etc/passwd", "s3://bucket/x", "--x", ""])
def test_what_names_no_file_of_a_repository_is_none(text: str) -> None:
    assert read_file_ref(text, field=FIELD) is None
