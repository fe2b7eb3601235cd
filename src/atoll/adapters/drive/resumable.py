"""Resumable uploads to Drive: a file goes in pieces, and a broken piece is sent again.

The address of an upload comes from an answer, so it has to be of Drive's own host. Nothing is there
until the last piece was taken: an upload that is given up is cancelled.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from atoll.adapters.drive.http import SILENT, DriveAnswer, DriveHttp, DriveRequest, refusal
from atoll.domain.errors import AtollError, Unavailable

PIECE_BYTES: Final = 4 * 1024 * 1024
"""The bytes of a piece, which are in memory: a multiple of 256 KiB."""

TRIES: Final = 4
_MORE: Final = 308
_RANGE: Final = re.compile(r"bytes=0-([0-9]{1,15})")


class ResumableUpload:
    """Upload to the address that Drive gave for it. `pause` is the time in seconds before a second
    try; it doubles."""

    def __init__(
        self, http: DriveHttp, token: str, place: str, *, api: str, pause: float = 1.0
    ) -> None:
        """Raises `Unavailable` when the address is none of Drive's."""
        if urlsplit(place)[:2] != urlsplit(api)[:2]:
            raise Unavailable(SILENT)
        self._http = http
        self._token = token
        self._place = place
        self._pause = pause

    async def send(self, content: AsyncIterator[bytes]) -> bytes:
        """Send all of `content`; return Drive's answer, which describes the file."""
        sent, done = 0, None
        async for piece, last in _split_content(content):
            done = await self._send_piece(piece, sent, sent + len(piece) if last else None)
            sent += len(piece)
        if done is None:
            raise Unavailable(SILENT)
        return done

    async def cancel(self) -> None:
        """Have Drive forget what was sent."""
        with suppress(AtollError):
            await self._http.send(DriveRequest("DELETE", self._place, token=self._token))

    async def _send_piece(self, data: bytes, start: int, total: int | None) -> bytes | None:
        """Send one piece; return the answer to the last one, of which `total` is known."""
        end, begin = start + len(data), start
        for tried in range(TRIES):
            if tried:
                await asyncio.sleep(self._pause * 2 ** (tried - 1))
            answer = await self._try_send(data[begin - start :], begin, total)
            # Without an answer, Drive is asked how much it has.
            answer = answer or await self._try_send(b"", begin, total)
            if answer is None:
                continue
            if answer.status in (200, 201):
                return answer.data
            begin = _count_received(answer, start, end)
            if begin == end and total is None:
                return None
        raise Unavailable(SILENT)

    async def _try_send(self, data: bytes, start: int, total: int | None) -> DriveAnswer | None:
        """Send a piece once; return None when it has to be sent again."""
        whole = "*" if total is None else str(total)
        span = f"{start}-{start + len(data) - 1}" if data else "*"
        request = DriveRequest(
            "PUT",
            self._place,
            token=self._token,
            headers={"Content-Range": f"bytes {span}/{whole}"},
            body=data,
        )
        try:
            answer = await self._http.send(request)
        except Unavailable:
            return None
        return None if answer.status == 429 or answer.status >= 500 else answer


async def _split_content(content: AsyncIterator[bytes]) -> AsyncIterator[tuple[bytes, bool]]:
    """Yield pieces of one size with False; last the rest, which may be empty, with True."""
    kept = bytearray()
    async for part in content:
        kept += part
        while len(kept) > PIECE_BYTES:
            piece = bytes(kept[:PIECE_BYTES])
            del kept[:PIECE_BYTES]
            yield piece, False
    yield bytes(kept), True


def _count_received(answer: DriveAnswer, start: int, end: int) -> int:
    """Return the number of bytes that Drive has, between `start` and `end`. Raises what its refusal
    stands for."""
    if answer.status != _MORE:
        raise refusal(answer.status, answer.data)
    found = _RANGE.fullmatch(answer.headers.get("Range", ""))
    taken = 0 if found is None else int(found[1]) + 1
    if not start <= taken <= end:
        raise Unavailable(SILENT)
    return taken
