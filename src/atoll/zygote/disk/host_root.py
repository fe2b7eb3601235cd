"""The /etc of a sandbox whose image is `host`: a few files of Atoll's, a few copies of the host's.

`bwrap_argv` binds everything else of the root (`/usr` read-only and its symlinks). One tree serves
all sandboxes; it is made anew when a copied file changed.
"""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from atoll.domain.interior.etc import COPIED, OWN
from atoll.zygote.host.home import traversal_mode


def etc_tree(roots: Path, host_etc: Path = Path("/etc")) -> Path:
    """Return the current tree below `roots`, world-readable. Makes it when it is missing."""
    tree = roots / _digest(host_etc)
    if not tree.exists():
        roots.mkdir(mode=traversal_mode(), parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(dir=roots, prefix="new-"))
        _fill(making, host_etc)
        making.chmod(0o755)
        _claim(making, tree)
    return tree


def _claim(making: Path, tree: Path) -> None:
    try:
        making.replace(tree)
    except OSError:
        if not tree.is_dir():
            raise
        shutil.rmtree(making)  # another start was faster


def _digest(host_etc: Path) -> str:
    seen = hashlib.blake2b(repr(OWN).encode(), digest_size=8)
    for name in COPIED:
        try:
            found = (host_etc / name).stat()
        except OSError:
            continue
        seen.update(f"{name} {found.st_mtime_ns} {found.st_size}".encode())
    return seen.hexdigest()


def _fill(tree: Path, host_etc: Path) -> None:
    for name in COPIED:
        _copy(host_etc / name, tree / name)
    for name, text in OWN.items():
        (tree / name).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        (tree / name).write_text(text)
        (tree / name).chmod(0o644)
    (tree / "mtab").symlink_to("/proc/self/mounts")
    for folder, _names, _files in os.walk(tree):
        Path(folder).chmod(0o755)


def _copy(source: Path, target: Path) -> None:
    """Copy one file or tree. Links stay links, since their targets are below /usr or /etc."""
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if source.is_symlink() and not source.is_dir():
        if source.is_file():
            shutil.copyfile(source, target)
            target.chmod(0o644)
    elif source.is_dir():
        shutil.copytree(
            source, target, symlinks=True, ignore=_not_for_everyone, ignore_dangling_symlinks=True
        )
    elif source.is_file() and source.stat().st_mode & 0o004:
        shutil.copyfile(source, target)
        target.chmod(0o644)


def _not_for_everyone(folder: str, names: list[str]) -> set[str]:
    """Return the names that other users of the host cannot read: sandboxes do not get them
    either."""
    kept_away = set()
    for name in names:
        mode = (Path(folder) / name).lstat().st_mode
        if not mode & 0o004:
            kept_away.add(name)
    return kept_away
