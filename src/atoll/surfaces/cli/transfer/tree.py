"""Trees as tar streams, to and from this machine.

What comes out of a sandbox was written by whatever runs there. `unpack` therefore fills
only a fresh folder of its own, makes files and folders before any link, refuses names that
lead out and leaves out links that do, so that neither it nor a later reader passes through
one. Not `tarfile.extractall`: its filters had holes in versions we support.
"""

import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from atoll.domain.errors import Failed, Invalid
from atoll.surfaces.cli.transfer.sparse import FreeSpace, write_sparse

CHUNK_BYTES = 256 * 1024
MAX_MEMBERS = 1_000_000
_END = bytes(1024)


def pack(root: Path, left_out: list[str], *, without: str = "") -> Iterator[bytes]:
    """Yield the contents of the folder `root` as a pax archive, names relative to it. Sockets,
    pipes, devices and links that lead out of it are left out and named in `left_out`; whatever is
    called `without` is left out silently. Raises `Invalid` for a file that cannot be read."""
    for path in _walk(root, without):
        name = str(path.relative_to(root))
        if path.is_symlink() and leads_out(name, str(path.readlink())):
            left_out.append(name)
        else:
            yield from _member(path, name, left_out)
    yield _END


def leads_out(name: str, goal: str) -> bool:
    """Report whether a link at `name` to `goal` could leave the tree. `..` counts only at the
    start: after a name, which may itself be a link, nobody knows what it goes up from."""
    depth = len(_split_path(name)) - 1
    parts = _split_path(goal)
    ups = next((count for count, part in enumerate(parts) if part != ".."), len(parts))
    return goal.startswith("/") or "\0" in goal or ups > depth or ".." in parts[ups:]


def _split_path(name: str) -> list[str]:
    return [part for part in name.split("/") if part not in ("", ".")]


def _walk(folder: Path, without: str) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if without and entry.name.casefold() == without:
            continue
        yield entry
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry, without)


def _member(path: Path, name: str, left_out: list[str]) -> Iterator[bytes]:
    try:
        status = path.lstat()
        info = _header(path, name, status)
        if info is None:
            left_out.append(name)
            return
        yield info.tobuf(tarfile.PAX_FORMAT, errors="surrogateescape")
        if info.isreg():
            yield from _contents(path, info.size)
    except OSError as problem:
        raise Invalid(f"{path} cannot be read: {problem.strerror}") from problem


def _header(path: Path, name: str, status: os.stat_result) -> tarfile.TarInfo | None:
    info = tarfile.TarInfo(name)
    info.mode = stat.S_IMODE(status.st_mode) & 0o777
    info.mtime = int(status.st_mtime)
    if stat.S_ISREG(status.st_mode):
        info.size = status.st_size
    elif stat.S_ISDIR(status.st_mode):
        info.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(status.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
    else:
        return None
    return info


def _contents(path: Path, size: int) -> Iterator[bytes]:
    """Yield exactly the announced size, whatever happens to the file meanwhile."""
    left = size
    with path.open("rb") as file:
        while left > 0:
            data = file.read(min(CHUNK_BYTES, left)) or bytes(min(CHUNK_BYTES, left))
            left -= len(data)
            yield data
    yield bytes(-size % tarfile.BLOCKSIZE)


def unpack(source: IO[bytes], folder: Path, left_out: list[str]) -> int:
    """Fill the empty `folder` from a tar stream; returns how many files. Links that lead out of
    it are left out and named in `left_out`. Raises `Failed` for names that lead out, for devices,
    and for an archive that breaks off; `LimitReached` for a file there is no room for, before
    any of it is written; `OSError` for a disk that refuses."""
    links: list[tarfile.TarInfo] = []
    modes: list[tuple[Path, int]] = []
    files, room = 0, FreeSpace(folder)
    try:
        with tarfile.open(fileobj=source, mode="r|") as archive:
            for count, member in enumerate(archive):
                if count >= MAX_MEMBERS:
                    raise Failed(f"the archive holds more than {MAX_MEMBERS} entries")
                if member.issym():
                    links.append(member)
                    continue
                room.admit(member.size, member.name)
                files += _place(archive, member, _TargetFolder(folder, room, modes))
    except tarfile.TarError as problem:
        raise Failed(f"the archive cannot be read: {problem}") from problem
    for link in links:
        if leads_out(link.name, link.linkname):
            left_out.append(link.name)
        else:
            _link(link, folder)
    for path, mode in reversed(modes):
        path.chmod(mode)
    return files


@dataclass(frozen=True, slots=True)
class _TargetFolder:
    """A folder while it is filled: what it has room for, and the modes its folders get at the
    end."""

    folder: Path
    room: FreeSpace
    modes: list[tuple[Path, int]]


def _place(archive: tarfile.TarFile, member: tarfile.TarInfo, into: _TargetFolder) -> int:
    target = _join_inside(into.folder, member.name)
    if member.isdir():
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Set at the end: a folder that is read-only must first be filled.
        into.modes.append((target, (member.mode & 0o777) | 0o700))
        return 0
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    if member.islnk():
        os.link(_join_inside(into.folder, member.linkname), target, follow_symlinks=False)
        return 1
    if not member.isreg():
        raise Failed(f"the archive holds {member.name!r}, which is neither file, folder nor link")
    data = archive.extractfile(member)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(target, flags, member.mode & 0o777), "wb") as out:
        if data is not None:
            write_sparse(out, iter(partial(data.read, CHUNK_BYTES), b""), into.room)
    return 1


def _join_inside(folder: Path, name: str) -> Path:
    """Return the path of a member below the folder. Raises `Failed` when it leads outside."""
    parts = _split_path(name)
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise Failed(f"the archive holds {name!r}, which leads out of its folder: nothing is kept")
    return folder.joinpath(*parts)


def _link(member: tarfile.TarInfo, folder: Path) -> None:
    place = _join_inside(folder, member.name)
    above = folder
    for part in place.parent.relative_to(folder).parts:
        above /= part
        if above.is_symlink():
            raise Failed(f"the archive holds {member.name!r} below a link: nothing is kept")
        above.mkdir(mode=0o755, exist_ok=True)
    place.symlink_to(member.linkname)
