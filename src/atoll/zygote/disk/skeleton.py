"""The layers that Atoll adds to a root: its own directories, and the host's for a writable root.

A layer above hides a link, file or device of the same name below. So whatever an image has at
`/etc`, `/dev` or `/workspace`, Atoll's mounts reach their own directories. The layers are made once
per home, below `run/root`, and renamed into place when complete.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from atoll.domain.interior.etc import AGENT_FILES, OWN
from atoll.domain.interior.identity import MACHINE_ID
from atoll.domain.wall.interior import SCRATCH

PLACES = (
    "dev", "proc", "workspace", ".atoll", "opt/atoll", "home", "mnt", "srv", "data", "etc",
    "usr", "root",
    *(place.lstrip("/") for place, _mode, _bytes in SCRATCH),
)  # fmt: skip
"""Folders something is mounted at, or whose content an image must not choose the place of."""

ETC = (
    *("passwd", "group", "hosts", "hostname", "resolv.conf", "nsswitch.conf", "gitconfig"),
    MACHINE_ID,
    *AGENT_FILES,
)
"""Files of /etc that are always ours; the rest is the image's."""

_PRIVATE = 0o005


def skeleton(roots: Path) -> Path:
    """Return the layer of Atoll's own directories. Raises `OSError`."""
    made_of = repr((PLACES, ETC, OWN))
    return _make_tree(roots / f"places-{_digest(made_of)}", _fill_skeleton)


def folders_of(roots: Path, top: Path) -> Path:
    """Return a layer of `top`'s folders without any file, for a sandbox that may write beside the
    host's files. The files stay the host's, with their modes. Folders closed to others are left
    out."""
    shown = top.stat()
    dpkg = Path("/var/lib/dpkg/status")
    moment = dpkg.stat().st_mtime_ns if dpkg.exists() else 0
    mark = _digest(repr((str(top), shown.st_mtime_ns, shown.st_ino, moment)))
    return _make_tree(roots / f"folders-{mark}", lambda making: _copy_folders(top, making))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _make_tree(tree: Path, fill: Callable[[Path], None]) -> Path:
    if not tree.exists():
        making = Path(tempfile.mkdtemp(dir=tree.parent, prefix="new-"))
        fill(making)
        making.chmod(0o755)
        try:
            making.replace(tree)
        except OSError:
            if not tree.is_dir():
                raise
            shutil.rmtree(making)  # another start was faster
    return tree


def _fill_skeleton(tree: Path) -> None:
    for place in PLACES:
        (tree / place).mkdir(parents=True, exist_ok=True)
    for name in ETC:
        (tree / "etc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / "etc" / name).write_text(OWN[name])
        (tree / "etc" / name).chmod(0o644)
    for folder, _names, _files in os.walk(tree):
        Path(folder).chmod(0o755)


def _copy_folders(top: Path, tree: Path) -> None:
    """Copy the folders without objects per entry: /usr has some fifteen thousand."""
    old = os.umask(0o022)
    try:
        _copy_level(str(top), str(tree))
    finally:
        os.umask(old)


def _copy_level(source: str, target: str) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                continue
            if entry.stat(follow_symlinks=False).st_mode & _PRIVATE == _PRIVATE:
                below = f"{target}/{entry.name}"
                os.mkdir(below, 0o755)  # noqa: PTH102  a Path for each would cost more than it
                _copy_level(entry.path, below)
