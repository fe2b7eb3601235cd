import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.sandboxes.image import (
    HUB,
    hex_of,
    is_tree_name,
    read_reference,
    read_tree_name,
    tells_absent_image,
)

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("debian", f"{HUB}/library/debian:latest"),
        ("debian:12", f"{HUB}/library/debian:12"),
        ("docker.io/team/x", f"{HUB}/team/x:latest"),
        ("ghcr.io/o/r/x:1.2", "ghcr.io/o/r/x:1.2"),
        ("localhost:5000/x", "localhost:5000/x:latest"),
        ("127.0.0.1:5000/a/b:t", "127.0.0.1:5000/a/b:t"),
        ("Intern/x", "Intern/x:latest"),
        (f"ghcr.io/o/x:1@{DIGEST}", f"ghcr.io/o/x@{DIGEST}"),
    ],
)
def test_reference_has_one_spelling(text: str, spelled: str) -> None:
    assert str(read_reference(text)) == spelled


def test_registry_is_asked_for_the_digest_where_one_is_given() -> None:
    assert read_reference(f"debian:12@{DIGEST}").wanted == DIGEST
    assert read_reference("debian:12").wanted == "12"


@pytest.mark.parametrize(
    "text",
    ["", "A", "x/../y", "../x", "/x", "x:", "x@sha256:1", "http://x/y", "x y", "x\n", "u:p@h/x",
     "a//b", "x:" + "t" * 200, "h:99999999/x", "x" * 256, "-x", "x/", "é"],
)  # fmt: skip
def test_reference_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_reference(text)


@given(st.text(max_size=60))
def test_reference_of_any_text_leads_nowhere_else(text: str) -> None:
    try:
        found = read_reference(text)
    except Invalid:
        return
    assert ".." not in found.repository
    assert not set(found.registry + found.repository + found.wanted) & set(" ?#%\\\n\0")


def test_tree_names_are_plain_and_none_of_ours() -> None:
    assert read_tree_name("debian-12.5") == "debian-12.5"
    for text in ("host", "oci", "", ".x", "a/b", "a..b", "X", "a" * 64, "a\n"):
        assert not is_tree_name(text)
        with pytest.raises(Invalid):
            read_tree_name(text)


def test_digest_of_another_kind_is_refused() -> None:
    assert hex_of(DIGEST) == "a" * 64
    for text in ("sha512:" + "a" * 128, "sha256:" + "A" * 64, "sha256:../x", ""):
        with pytest.raises(Invalid):
            hex_of(text)


@pytest.mark.parametrize(
    ("message", "absent"),
    [
        ("manifest for 127.0.0.1:5/x:latest not found: manifest unknown: manifest unknown", True),
        ("manifest unknown", True),
        ("pull access denied for x, repository does not exist or may require 'docker login'", True),
        ("denied: requested access to the resource is denied", True),
        ('failed to resolve reference "docker.io/library/x:1": not found', True),
        ("unauthorized: authentication required", True),
        ('error parsing HTTP 404 response body: unexpected end of JSON input: ""', True),
        ("dial tcp: lookup registry.example.com: no such host", False),
        ("connection refused", False),
        ("failed to register layer: no space left on device", False),
        ("received unexpected HTTP status: 503 Service Unavailable", False),
        ("container not found", False),
    ],
)
def test_absent_image_is_told_from_a_registry_that_could_not_be_asked(
    message: str, absent: bool
) -> None:
    assert tells_absent_image(f"the Docker daemon says: {message}") is absent
