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
from atoll.domain.wall.proxy_settings import NET_PROPERTIES, NET_PROPERTIES_PLACES
from atoll.zygote.host.home import traversal_mode

_OF_JDKS = "atoll/usr"
"""The directory for files that lie over those of /usr, each at its place there."""


def etc_tree(roots: Path, host_etc: Path = Path("/etc"), host_usr: Path = Path("/usr")) -> Path:
    """Return the current tree below `roots`, world-readable. Makes it when it is missing."""
    jdks = _jdk_files(host_usr)
    tree = roots / _digest(host_etc, jdks)
    if not tree.exists():
        roots.mkdir(mode=traversal_mode(), parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(dir=roots, prefix="new-"))
        _fill(making, host_etc)
        _lead_to_door(making, host_usr, jdks)
        making.chmod(0o755)
        _claim(making, tree)
    return tree


def files_over_usr(tree: Path) -> list[tuple[Path, str]]:
    """Return the tree's files that lie over files of /usr, each with its place."""
    top = tree / _OF_JDKS
    return [(file, f"/usr/{file.relative_to(top)}") for file in sorted(top.rglob("*.properties"))]


def _jdk_files(host_usr: Path) -> list[Path]:
    """Return the network settings of JDKs below /usr; those of Debian's are links into /etc."""
    found = (each for place in NET_PROPERTIES_PLACES for each in host_usr.glob(place))
    return sorted({file.resolve() for file in found if file.resolve().is_relative_to(host_usr)})


def _lead_to_door(tree: Path, host_usr: Path, jdks: list[Path]) -> None:
    """Name the egress door in the network settings of every JDK."""
    for source in jdks:
        target = tree / _OF_JDKS / source.relative_to(host_usr)
        target.parent.mkdir(mode=0o755, parents=True)
        shutil.copyfile(source, target)
    for file in (*tree.glob("java-*/net.properties"), *(path for path, _ in files_over_usr(tree))):
        with file.open("a") as settings:
            settings.write(f"\n# The way to Atoll's egress door.\n{NET_PROPERTIES}")
        file.chmod(0o644)
    for folder, _names, _files in os.walk(tree / "atoll"):
        Path(folder).chmod(0o755)


def _claim(making: Path, tree: Path) -> None:
    try:
        making.replace(tree)
    except OSError:
        if not tree.is_dir():
            raise
        shutil.rmtree(making)  # another start was faster


def _digest(host_etc: Path, jdks: list[Path]) -> str:
    seen = hashlib.blake2b(repr((OWN, NET_PROPERTIES)).encode(), digest_size=8)
    for name in (*(host_etc / name for name in COPIED), *jdks):
        try:
            found = name.stat()
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
