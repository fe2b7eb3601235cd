"""The settings of `config.toml` that the zygote reads for itself.

It trusts no control plane with them: the file counts only when nobody but the home's owner can have
written it. A missing or invalid value takes its default. The control plane reads the same file
(`wiring.control.settings`) and reports what is wrong.
"""

import os
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from atoll.domain.wall.interior import (
    DEFAULT_CONTROL_MEMORY_MB,
    DEFAULT_LOW_DISK_MB,
    DEFAULT_RUNTIME_MEMORY_MB,
    DEFAULT_RUNTIME_TASKS,
    MIN_CONTROL_MEMORY_MB,
    MIN_RUNTIME_MEMORY_MB,
    MIN_RUNTIME_TASKS,
)
from atoll.zygote.host.home import Home

MAX_OWNED_FILE_BYTES = 64 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class OwnSettings:
    """Settings of the zygote: `mount_roots`, `share_memory`, `low_disk_mb`, `runtime_memory_mb`,
    `runtime_tasks` and `control_memory_mb` (docs/use/settings.md)."""

    mount_roots: tuple[str, ...] = ()
    share_memory: bool = False
    low_disk_mb: Annotated[int, msgspec.Meta(ge=0)] = DEFAULT_LOW_DISK_MB
    runtime_memory_mb: Annotated[int, msgspec.Meta(ge=MIN_RUNTIME_MEMORY_MB)] = (
        DEFAULT_RUNTIME_MEMORY_MB
    )
    runtime_tasks: Annotated[int, msgspec.Meta(ge=MIN_RUNTIME_TASKS)] = DEFAULT_RUNTIME_TASKS
    control_memory_mb: Annotated[int, msgspec.Meta(ge=MIN_CONTROL_MEMORY_MB)] = (
        DEFAULT_CONTROL_MEMORY_MB
    )


def read_own_settings(home: Home) -> OwnSettings:
    """Read the settings from the file. Never raises."""
    try:
        found = tomllib.loads(read_owned_file(home.root / "config.toml").decode())
    except (OSError, ValueError):
        return OwnSettings()
    return OwnSettings(
        mount_roots=_texts(found.get("mount_roots")),
        share_memory=found.get("share_memory") is True,
        low_disk_mb=_number_or_default(found.get("low_disk_mb"), DEFAULT_LOW_DISK_MB),
        runtime_memory_mb=_number_or_default(
            found.get("runtime_memory_mb"), DEFAULT_RUNTIME_MEMORY_MB, least=MIN_RUNTIME_MEMORY_MB
        ),
        runtime_tasks=_number_or_default(
            found.get("runtime_tasks"), DEFAULT_RUNTIME_TASKS, least=MIN_RUNTIME_TASKS
        ),
        control_memory_mb=_number_or_default(
            found.get("control_memory_mb"), DEFAULT_CONTROL_MEMORY_MB, least=MIN_CONTROL_MEMORY_MB
        ),
    )


def _texts(found: Any) -> tuple[str, ...]:
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def _number_or_default(found: Any, usual: int, *, least: int = 0) -> int:
    fits = isinstance(found, int) and not isinstance(found, bool) and found >= least
    return found if fits else usual


def read_owned_file(path: Path) -> bytes:
    """Return a small file that only the zygote's own user can have written. Raises `OSError`."""
    fd = os.open(path, _READ)
    try:
        found = os.fstat(fd)
        foreign = found.st_uid != os.geteuid() or found.st_mode & 0o022
        if not stat.S_ISREG(found.st_mode) or foreign:
            raise PermissionError(f"{path.name} is not a file of the home's owner alone")
        return os.read(fd, MAX_OWNED_FILE_BYTES)
    finally:
        os.close(fd)
