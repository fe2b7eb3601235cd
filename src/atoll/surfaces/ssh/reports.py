"""Reports of what happened at the gateway, on their way to the log of events.

The control plane may be away for a while, and the gateway may end meanwhile: each report is a line
of a file until it was handed over.
"""

import asyncio
import os
import time
from collections import deque
from pathlib import Path
from typing import Final

import msgspec

from atoll.domain.errors import AtollError, Unavailable
from atoll.surfaces.ssh.control_plane import ControlPlane
from atoll.wire.contract.ssh import Report
from atoll.wire.http.unreadable import UNREADABLE

MAX_WAITING: Final = 10_000
"""Reports that wait; beyond them the oldest are lost."""

BATCH: Final = 200
_RETRY_SECONDS: Final = 1.0
_GATHER_SECONDS: Final = 0.1


class Reporter:
    """The reports of one gateway, in a file of its own."""

    def __init__(self, control: ControlPlane, path: Path) -> None:
        self._control = control
        self._path = path
        self._waiting: deque[Report] = deque(_read(path), maxlen=MAX_WAITING)
        self._news = asyncio.Event()
        self._encode = msgspec.json.Encoder().encode
        if self._waiting:
            self._news.set()

    def add(self, report: Report) -> None:
        """Take a report that happened now."""
        stamped = msgspec.structs.replace(report, at=time.time())
        self._waiting.append(stamped)
        with os.fdopen(_open(self._path, os.O_APPEND), "ab") as file:
            file.write(self._encode(stamped) + b"\n")
        self._news.set()

    async def run(self) -> None:
        """Hand reports over, until cancelled."""
        while True:
            await self._news.wait()
            await asyncio.sleep(_GATHER_SECONDS)
            batch = tuple(self._waiting)[:BATCH]
            try:
                await self._control.report(batch)
            except Unavailable:
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            except AtollError:
                # It will never take these; what comes after them is no worse for it.
                pass
            for _ in batch:
                self._waiting.popleft()
            self._rewrite()
            if not self._waiting:
                self._news.clear()

    def _rewrite(self) -> None:
        with os.fdopen(_open(self._path, os.O_TRUNC), "wb") as file:
            file.writelines(self._encode(each) + b"\n" for each in self._waiting)


def _open(path: Path, flag: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flag, 0o600)


def _read(path: Path) -> list[Report]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    reports = []
    for line in lines[-MAX_WAITING:]:
        try:
            reports.append(msgspec.json.decode(line, type=Report))
        except UNREADABLE:
            continue
    return reports
