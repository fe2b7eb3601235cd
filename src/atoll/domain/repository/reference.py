"""References to repositories and their files, as consumers write them.

A repository is `owner/repo@REF`, an address with `@REF` behind it, or `upload:KEY@REF`; `REF` is a
branch or tag, and may be left out. A file of one has `:PATH` behind that. Text only: nothing here
asks whether it is there.
"""

import re
from dataclasses import dataclass
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.files.workspace_path import named_path
from atoll.domain.repository.branch import read_branch
from atoll.domain.repository.repository import is_local_key

UPLOAD: Final = "upload:"

UNRESOLVED: Final = "unresolved_reference"
"""The code of a refusal of a reference to what is not there."""

# The `@` and `:` of an address stand before its path; neither is in the path of a repository.
_PARTS = re.compile(
    rf"(?P<address>{UPLOAD}[^@:]*|[A-Za-z][A-Za-z0-9+.-]*://[^/]*/[^@:]*|[^/]*/[^@:]*)"
    r"(?:@(?P<ref>[^:]*))?(?::(?P<path>.*))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class RepositoryRef:
    """A named repository: its `address` as it was written, or the `key` of an upload. `ref` None
    is the branch that its remote names HEAD."""

    address: str
    ref: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class FileRef:
    """A file of a named repository, relative to its top."""

    repository: RepositoryRef
    path: str


def read_repository_ref(text: str, *, field: str) -> RepositoryRef:
    """Return the repository that a reference names; whether its address is one is judged by who
    reads it. Raises `Invalid` for a reference to a file, and for a `REF` or `KEY` that cannot be
    one."""
    parts = _PARTS.fullmatch(text)
    if parts is None:
        return RepositoryRef(text)
    if parts["path"] is not None:
        raise Invalid(f"{text[:80]!r} names a file: name the repository alone", field=field)
    return _repository(parts, field)


def read_file_ref(text: str, *, field: str) -> FileRef | None:
    """Return the file of a repository that a reference names, None for one that names none. Raises
    `Invalid` for a part of it that cannot be one."""
    parts = _PARTS.fullmatch(text)
    if parts is None or parts["path"] is None:
        return None
    path = named_path(parts["path"].removeprefix("/"), field=field)
    return FileRef(_repository(parts, field), path)


def _repository(parts: re.Match[str], field: str) -> RepositoryRef:
    address, ref = parts["address"], parts["ref"]
    ref = None if ref is None else read_branch(ref, field=field)
    if not address.startswith(UPLOAD):
        return RepositoryRef(address, ref)
    key = address.removeprefix(UPLOAD)
    if not is_local_key(key):
        raise Invalid(f"{key[:80]!r} is not the key of an uploaded repository", field=field)
    return RepositoryRef("", ref, key)
