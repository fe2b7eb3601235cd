"""A folder of this machine mirrored in a sandbox: sent when it is made, its changes brought back.

What was sent is remembered by digest. A file comes back when only the sandbox changed it; when
both did, nothing is written unless the person insists. `.git` stays on its side: settings and
hooks an agent wrote would run here. No link is followed while writing.
"""

import hashlib
import io
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from atoll.client.client import Client
from atoll.client.fields import Json
from atoll.client.transport import Call, api_path
from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.domain.files.outgoing_file import FileDecision, judge, repositories
from atoll.surfaces.cli.console.memory import state_file
from atoll.surfaces.cli.transfer.arrived_tree import Notices, refuse_within_repository
from atoll.surfaces.cli.transfer.sandbox_files import StreamFile, total_of
from atoll.surfaces.cli.transfer.sparse import FreeSpace, write_sparse
from atoll.surfaces.cli.transfer.tree import CHUNK_BYTES, pack, unpack
from atoll.wire.http.unreadable import UNREADABLE

GIT = ".git"
SHOWN = 10
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Tree = dict[str, str]
"""Contents of a directory: a path below it → `f` or `x` (may be run) and its digest, or `l` and the
link's goal."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror: the folder here, and what both sides last agreed on."""

    root: str
    files: Tree = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TransferResult:
    """Result of a transfer back: paths written, and paths removed. `notices` name what to look at,
    and what git would take for a repository, which stays inside."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    notices: Notices = field(default_factory=Notices)

    def value(self) -> dict[str, Json]:
        """Return the value as JSON."""
        return {
            "written": list(self.written),
            "removed": list(self.removed),
            "flagged": list(self.notices.flagged),
            "stayed": list(self.notices.stayed),
        }


def send_mirror(api: Client, environ: Mapping[str, str], sandbox_id: str, root: Path) -> list[str]:
    """Send the folder and record its state. Returns the paths that were left out."""
    mirror = Mirror(str(root), scan(root))
    left_out: list[str] = []
    api.files.unpack(sandbox_id, ".", pack(root, left_out, without=GIT))
    _remember(environ, sandbox_id, mirror)
    return left_out


def bring_back(
    api: Client,
    environ: Mapping[str, str],
    sandbox_id: str,
    *,
    into: Path | None = None,
    force: bool = False,
) -> TransferResult:
    """Write what changed inside into the folder here; `into` is that folder where this machine did
    not send it. Raises `NotFound` when there is neither, `Conflict` naming what changed on both
    sides (nothing is written then)."""
    mirror = _recall(environ, sandbox_id, into)
    refuse_within_repository(Path(mirror.root))
    fresh = Path(tempfile.mkdtemp(prefix="atoll-mirror-"))
    try:
        _download(api, sandbox_id, fresh)
        theirs, ours = scan(fresh), scan(Path(mirror.root))
        changed = {
            path
            for path in {*theirs, *mirror.files}
            if theirs.get(path) not in (mirror.files.get(path), ours.get(path))
        }
        stayed = _staying_paths(changed, fresh, Path(mirror.root))
        changed -= stayed
        both = sorted(path for path in changed if ours.get(path) != mirror.files.get(path))
        if both and not force:
            more = f" and {len(both) - SHOWN} more" if len(both) > SHOWN else ""
            raise Conflict(
                f"changed here as well as inside: {', '.join(both[:SHOWN])}{more}; nothing was "
                "written. Move your changes away, or overwrite them with --force",
                code="both_changed",
            )
        brought = _apply(fresh, Path(mirror.root), theirs, changed)
        brought.notices.stayed.extend(sorted(stayed))
        brought.notices.flagged.extend(
            path for path in brought.written if _is_flagged(path, theirs, ours)
        )
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    agreed = {path: kind for path, kind in theirs.items() if path not in stayed}
    _remember(environ, sandbox_id, Mirror(mirror.root, agreed))
    return brought


def _staying_paths(changed: set[str], fresh: Path, root: Path) -> set[str]:
    # What is here already and what comes may make a repository together.
    folders = repositories((*_paths(fresh), *_paths(root)))
    return {path for path in changed if judge(path, folders) is FileDecision.STAYS}


def _paths(root: Path) -> Iterator[str]:
    """Yield every directory and file, but for what a `.git` holds."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name.casefold() != GIT]
        below = os.path.relpath(folder, root)
        yield from (f"{below}/{name}" for name in (*names, *files))


def _is_flagged(path: str, theirs: Tree, ours: Tree) -> bool:
    program = theirs[path].startswith("x") and not ours.get(path, "").startswith("x")
    return judge(path, frozenset(), executable=program) is FileDecision.FLAGGED


def scan(root: Path) -> Tree:
    """Return what the directory holds, without `.git` anywhere, following nothing. Raises `Invalid`
    for what cannot be read."""
    try:
        return _scan_folder(root)
    except OSError as err:
        raise Invalid(f"{root} cannot be read: {err}") from err


