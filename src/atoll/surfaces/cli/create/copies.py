"""`atoll new --copy`: files and folders of this machine, sent into a sandbox before it is used."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

import click

from atoll.client.client import Client
from atoll.domain.errors import LimitReached
from atoll.surfaces.cli.transfer.sandbox_files import SandboxPath, send

MAX_BYTES = 4 * 2**30
"""The largest copy; mount anything larger."""


@dataclass(frozen=True, slots=True)
class FileCopy:
    """Copy of `source` here to `target` in the workspace."""

    source: Path
    target: str

    def __str__(self) -> str:
        return f"{self.source}:{self.target}"


def read_copy(text: str) -> FileCopy:
    """Read `HOST:PATH`, PATH in the workspace. Raises a usage error, `LimitReached`."""
    here, colon, there = text.rpartition(":")
    source = Path(here).expanduser()
    if not colon or not here or not there or not source.exists():
        raise click.BadParameter(
            f"{text!r} is not HOST:PATH: HOST must be a file or folder of this machine",
            param_hint="--copy",
        )
    size = _size(source)
    if size > MAX_BYTES:
        raise LimitReached(
            f"{here} is {size >> 20} MiB large, more than {MAX_BYTES >> 20}: mount it"
        )
    return FileCopy(source.absolute(), there)


def send_copies(api: Client, sandbox: str, copies: list[FileCopy]) -> None:
    """Send each, in order."""
    for copy in copies:
        send(api, str(copy.source), SandboxPath(sandbox, copy.target))


def _size(source: Path) -> int:
    if not source.is_dir():
        return source.stat().st_size
    total = 0
    for folder, _names, files, at in os.fwalk(source, follow_symlinks=False):
        del folder
        for name in files:
            status = os.stat(name, dir_fd=at, follow_symlinks=False)
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total
