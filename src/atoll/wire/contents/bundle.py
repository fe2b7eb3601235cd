"""Bundles: pieces of a content that are stored together, as bytes.

```text
"ATB1"  count (u16)  length of each piece (u32)  the pieces
```

Numbers are little-endian. What is read was sealed by us, and is checked all the same.
"""

import struct
from collections.abc import Sequence
from typing import Final

MAX_BUNDLE_PIECES: Final = 1024
MAX_PIECE_BYTES: Final = 256 * 1024
"""The size of the longest piece."""

_MAGIC: Final = b"ATB1"
_COUNT: Final = struct.Struct("<4sH")


def join_pieces(pieces: Sequence[bytes]) -> bytes:
    """Return the bundle of pieces, of which there is at least one."""
    lengths = struct.pack(f"<{len(pieces)}I", *map(len, pieces))
    return b"".join((_COUNT.pack(_MAGIC, len(pieces)), lengths, *pieces))


def split_pieces(bundle: bytes) -> list[memoryview]:
    """Return the pieces of a bundle. Raises `ValueError` for what is none."""
    if len(bundle) < _COUNT.size:
        raise ValueError("too short for a bundle")
    magic, count = _COUNT.unpack_from(bundle)
    at = _COUNT.size + 4 * count
    if magic != _MAGIC or not 0 < count <= MAX_BUNDLE_PIECES or len(bundle) < at:
        raise ValueError("no bundle")
    lengths: tuple[int, ...] = struct.unpack_from(f"<{count}I", bundle, _COUNT.size)
    if max(lengths) > MAX_PIECE_BYTES or at + sum(lengths) != len(bundle):
        raise ValueError("a bundle of other lengths")
    view = memoryview(bundle)
    pieces = []
    for length in lengths:
        pieces.append(view[at : at + length])
        at += length
    return pieces