def _scan_folder(root: Path) -> Tree:
    tree: Tree = {}
    for folder, names, files, at_ in os.fwalk(root, follow_symlinks=False):
        names[:] = [name for name in names if name.casefold() != GIT]
        below = os.path.relpath(folder, root)
        for name in (*names, *files):
            mode = os.stat(name, dir_fd=at_, follow_symlinks=False).st_mode
            path = os.path.normpath(f"{below}/{name}")
            if stat.S_ISLNK(mode):
                tree[path] = "l" + os.readlink(name, dir_fd=at_)
            elif stat.S_ISREG(mode) and name.casefold() != GIT:
                tree[path] = ("x" if mode & 0o100 else "f") + _digest(name, at_)
    return tree


def _digest(name: str, at_: int) -> str:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at_)
    with os.fdopen(fd, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _download(api: Client, sandbox_id: str, fresh: Path) -> None:
    whole = total_of(api, sandbox_id, ".")
    FreeSpace(fresh).admit(whole, "what this sandbox holds")
    path = api_path("sandboxes", sandbox_id, "files", "archive")
    with api.transport.open(Call("GET", path, (("path", "."),), (("Accept", "*/*"),))) as stream:
        unpack(io.BufferedReader(StreamFile(stream), CHUNK_BYTES), fresh, [])


def _apply(fresh: Path, root: Path, theirs: Tree, changed: set[str]) -> TransferResult:
    written: list[str] = []
    removed: list[str] = []
    try:
        top = os.open(root, _FOLDER)
    except OSError as err:
        raise Invalid(f"{root} cannot be written to: {err.strerror}") from err
    room = FreeSpace(root)
    try:
        coming = (fresh / path for path in changed if path in theirs)
        room.admit(sum(file.lstat().st_blocks * 512 for file in coming), "what changed inside")
        for path in sorted(changed):
            kind = theirs.get(path)
            try:
                _change(top, path, kind, fresh, room)
            except OSError as err:
                raise Invalid(f"{path} cannot be changed here: {err.strerror}") from err
            (removed if kind is None else written).append(path)
    finally:
        os.close(top)
    return TransferResult(tuple(written), tuple(removed))


def _change(top: int, path: str, kind: str | None, fresh: Path, room: FreeSpace) -> None:
    """Write one file, or with `kind` None remove it."""
    name = path.rpartition("/")[2]
    with _parent(top, path, make=kind is not None) as folder:
        if folder is not None and kind is not None:
            _put(fresh / path, kind, (folder, name), room)
        elif folder is not None:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


@contextmanager
def _parent(top: int, path: str, *, make: bool) -> Iterator[int | None]:
    """Yield the directory of `path`, reached from `top` without following a link; None where it is
    gone and not to be made."""
    held = os.dup(top)
    try:
        for part in path.split("/")[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=held)
            inner = os.open(part, _FOLDER, dir_fd=held)
            os.close(held)
            held = inner
    except FileNotFoundError:
        if make:
            raise
        os.close(held)
        yield None
        return
    try:
        yield held
    finally:
        os.close(held)


def _put(source: Path, kind: str, place: tuple[int, str], room: FreeSpace) -> None:
    """Write the file beside its place (a folder and a name in it), then rename it: a link there is
    replaced, not followed."""
    folder, name = place
    part = f".atoll-{secrets.token_hex(8)}"
    try:
        if kind.startswith("l"):
            os.symlink(kind[1:], part, dir_fd=folder)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(part, flags, 0o755 if kind.startswith("x") else 0o644, dir_fd=folder)
            with source.open("rb") as data, os.fdopen(fd, "wb") as out:
                write_sparse(out, iter(partial(data.read, CHUNK_BYTES), b""), room)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        with suppress(FileNotFoundError):
            os.unlink(part, dir_fd=folder)
        if error.filename == part:
            error.filename = name
        raise


def _remember(environ: Mapping[str, str], sandbox_id: str, mirror: Mirror) -> None:
    path = state_file(environ, f"mirrors/{sandbox_id}.json")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.new")
    fresh.touch(mode=0o600)
    fresh.write_bytes(msgspec.json.encode(mirror))
    fresh.replace(path)


def _recall(environ: Mapping[str, str], sandbox_id: str, into: Path | None) -> Mirror:
    path = state_file(environ, f"mirrors/{sandbox_id}.json")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Mirror)
    except (OSError, *UNREADABLE) as err:
        if into is not None:
            # Nothing is known of what both sides agreed on: every difference is a change inside.
            return Mirror(str(into.resolve()))
        raise NotFound(
            "this sandbox mirrors a folder that was not sent from here: name the one to write "
            "into with `atoll pull NAME -C FOLDER`"
        ) from err
