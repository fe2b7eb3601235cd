"""Paths as hostile clients name them."""

import posixpath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.files.workspace_path import MAX_PATH_BYTES, named_path, workspace_path

PART = st.sampled_from(
    ["..", ".", "", "a", "b c", "%2e%2e", "%252e", "..\\x", "\udcff", "/workspace", "é", "…"]
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", ""),
        (".", ""),
        ("/workspace", ""),
        ("/workspace/", ""),
        ("a", "a"),
        ("a/b/", "a/b"),
        ("./a/./b", "a/b"),
        ("/workspace/a/b", "a/b"),
        ("-rf", "-rf"),
        ("...", "..."),
        ("a..b", "a..b"),
        ("100%", "100%"),
        ("back\\slash", "back\\slash"),
        ("\udcff", "\udcff"),
        ("a\nb\x1b[0m", "a\nb\x1b[0m"),
    ],
)
def test_path_within_the_workspace_is_made_relative(text: str, path: str) -> None:
    assert workspace_path(text) == path


@pytest.mark.parametrize(
    "text",
    [
        "../../etc/passwd",
        "%2e%2e%2f",
        "%252e%252e%252f",
        "....//",
        "a/../../x",
        "a/..",
        "/etc/passwd",
        "/workspacex",
        "/",
        "x\0.txt",
        "..\\..\\x",
        "a//b",
        "//",
        "/workspace//a",
        "x" * 256,
        "a/" * MAX_PATH_BYTES,
        "\ud800",
    ],
)
def test_path_that_could_lead_elsewhere_is_refused_with_its_field(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        workspace_path(text, field="from")
    assert (refused.value.code, refused.value.field) == ("invalid_path", "from")


@given(st.lists(PART).map("/".join) | st.text())
@example("%25" * 50 + "2e.")
def test_path_of_any_text_stays_below_or_is_refused(text: str) -> None:
    try:
        path = workspace_path(text)
    except Invalid:
        return
    resolved = posixpath.normpath(posixpath.join("/workspace", path))
    assert resolved == "/workspace" or resolved.startswith("/workspace/")
    assert workspace_path(path) == path


def test_named_path_of_the_workspace_itself_is_refused() -> None:
    assert named_path("a") == "a"
    with pytest.raises(Invalid, match="name something"):
        named_path("/workspace")
