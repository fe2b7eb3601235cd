"""Artifacts: files that an execution made, as a trusted service reports them. None is kept here."""

import re
from dataclasses import dataclass

from atoll.domain.errors import Invalid
from atoll.domain.unseen import is_unseen
from atoll.wire.words.workers import LARGEST_ARTIFACT, LONGEST_ARTIFACT_NAME

_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\Z")
_PARTS = re.compile(r"[/\\]")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class WorkerArtifact:
    """An artifact: its name, its media type, its size in bytes, and its SHA-256 in hexadecimal.
    Raises `Invalid`."""

    name: str
    type: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        if not 1 <= len(self.name) <= LONGEST_ARTIFACT_NAME or any(map(is_unseen, self.name)):
            raise Invalid(
                f"a name has 1 to {LONGEST_ARTIFACT_NAME} characters that can be seen", field="name"
            )
        if self.name.startswith("/") or not {".", ".."}.isdisjoint(_PARTS.split(self.name)):
            raise Invalid("a name is no path that leads elsewhere, such as ../x", field="name")
        if not _TYPE.match(self.type):
            raise Invalid("a type is a media type, such as text/plain", field="type")
        if not 0 <= self.size <= LARGEST_ARTIFACT:
            raise Invalid(f"a size is 0 to {LARGEST_ARTIFACT} bytes", field="size")
        if not _SHA256.match(self.sha256):
            raise Invalid("a sha256 is 64 hexadecimal digits, in lower case", field="sha256")
