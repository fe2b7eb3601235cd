"""The folder a sandbox's recordings lie in: one file each, 0600, and a note beside it.

Nothing else of a terminal is ever on disk. The folder is the runtime's own,
outlives a stop of the sandbox, and goes with it. Only this file touches it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from atoll.domain.errors import LimitReached, NotFound
from atoll.domain.ids import ID_ENTROPY_BYTES, spell
from atoll.wire.contract.recordings import Recording
from atoll.wire.http.unreadable import UNREADABLE

RECORDING_BYTES = 64 * 1024 * 1024
STORE_BYTES = 256 * 1024 * 1024
MAX_RECORDINGS = 64
ROOM_BYTES = 1024 * 1024
"""A recording that could not keep even this much is not begun."""

_OWNER_ONLY = 0o600
RUNNING: Final = "recording"


@dataclass(frozen=True, slots=True)
class RecordingLimits:
    """Bytes of one recording and of all, and how many there may be."""

    recording_bytes: int = RECORDING_BYTES
    shelf_bytes: int = STORE_BYTES
    recordings: int = MAX_RECORDINGS


class RecordingStore:
    """Recordings of a directory, which is read at the first request."""

    def __init__(self, folder: Path, bounds: RecordingLimits) -> None:
        self._folder = folder
        self._bounds = bounds
        self._known: dict[str, Recording] | None = None

    def all(self) -> list[Recording]:
        """Return every recording, oldest first."""
        return list(self._notes().values())

    def get(self, recording_id: str) -> Recording:
        """Return one recording. Raises `NotFound`."""
        recording = self._notes().get(recording_id)
        if recording is None:
            raise NotFound(f"there is no recording {recording_id[:80]} here; list them")
        return recording

    def room(self) -> int:
        """Return how many bytes a new recording may have now."""
        used = sum(each.bytes for each in self.all())
        return min(self._bounds.recording_bytes, self._bounds.shelf_bytes - used)

    def make_room(self) -> None:
        """Let the oldest ended recordings go until there is room for one more."""
        for each in self.all():
            if self._has_room():
                return
            if each.state != RUNNING:
                self.remove(each.recording_id)

    def _has_room(self) -> bool:
        """Report whether one more recording may begin."""
        return len(self.all()) < self._bounds.recordings and self.room() >= ROOM_BYTES

    def open(self, describe: Callable[[str], Recording]) -> tuple[Recording, int]:
        """Begin a recording: its note, of its new id, and a descriptor to write to. Raises
        `LimitReached`, `OSError`."""
        if not self._has_room():
            raise LimitReached(
                f"this sandbox keeps {self._bounds.recordings} recordings and "
                f"{self._bounds.shelf_bytes >> 20} MiB of them: export and delete some"
            )
        self._folder.mkdir(mode=0o700, exist_ok=True)
        note = describe(spell("rec", os.urandom(ID_ENTROPY_BYTES)))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._cast(note.recording_id), flags, _OWNER_ONLY)
        self.note(note)
        return note, fd

    def note(self, recording: Recording) -> None:
        """Keep the record of a recording, on disk as far as the disk allows."""
        self._notes()[recording.recording_id] = recording
        fresh = self._folder / f"{recording.recording_id}.new"
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _OWNER_ONLY)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.encode(recording))
        fresh.replace(self._folder / f"{recording.recording_id}.json")

    def read(self, recording_id: str) -> int:
        """Return a descriptor of the file; the caller closes it. Raises `NotFound`."""
        self.get(recording_id)
        try:
            return os.open(self._cast(recording_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            raise NotFound(f"the file of recording {recording_id} is gone") from None

    def remove(self, recording_id: str) -> None:
        """Delete a recording permanently. Raises `NotFound`."""
        self.get(recording_id)
        self._cast(recording_id).unlink(missing_ok=True)
        (self._folder / f"{recording_id}.json").unlink(missing_ok=True)
        del self._notes()[recording_id]

    def _cast(self, recording_id: str) -> Path:
        return self._folder / f"{recording_id}.cast"

    def _notes(self) -> dict[str, Recording]:
        if self._known is None:
            recordings = (_read(path) for path in self._folder.glob("*.json"))
            ordered = sorted(filter(None, recordings), key=lambda recording: recording.started_at)
            self._known = {recording.recording_id: recording for recording in ordered}
        return self._known


def _read(path: Path) -> Recording | None:
    """Return a note of an earlier runtime: what still ran then was cut off."""
    try:
        recording = msgspec.json.decode(path.read_bytes(), type=Recording)
        size = path.with_suffix(".cast").stat().st_size
    except (OSError, *UNREADABLE):
        return None
    if recording.recording_id != path.stem:
        return None
    state = "failed" if recording.state == RUNNING else recording.state
    return msgspec.structs.replace(recording, state=state, bytes=size)
