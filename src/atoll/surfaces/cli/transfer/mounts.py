"""Folders of this machine in a sandbox: what a person grants, written where the sandbox's builder
reads it. A grant lies in the home, which only its owner can write to, and names one folder.
"""

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click

from atoll.client.made.hosts.routes import MountBody
from atoll.domain.errors import AtollError, Forbidden, Invalid, Unavailable
from atoll.domain.files.host_mount import below_any, check_source, check_target
from atoll.domain.files.private_folder import private_inside, private_path, refuse_private
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.output import confirm, note
from atoll.surfaces.cli.console.selection import can_ask


@dataclass(frozen=True, slots=True)
class MountSpec:
    """Mount `HOST:PATH[:ro|rw]`, with the host's real path."""

    source: str
    target: str
    writable: bool

    def to_body(self, grant: str, *, private: bool) -> MountBody:
        """Return the mount as the API takes it."""
        to_body: MountBody = {
            "source": self.source,
            "target": self.target,
            "access": "rw" if self.writable else "ro",
            "grant": grant,
        }
        if private:
            to_body["private"] = True
        return to_body

    def private(self) -> bool:
        """Return whether it holds keys or logins, and show the person which."""
        home = str(Path.home())
        paths = private_inside(self.source, partial(_list_entries, self.source))
        by_name = private_path(self.source) or below_any(home, (self.source,))
        if paths or by_name:
            note(f"atoll: {refuse_private(self.source, paths).message.partition('. ')[0]}")
        return bool(paths) or by_name


def _list_entries(top: str, below: str) -> Iterator[tuple[str, bool]]:
    with contextlib.suppress(OSError), os.scandir(Path(top, below)) as entries:
        for entry in entries:
            yield entry.name, entry.is_dir(follow_symlinks=False)


def read_mount(text: str) -> MountSpec:
    """Read a value of `--mount`. Raises a usage error, `Invalid`, `Forbidden`."""
    words = text.split(":")
    access = words.pop() if len(words) == 3 else "ro"
    if len(words) != 2 or access not in ("ro", "rw") or not all(words):
        raise click.BadParameter(f"{text!r} is not HOST:PATH[:ro|rw]", param_hint="--mount")
    folder = Path(words[0]).expanduser()
    if not folder.is_dir():
        raise click.BadParameter(f"{words[0]} is not a folder", param_hint="--mount")
    spec = MountSpec(str(folder.resolve()), words[1], access == "rw")
    check_source(spec.source)
    check_target(spec.target)
    return spec


@dataclass(frozen=True, slots=True)
class GrantedMounts:
    """Mounts as the API takes them, and their grants in `folder` by name."""

    folder: Path
    bodies: list[MountBody] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def withdraw(self) -> None:
        """Remove the grants, which no sandbox has."""
        for name in self.names:
            (self.folder / name).unlink(missing_ok=True)


@contextlib.contextmanager
def grant_mounts(
    invocation: Invocation, mounts: tuple[str, ...], *, private: bool
) -> Iterator[GrantedMounts]:
    """Yield each mount with a grant of its own. The person confirms each folder that holds keys or
    logins, unless `private` agrees to all of them. The grants go again when what they are for is
    refused within. Raises as `read_mount`, and `Forbidden` when the home is somebody else's or
    there is no terminal to ask at."""
    grants = GrantedMounts(invocation.home.absolute() / "grants")
    try:
        _give(invocation, grants, mounts, private=private)
        yield grants
    except Unavailable:
        raise  # What did not answer may have made the sandbox.
    except AtollError:
        grants.withdraw()
        raise


def _give(
    invocation: Invocation, grants: GrantedMounts, mounts: tuple[str, ...], *, private: bool
) -> None:
    specs = [read_mount(text) for text in mounts]
    if not specs:
        return
    if invocation.environ.get("ATOLL_URL"):
        raise click.UsageError("--mount is for sandboxes of this machine, not of ATOLL_URL's.")
    _check_owner(grants.folder)
    agreed = [_ask_agreement(spec, private=private) for spec in specs]
    for spec, yes in zip(specs, agreed, strict=True):
        name = _grant(grants.folder, spec, private=yes)
        grants.names.append(name)
        grants.bodies.append(spec.to_body(name, private=yes))


def _ask_agreement(spec: MountSpec, *, private: bool) -> bool:
    """Return whether the person agreed to show a private folder; false where it is none."""
    if not spec.private():
        return False
    if private:
        return True
    if not can_ask():
        raise refuse_private(spec.source)
    if not confirm(f"Mount {spec.source} in the sandbox anyway?", yes=False):
        raise click.exceptions.Exit(FAILED)
    return True


def _check_owner(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
        status = folder.lstat()
    except OSError as err:
        raise Forbidden(
            f"only who runs Atoll here may mount folders: {folder} cannot be made ({err.strerror})"
        ) from err
    if status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
        raise Forbidden(f"only who runs Atoll here may mount folders: {folder} is not yours")


def _grant(folder: Path, spec: MountSpec, *, private: bool) -> str:
    name = secrets.token_hex(16)
    try:
        fd = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except OSError as err:
        raise Invalid(f"the grant cannot be written: {err}") from err
    with os.fdopen(fd, "w") as file:
        os.fchmod(fd, 0o644)
        grant = {"source": spec.source, "writable": spec.writable, "private": private}
        json.dump(grant, file)
    return name
