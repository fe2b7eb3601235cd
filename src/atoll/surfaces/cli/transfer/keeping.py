"""Writing a sandbox's files and new commits down on this machine, before or after it goes.

Everything lands in a fresh folder beside the target and is renamed when it is whole. What git
would take for a repository gets other names: its settings and hooks were written inside and would
run here.
"""

import io
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from atoll.client.client import Client
from atoll.client.fields import Json
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.transport import Call, api_path
from atoll.domain.errors import AtollError, Conflict, Invalid, LimitReached
from atoll.surfaces.cli.console.invocation import Invocation
from atoll.surfaces.cli.console.memory import state_file
from atoll.surfaces.cli.console.output import note, say
from atoll.surfaces.cli.console.waiting import name_of
from atoll.surfaces.cli.transfer.arrived_tree import (
    Notices,
    disarm_repositories,
    refuse_within_repository,
)
from atoll.surfaces.cli.transfer.pulled_branch import BUNDLE_SECONDS
from atoll.surfaces.cli.transfer.sandbox_files import StreamFile, total_of
from atoll.surfaces.cli.transfer.sparse import FreeSpace, write_sparse
from atoll.surfaces.cli.transfer.tree import CHUNK_BYTES, unpack
from atoll.wire.http.unreadable import UNREADABLE

FOLDER = "atoll-kept"
MAX_RECORDS = 1000


