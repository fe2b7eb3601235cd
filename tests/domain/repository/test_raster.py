import struct

import pytest

from atoll.domain.repository.raster import MAX_PIXELS, Raster, read_raster


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + rest


# SOI, a comment, padding, a restart marker, and the frame header.
JPEG = b"\xff\xd8\xff\xfe\0\4hi\xff\xff\xd0\xff\xc2\0\x0b\x08" + struct.pack(">HH", 30, 20) + b"\1"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (png(20, 30), "png"),
        (b"GIF89a" + struct.pack("<HH", 20, 30), "gif"),
        (JPEG, "jpeg"),
        (webp(b"VP8 ", b"\0" * 6 + struct.pack("<HH", 20, 30)), "webp"),
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", 19 | 29 << 14)), "webp"),
        (webp(b"VP8X", b"\0" * 4 + b"\x13\0\0\x1d\0\0"), "webp"),
    ],
)
def test_raster_images_are_told_by_their_bytes(data: bytes, kind: str) -> None:
    assert read_raster(data) == Raster(f"image/{kind}", 20, 30)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<html>\x89PNG\r\n\x1a\n",
        b"\x89PNG\r\n\x1a\n",
        png(0, 30),
        png(MAX_PIXELS, 2),
        png(2**32 - 1, 2**32 - 1),
        webp(b"ALPH", b"\0" * 20),
        b"\xff\xd8\xff\xe0\0\0\xff\xe0",
        b"\xff\xd8\xff\xe0\xff\xff" + b"\0" * 20,
        b"\xff\xd8\xff\xd9" + b"\0" * 8,
    ],
)
def test_anything_else_is_no_image(data: bytes) -> None:
    assert read_raster(data) is None
