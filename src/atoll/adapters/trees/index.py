"""The file that maps images to trees: `images/index.json`, written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from atoll.domain.errors import Failed
from atoll.wire.http.unreadable import UNREADABLE

MAX_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """The record of a tree: see `ports.images.Tree`."""

    digest: str | None = None
    bytes: int = 0
    files: int = 0
    env: tuple[tuple[str, str], ...] = ()
    left_out: int = 0


@dataclass(slots=True)
class Index:
    """The index: `names` are trees imported by name, `references` images by their one spelling."""

    names: dict[str, TreeRecord] = field(default_factory=dict)
    references: dict[str, TreeRecord] = field(default_factory=dict)


def read_index(folder: Path) -> Index:
    """Return the index of an images directory; an empty one where there is none. Raises
    `Failed`."""
    path = folder / "index.json"
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(MAX_BYTES), type=Index)
    except FileNotFoundError:
        return Index()
    except (OSError, *UNREADABLE) as err:
        raise Failed(f"{path} cannot be read: {err}") from err


@contextmanager
def edit_index(folder: Path) -> Iterator[Index]:
    """Yield the index for changes and write it at the end. The caller holds the directory's
    lock."""
    index = read_index(folder)
    yield index
    fresh = folder / "index.json.new"
    fresh.unlink(missing_ok=True)
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with os.fdopen(fd, "wb") as file:
        file.write(msgspec.json.encode(index))
    fresh.replace(folder / "index.json")
