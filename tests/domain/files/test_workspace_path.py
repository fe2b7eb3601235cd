"""Paths as hostile clients name them."""

import posixpath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.files.workspace_path import (
    MAX_PATH_BYTES,
    named_path,
    named_place,
    workspace_path,
)

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


HOME = "/home/agent"


@pytest.mark.parametrize(
    ("text", "home", "place"),
    [
        ("a/s", HOME, ("/workspace", "a/s")),
        ("/workspace/a/s", HOME, ("/workspace", "a/s")),
        ("/home/agent/.x/./s", HOME, ("/home/agent", ".x/s")),
        ("/workspace/home/s", "/workspace/home", ("/workspace/home", "s")),
        ("@abstract", HOME, ("/workspace", "@abstract")),
    ],
)
def test_place_lies_in_the_workspace_or_at_home(
    text: str, home: str, place: tuple[str, str]
) -> None:
    assert named_place(text, home) == place


@pytest.mark.parametrize(
    ("text", "home"),
    [
        ("", HOME),
        (".", HOME),
        ("/", HOME),
        ("/workspace", HOME),
        ("/workspace/", HOME),
        ("/home/agent", HOME),
        ("/home/agent/", HOME),
        ("/home/agentx/s", HOME),
        ("/home/agent/../x", HOME),
        ("/home/agent//s", HOME),
        ("../s", HOME),
        ("a/%2e%2e/s", HOME),
        ("\0abstract", HOME),
        ("/workspace/\0", HOME),
        ("/run/s", HOME),
        ("/run/s", "/"),
        ("//run/s", "/"),
        ("/run/s", ""),
        ("/run/s", "run"),
        ("/run/s", "/home/.."),
        ("/home/../s", "/home/.."),
        ("/run/s", "/./run"),
        ("/home/s", "/home/"),
        ("/workspace/" + "n" * 256, HOME),
    ],
)
def test_place_elsewhere_is_refused(text: str, home: str) -> None:
    with pytest.raises(Invalid) as refused:
        named_place(text, home)
    assert refused.value.code == "invalid_path"
