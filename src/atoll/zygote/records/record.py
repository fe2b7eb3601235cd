"""The record of a sandbox on disk, which lets the next zygote keep it or clean it up."""

from pathlib import Path

import msgspec

from atoll.domain.errors import Failed
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.zygote.messages import Wall

_MAX_BYTES = 64 * 1024


class ProcessIdentity(msgspec.Struct, frozen=True):
    """Identity of a process, distinct from that of a later process with the same pid: `start_ticks`
    is field 22 of /proc/[pid]/stat, clock ticks since boot."""

    pid: int
    start_ticks: int = msgspec.field(name="born")


class SandboxRecord(msgspec.Struct, frozen=True):
    """Record of one sandbox. `processes` are its runtime, bwrap (where that built the wall) and
    init while it runs; `tree` is its image, empty for the host's root; `group` names its control
    groups where its id does not. `disk_uid` is what its files have on the disk where that is not
    `sandbox_uid`: those of a snapshot stay its former sandbox's. `backend` is the extension whose
    machine it is on, with the key of its link and what the extension keeps. A `pooled` waits for a
    request: none of its files matter."""

    sandbox_id: str
    generation: int
    hostname: str
    sandbox_uid: int
    runtime_uid: int
    live: bool
    boot_id: str = ""
    processes: tuple[ProcessIdentity, ...] = ()
    init: str = ""
    degraded: tuple[str, ...] = ()
    reason: str = ""
    wall: Wall = "bubblewrap"
    tree: str = ""
    group: str = ""
    backend: str = ""
    link_key: str = ""
    data: tuple[tuple[str, str], ...] = ()
    disk_uid: int = 0
    pooled: bool = False

    @property
    def group_name(self) -> str:
        """The name of its control groups."""
        return self.group or self.sandbox_id


def save(path: Path, record: SandboxRecord) -> None:
    """Write the record atomically."""
    fresh = path.with_name(path.name + ".new")
    fresh.touch(mode=0o600)
    fresh.write_bytes(msgspec.json.encode(record))
    fresh.replace(path)


def load(path: Path) -> SandboxRecord | None:
    """Read a record; None when there is none. Raises `Failed` when it cannot be read."""
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_MAX_BYTES), type=SandboxRecord)
    except FileNotFoundError:
        return None
    except (OSError, *UNREADABLE) as err:
        raise Failed(f"{path} cannot be read: {err}; remove its folder to forget it") from err


def process(pid: int) -> ProcessIdentity | None:
    """Return the identity of a process; None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return ProcessIdentity(pid, int(text.rpartition(")")[2].split()[19]))


def boot_id() -> str:
    """Return the id of this boot. Pids and start times mean nothing in another."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def same_process(known: ProcessIdentity) -> bool:
    """Return whether that very process still exists."""
    return process(known.pid) == known