@dataclass(frozen=True, slots=True)
class WorkSource:
    """Source of files and commits: the archive with the `size` its files claim, and a bundle for
    each repository number."""

    archive: Call
    size: int
    bundles: tuple[tuple[int, Call], ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A worktree that was written here: its folder and the bundles beside it."""

    name: str
    path: str
    at: str
    bundles: tuple[str, ...] = ()

    def value(self) -> dict[str, Json]:
        """Return the record as JSON."""
        return {"path": self.path, "bundles": list(self.bundles)}


@dataclass(frozen=True, slots=True)
class KeepOptions:
    """Options of keeping: `to` None is a directory of the sandbox's name below `~/atoll-kept`;
    `quiet` leaves stdout to others."""

    to: Path | None = None
    with_secrets: bool = False
    quiet: bool = False


def keep_before(invocation: Invocation, sandbox: Sandbox, keeping: KeepOptions) -> Record | None:
    """Write a sandbox's files and new commits down before something takes them away, and print
    where. Raises the error of what failed, saying that nothing was taken away. None where there
    never was a workspace."""
    if sandbox.state == "failed" and not sandbox.ready_at:
        return None
    try:
        record = _keep_work(invocation, sandbox, keeping)
    except AtollError as error:
        message = f"the files of {name_of(sandbox)} were not kept, so it was left as it is: "
        raise type(error)(message + error.message, code=error.code) from error
    for path in () if keeping.quiet else (record.path, *record.bundles):
        say(f"kept {path}")
    for bundle in record.bundles:
        note(f"its commits: git -C CHECKOUT fetch {bundle} 'refs/heads/*:refs/kept/*'")
    return record


def _keep_work(invocation: Invocation, sandbox: Sandbox, keeping: KeepOptions) -> Record:
    sandbox_id = sandbox.sandbox_id
    query = (("path", ""), *((("secrets", "allow"),) if keeping.with_secrets else ()))
    archive = Call("GET", api_path("sandboxes", sandbox_id, "files", "archive"), query)
    bundle = api_path("sandboxes", sandbox_id, "bundle")
    bundles = tuple(
        (number, Call("GET", bundle, (("repo", str(number)), ("all", "true"))))
        for number in range(len(sandbox.repos))
    )
    source = WorkSource(archive, total_of(invocation.api(), sandbox_id, "."), bundles)
    return write_down(invocation, name_of(sandbox), source, to=keeping.to)


def write_down(invocation: Invocation, name: str, source: WorkSource, *, to: Path | None) -> Record:
    """Write what `source` gives and remember where; prints what to look at. Raises what reading
    raises, `LimitReached` for a disk that refuses; nothing is left half written then."""
    api, environ = invocation.api(), invocation.environ
    target = _target(environ, name, to)
    refuse_within_repository(target)
    notices = Notices()
    try:
        with _new_folder(target) as fresh:
            tree = fresh / "tree"
            tree.mkdir()
            FreeSpace(fresh).admit(source.size, name)
            _fill(api, source.archive, tree, notices)
            written = [
                file
                for number, call in source.bundles
                if (file := _bundle(api, call, fresh / str(number), number)) is not None
            ]
            # Whatever is destroyed afterwards is gone: this must not be lost with the power.
            os.sync()
            bundles = _place(target, tree, written, several=len(source.bundles) > 1)
    except OSError as error:
        raise LimitReached(f"{target} cannot be written: {error.strerror}") from error
    except Conflict as error:
        raise _explain(error) from error
    record = Record(name, str(target), datetime.now(UTC).isoformat(timespec="seconds"), bundles)
    _remember(environ, record)
    notices.print()
    return record


def records(environ: Mapping[str, str]) -> list[Record]:
    """Return the worktrees written here that are still there, newest first."""
    try:
        worktrees = msgspec.json.decode(_path(environ).read_bytes(), type=list[Record])
    except (OSError, *UNREADABLE):
        return []
    return [record for record in worktrees if Path(record.path).is_dir()]


def forget(environ: Mapping[str, str], gone: list[Record]) -> None:
    """Delete these folders and bundles of this machine. Raises `Invalid`."""
    for record in gone:
        try:
            shutil.rmtree(record.path)
            for bundle in record.bundles:
                Path(bundle).unlink(missing_ok=True)
        except OSError as error:
            raise Invalid(f"{record.path} cannot be removed: {error.strerror}") from error
    _write(environ, [record for record in records(environ) if record not in gone])


def _target(environ: Mapping[str, str], name: str, to: Path | None) -> Path:
    if to is not None:
        target = to.expanduser().absolute()
        if target.exists() or target.is_symlink():
            raise Invalid(f"{target} exists already: name a new folder, or move it away")
        return target
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    number = 1
    while _is_taken(target := home / FOLDER / (name if number == 1 else f"{name}-{number}")):
        number += 1
    return target


def _is_taken(target: Path) -> bool:
    """Return whether the directory, or a bundle that belongs beside it, is there."""
    beside = target.parent.glob(f"{target.name}.*bundle") if target.parent.is_dir() else iter(())
    return target.exists() or target.is_symlink() or any(True for _ in beside)


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".atoll-", dir=target.parent))
    try:
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _fill(api: Client, archive: Call, tree: Path, notices: Notices) -> None:
    with api.transport.open(archive) as stream:
        unpack(io.BufferedReader(StreamFile(stream), CHUNK_BYTES), tree, notices.left_out)
        # An archive that was cut off behind its last file is noticed only here.
        for _ in iter(stream.read, b""):
            pass
    disarm_repositories(tree, notices)


def _bundle(api: Client, call: Call, file: Path, number: int) -> tuple[int, Path] | None:
    """Return the bundle's file, or None where there is no new commit (or no repository any
    more)."""
    asked = Call(call.method, call.path, call.query, call.headers, timeout=BUNDLE_SECONDS)
    try:
        with api.transport.open(asked) as stream, file.open("xb") as out:
            write_sparse(out, iter(stream.read, b""), FreeSpace(file.parent))
    except Conflict as error:
        if error.code != "nothing_new":
            raise
        return None
    return number, file


def _place(
    target: Path, tree: Path, written: list[tuple[int, Path]], *, several: bool
) -> tuple[str, ...]:
    """Rename all files into place; the tree comes last, because its presence means that all is
    complete."""
    placed = []
    for number, file in written:
        kind = f".{number}.bundle" if several else ".bundle"
        beside = target.with_name(target.name + kind)
        if beside.exists():
            raise Invalid(f"{beside} exists already: move it away first")
        file.rename(beside)
        placed.append(str(beside))
    tree.chmod(0o755)
    tree.rename(target)
    return tuple(placed)


def _explain(error: Conflict) -> AtollError:
    if error.code != "holds_secret":
        return error
    message = "its files contain a secret of yours: add --with-secrets to write them here anyway"
    return Conflict(message, code=error.code)


def _remember(environ: Mapping[str, str], record: Record) -> None:
    _write(environ, [record, *records(environ)][:MAX_RECORDS])


def _write(environ: Mapping[str, str], worktrees: list[Record]) -> None:
    path = _path(environ)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as new:
            new.write(msgspec.json.encode(worktrees))
        Path(new.name).replace(path)
    except OSError as error:
        note(f"atoll: `atoll kept` will not list this: {error.strerror}")


def _path(environ: Mapping[str, str]) -> Path:
    return state_file(environ, "kept.json")
