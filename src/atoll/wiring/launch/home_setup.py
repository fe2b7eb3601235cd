"""Making $ATOLL_HOME: its folders, and whose they are. Starts nothing.

As root the home is root's and the control plane's group may add files to it, but (sticky)
not move root's: so nobody can put a link where the zygote writes.
"""

import os
from pathlib import Path

from atoll.domain.errors import Failed, Invalid
from atoll.zygote.host.home import traversal_mode
from atoll.zygote.host.installation import keep_installation
from atoll.zygote.records.uids import FIRST_UID, Counter

HOME_MODE = 0o1771
_CONTROL_FOLDERS = (
    ("repos", 0o755),
    ("profiles", 0o755),
    ("safety", 0o755),
    ("installed", 0o755),
    ("kept", 0o700),
    ("sandboxes", 0o700),
    ("ssh", 0o700),
    ("run/import", 0o711),
)
_WRITTEN_BEFOREHAND = {
    "keys.toml", "master.key", "config.toml", "profiles", "agents", "cli.json", "presets.json",
    "images", "grants", "mirrors", "vm-images",
}  # fmt: skip
"""Files that people, or the command line for them, write there before the first start."""

_LONGEST_HOME = 60
"""Bytes: `run/b/<sandbox id>/rt.sock` below it must fit a unix socket's 107."""


def prepare_home(home: Path) -> int:
    """Make or mend the home; returns the control plane's uid. Raises `Invalid`, `Failed`."""
    if len(os.fsencode(home)) > _LONGEST_HOME:
        raise Invalid(f"{home} is too long for unix sockets below it: choose a shorter --home")
    try:
        return _prepare(home)
    except OSError as err:
        raise Failed(f"the home {home} cannot be made: {err.strerror}") from err


def _prepare(home: Path) -> int:
    if home.exists() and not _was_home(home) and _strangers(home):
        raise Invalid(f"{home} holds other things: choose a new or empty folder as --home")
    run, boxes = home / "run", home / "boxes"
    first, used = not run.exists(), boxes.exists()
    for folder in (home, run, boxes):
        folder.mkdir(parents=True, exist_ok=True)
    boxes.chmod(traversal_mode())
    keep_installation(home, used=used)
    uid = _control_uid(home)
    for folder in (home, run):
        if os.geteuid() == 0:
            os.chown(folder, 0, uid, follow_symlinks=False)
        folder.chmod(HOME_MODE if os.geteuid() == 0 else traversal_mode())
    for name in ("agents", "images", "grants"):
        _persons_folder(home / name)
    for name, mode in _CONTROL_FOLDERS:
        _control_folder(home / name, mode, uid)
    _shared_folder(home / "agent-config", uid)
    if first:
        _hand_over(home / "master.key", uid)
    return uid


def _was_home(home: Path) -> bool:
    """Report whether a folder has been a home: one that is restored from a backup lacks `run`."""
    return (home / "run").exists() or (home / "boxes" / "next-uid").is_file()


def _strangers(home: Path) -> bool:
    """Report whether a folder that was never a home holds what a person would not put into one."""
    return any(entry.name not in _WRITTEN_BEFOREHAND for entry in home.iterdir())


def _control_uid(home: Path) -> int:
    if os.geteuid() != 0:
        return os.geteuid()
    known = home.stat().st_gid
    if known >= FIRST_UID:
        return known
    return Counter(home / "boxes" / "next-uid").take(1)


def _persons_folder(folder: Path) -> None:
    """Make a directory that only the person may write, for programs and roots: the control plane
    reads."""
    folder.mkdir(exist_ok=True)
    if os.geteuid() == 0:
        os.chown(folder, 0, 0, follow_symlinks=False)
    folder.chmod(0o755 if os.geteuid() == 0 else traversal_mode())


def _shared_folder(folder: Path, uid: int) -> None:
    """Make a directory that the person writes, the control plane reads, and nobody else uses. Files
    below it inherit its group."""
    folder.mkdir(exist_ok=True)
    if os.geteuid() == 0:
        os.chown(folder, 0, uid, follow_symlinks=False)
    folder.chmod(0o2750 if os.geteuid() == 0 else traversal_mode())


def _hand_over(file: Path, uid: int) -> None:
    """Give a person's file to the control plane; it was written before anybody else could be."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    try:
        if os.geteuid() == 0:
            os.fchown(descriptor, uid, uid)
    finally:
        os.close(descriptor)


def _control_folder(folder: Path, mode: int, uid: int) -> None:
    privileged = os.geteuid() == 0
    try:
        folder.mkdir()
    except FileExistsError:
        if privileged:
            return  # it is the control plane's, who may have moved it: nothing of root's follows
    folder.chmod(mode if privileged else traversal_mode())
    if privileged:
        os.chown(folder, uid, uid, follow_symlinks=False)
