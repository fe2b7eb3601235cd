from typing import Any

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.overview.usage import DoorCounts
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.snapshot import WorkerUsage, usage_of
from atoll.wire.words.workers import LARGEST_ARTIFACT

GOOD: dict[str, Any] = {
    "name": "a.tar.gz",
    "type": "application/gzip",
    "size": 7,
    "sha256": "a" * 64,
}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"name": "dist/a..b .txt"},
        {"size": 0},
        {"size": LARGEST_ARTIFACT},
        {"type": "a/b+c.d-e"},
    ],
)
def test_artifact_is_a_name_a_type_a_size_and_a_digest(more: dict[str, Any]) -> None:
    assert WorkerArtifact(**{**GOOD, **more}).sha256 == "a" * 64


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("name", value) for value in ("", "x" * 256, "a\nb", "a\x1b[2J", "a\u202eb")),
        *(("name", value) for value in ("../x", "a/../b", "a\\..", ".", "/etc/passwd", "a/.")),
        *(("type", value) for value in ("", "text", "text/", "/x", "Text/Plain", "a/b\n", "a/b;c")),
        *(("size", value) for value in (-1, LARGEST_ARTIFACT + 1)),
        *(("sha256", value) for value in ("", "A" * 64, "a" * 63, "a" * 64 + "\n", "g" * 64)),
    ],
)
def test_wrong_artifact_names_its_field(field: str, value: object) -> None:
    with pytest.raises(Invalid) as found:
        WorkerArtifact(**{**GOOD, field: value})
    assert found.value.field == field


def test_usage_is_what_the_broker_counts() -> None:
    counts = DoorCounts(requests=9, tokens_in=50, tokens_out=6, calls=4, tokens_cached=70)
    assert usage_of(counts) == WorkerUsage(4, 50, 6, 50)
