"""Folders of this machine in a sandbox: what a person grants, written where the sandbox's builder
reads it. A grant lies in the home, which only its owner can write to, and names one folder.
"""

import json
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

import click

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.host_mount import check_source, check_target
from atoll.surfaces.cli.answer import Json
from atoll.surfaces.cli.invocation import Invocation


@dataclass(frozen=True, slots=True)
class Spec:
    """`HOST:PATH[:ro|rw]`, with the host's path as it really is."""

    source: str
    target: str
    writable: bool

    def wish(self, grant: str) -> dict[str, Json]:
        """As the API takes it."""
        return {
            "source": self.source,
            "target": self.target,
            "access": "rw" if self.writable else "ro",
            "grant": grant,
        }


def read_mount(text: str) -> Spec:
    """The words of `--mount`. Raises a usage error, `Invalid`, `Forbidden`."""
    words = text.split(":")
    access = words.pop() if len(words) == 3 else "ro"
    if len(words) != 2 or access not in ("ro", "rw") or not all(words):
        raise click.BadParameter(f"{text!r} is not HOST:PATH[:ro|rw]", param_hint="--mount")
    folder = Path(words[0]).expanduser()
    if not folder.is_dir():
        raise click.BadParameter(f"{words[0]} is no folder", param_hint="--mount")
    spec = Spec(str(folder.resolve()), words[1], access == "rw")
    check_source(spec.source)
    check_target(spec.target)
    return spec


def granted(invocation: Invocation, mounts: tuple[str, ...]) -> list[Json]:
    """Each mount with a grant of its own, as the API takes them. Raises as `read_mount`, and
    `Forbidden` when the home is somebody else's."""
    specs = [read_mount(text) for text in mounts]
    if not specs:
        return []
    if invocation.environ.get("ATOLL_URL"):
        raise click.UsageError("--mount is for sandboxes of this machine, not of ATOLL_URL's.")
    folder = invocation.home.absolute() / "grants"
    _own(folder)
    return [spec.wish(_grant(folder, spec)) for spec in specs]


def _own(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
        found = folder.lstat()
    except OSError as err:
        raise Forbidden(
            f"only who runs Atoll here may mount folders: {folder} cannot be made ({err.strerror})"
        ) from err
    if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode):
        raise Forbidden(f"only who runs Atoll here may mount folders: {folder} is not yours")


def _grant(folder: Path, spec: Spec) -> str:
    name = secrets.token_hex(16)
    try:
        fd = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except OSError as err:
        raise Invalid(f"the grant cannot be written: {err}") from err
    with os.fdopen(fd, "w") as file:
        os.fchmod(fd, 0o644)
        json.dump({"source": spec.source, "writable": spec.writable}, file)
    return name
