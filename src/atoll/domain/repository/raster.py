"""Raster images, told by their first bytes: PNG, JPEG, GIF and WebP, with width and height.

The bytes come from inside a sandbox. Anything else, SVG among it, is no image here, and one whose
picture would fill a browser's memory is none either. Formats: PNG (RFC 2083), GIF89a, JPEG (ITU-T
T.81 annex B), WebP (RFC 9649).
"""

from dataclasses import dataclass
from typing import Final

MAX_PIXELS: Final = 50_000_000
"""Pixels of a picture that is shown."""

_STANDALONE = frozenset({0x01, *range(0xD0, 0xD8)})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class Raster:
    """The media type and size of a raster image."""

    media_type: str
    width: int
    height: int


def read_raster(data: bytes) -> Raster | None:
    """Return the kind and size of an image; None for anything else and for one that is too
    large."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        found = Raster("image/png", _big(data[16:20]), _big(data[20:24]))
    elif data[:6] in {b"GIF87a", b"GIF89a"}:
        found = Raster("image/gif", _little(data[6:8]), _little(data[8:10]))
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        found = Raster("image/webp", *_webp(data))
    elif data.startswith(b"\xff\xd8\xff"):
        found = Raster("image/jpeg", *_jpeg(data))
    else:
        return None
    return found if 0 < found.width * found.height <= MAX_PIXELS else None


def _webp(data: bytes) -> tuple[int, int]:
    """Return width and height of the lossy, lossless or extended form."""
    form = data[12:16]
    if form == b"VP8 ":
        return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
    if form == b"VP8L":
        bits = _little(data[21:25])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8X":
        return _little(data[24:27]) + 1, _little(data[27:30]) + 1
    return 0, 0


def _jpeg(data: bytes) -> tuple[int, int]:
    """Return width and height from the first frame header."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _STANDALONE:
            at += 2
        elif marker in _FRAMES:
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        else:
            at += 2 + _big(data[at + 2 : at + 4])
    return 0, 0


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
