import pytest

from atoll.domain.compose.reading import UPLOAD_FIELD, check_upload
from atoll.domain.errors import Invalid
from atoll.domain.profile.yaml_tree import MAX_BYTES

LONGEST = "services: {web: {image: nginx}}\n".ljust(MAX_BYTES, "#")
HOSTILE = """services:
  web:
    image: nginx
    privileged: true
"""


@pytest.mark.parametrize("text", [None, "services: {web: {image: nginx}}", LONGEST])
def test_file_of_its_size_is_taken(text: str | None) -> None:
    check_upload(text, ref=None)


@pytest.mark.parametrize("text", ["", " \n", "a\0b", "x" * (MAX_BYTES + 1), "é" * MAX_BYTES])
def test_what_is_no_text_of_its_size_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_upload(text, ref=None)
    assert refused.value.field == UPLOAD_FIELD


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HOSTILE, r"Line 4.*privileged.*root on the host"),
        ("services: [", r"not YAML"),
        ("version: '3'", r"services"),
        ("services: {web: {image: nginx, networks: [far]}}", r"far"),
    ],
)
def test_what_no_backend_would_run_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(Invalid, match=f"(?s)the compose file cannot be used: .*{told}") as refused:
        check_upload(text, ref=None)
    assert refused.value.field == UPLOAD_FIELD


def test_file_beside_a_reference_is_refused() -> None:
    with pytest.raises(Invalid, match="not both"):
        check_upload("b", ref="repo:a")
