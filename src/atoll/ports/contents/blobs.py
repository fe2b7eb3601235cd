"""The Blobs port: named bytes that are written once, kept durably, and deleted.

What lies there is sealed before: a store of blobs sees names, sizes and times.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from atoll.domain.errors import Invalid, NotFound

MAX_BLOB_BYTES: Final = 64 * 2**20
"""The size of the largest blob."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}(?:/[A-Za-z0-9][A-Za-z0-9_-]{0,79}){0,5}")


@dataclass(frozen=True, slots=True)
class Blob:
    """A stored blob: its size in bytes, and since when it is there by the store's clock."""

    name: str
    size: int
    stored_at: datetime


class Blobs(Protocol):
    """Bytes by name. A name is up to six words of letters, digits, `-` and `_`, parted by `/`.

    Raises `Invalid` for any other name, `Unavailable` while the store cannot be reached, and
    `Failed` where it refuses, or holds something else than a blob. No message holds a key.
    """

    async def put(self, name: str, data: bytes) -> bool:
        """Store a blob unless there is one of that name, which stays as it is; returns whether
        this one was stored. When it returns, the blob survives a crash of either machine; a blob is
        there whole or not at all. Of several puts at once one stores. Raises `Invalid` for more
        than `MAX_BLOB_BYTES`, `LimitReached` where the disk is full."""
        ...

    async def get(self, name: str) -> bytes:
        """Return the bytes of a blob. Raises `NotFound`, and `Failed` for more than
        `MAX_BLOB_BYTES`, which are not read."""
        ...

    async def find(self, name: str) -> Blob | None:
        """Return what is known of a blob without its bytes, None where there is none."""
        ...

    def list(self, folder: str = "") -> AsyncIterator[Blob]:
        """Yield the blobs whose names begin with the words of `folder`, in any order; all without
        one. A blob that is put or deleted meanwhile may be among them or not."""
        ...

    async def delete(self, name: str) -> None:
        """Delete a blob. Idempotent."""
        ...


def is_blob_name(name: str) -> bool:
    """Report whether this is a name, or a folder of names."""
    return _NAME.fullmatch(name) is not None


def check_blob_name(name: str) -> None:
    """Check a name, or a folder of names. Raises `Invalid`."""
    if not is_blob_name(name):
        raise Invalid(f"{name[:80]!r} is no name of a blob", field="name")


def check_blob_size(name: str, size: int) -> None:
    """Check the size of a blob before it is stored. Raises `Invalid`."""
    if size > MAX_BLOB_BYTES:
        raise Invalid(
            f"the blob {name} has {size} bytes, the most are {MAX_BLOB_BYTES}", field="data"
        )


def missing_blob(name: str) -> NotFound:
    """Return the error for a blob that is not there."""
    return NotFound(f"there is no blob {name[:500]}")
