"""`atoll cp`: files and trees between this machine and a sandbox."""

import io
import re
import shutil
import sys
import tempfile
from pathlib import Path, PurePosixPath

import click

from atoll.client.client import Client
from atoll.client.transport import Call, Stream, api_path
from atoll.domain.errors import Invalid, NotFound
from atoll.domain.files.outgoing_file import FileDecision, judge
from atoll.domain.size import spelled_size
from atoll.surfaces.cli.console.guard import GuardedStream
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, show_json
from atoll.surfaces.cli.console.references import whole_name
from atoll.surfaces.cli.dispatch.remote_names import remote_paths
from atoll.surfaces.cli.transfer.arrived_tree import (
    Notices,
    refuse_within_repository,
    take_repositories_out,
)
from atoll.surfaces.cli.transfer.sandbox_files import (
    PIPE,
    SandboxPath,
    StreamFile,
    entry_at,
    is_folder,
    send,
    total_of,
)
from atoll.surfaces.cli.transfer.sparse import TOLD_BYTES, FreeSpace, write_sparse
from atoll.surfaces.cli.transfer.tree import CHUNK_BYTES, unpack

_REMOTE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*):(.*)", re.DOTALL)


@needs("file.read")
@click.command("cp", epilog="Sandbox paths are relative to /workspace. `./a:b` is a local name.")
@click.argument("source", metavar="SRC", shell_complete=remote_paths)
@click.argument("target", metavar="DST", shell_complete=remote_paths)
@click.option(
    "--with-secrets", is_flag=True, help="Copy files that contain a secret of yours, too."
)
@json_option()
@pass_invocation
def command(
    invocation: Invocation, source: str, target: str, *, with_secrets: bool, as_json: bool
) -> None:
    """Copy files and folders into or out of a sandbox.

    One side is NAME:PATH, the other a local path or `-` (a file, or the tar of a folder, on
    stdout; a file on stdin).
    """
    api = invocation.api()
    inside_from, inside_to = _place(invocation, source), _place(invocation, target)
    if (inside_from is None) == (inside_to is None):
        raise click.UsageError("Exactly one side must be NAME:PATH.")
    if inside_from is not None:
        query = (("secrets", "allow"),) if with_secrets else ()
        copied = _fetch(api, inside_from, target, query=query)
    elif inside_to is not None:
        copied = send(api, source, inside_to)
    else:
        return
    if as_json and target != PIPE:
        show_json({"files": copied})


def _place(invocation: Invocation, text: str) -> SandboxPath | None:
    match = _REMOTE.fullmatch(text)
    return SandboxPath(whole_name(invocation.api, match[1]), match[2]) if match else None


def _path(place: SandboxPath) -> tuple[tuple[str, str], ...]:
    return (("path", place.path or "."),)


def _fetch(
    api: Client, place: SandboxPath, target: str, *, query: tuple[tuple[str, str], ...]
) -> int:
    entry = entry_at(api, place)
    if entry is None:
        raise NotFound(f"{place.sandbox} has no file or folder {place.path!r}")
    folder = is_folder(api, place, entry)
    landing = None if target == PIPE else _landing(target, place)
    if landing is not None:
        whole = total_of(api, place.sandbox, place.path) if folder else entry.size
        _check(place, landing, size=whole)
    call = Call(
        "GET",
        api_path("sandboxes", place.sandbox, "files", "archive" if folder else "content"),
        (*_path(place), *query),
        (("Accept", "*/*"),),
    )
    with api.transport.open(call) as stream:
        if landing is None:
            out = GuardedStream(sys.stdout.buffer)
            for data in iter(stream.read, b""):
                out.write(data)
            return 1
        return _write(stream, landing, folder=folder)


def _check(place: SandboxPath, landing: Path, *, size: int) -> None:
    """Report a large size, and raise `LimitReached` where it does not fit, `Invalid` for a part of
    a repository, there or here: git here would run what its settings name."""
    if judge(place.path, frozenset()) is FileDecision.STAYS:
        raise Invalid(
            f"{place.path} is part of a git repository, which is never copied out as one: "
            "`atoll pull` fetches its commits, and `-` in place of a path prints its bytes"
        )
    refuse_within_repository(landing)
    what = f"{place.sandbox}:{place.path}"
    FreeSpace(landing.parent).admit(size, what)
    if size >= TOLD_BYTES:
        note(f"{what} is {spelled_size(size)} large")
    if judge(landing.name, frozenset()) is FileDecision.FLAGGED and size:
        Notices(flagged=[landing.name]).print()


def _landing(target: str, place: SandboxPath) -> Path:
    """Return the target as `cp` does: in an existing directory under the source's own name."""
    path = Path(target)
    if path.is_dir():
        name = PurePosixPath(place.path).name
        path = path / (name if name not in ("", "..") else place.sandbox)
    if not path.parent.is_dir():
        raise Invalid(f"there is no folder {path.parent}: make it first")
    if path.exists() and not (path.is_file() or path.is_dir()):
        # The rename at the end would put a file in place of the device.
        raise Invalid(f"{path} is neither a file nor a folder: name `-` and redirect it there")
    return path


def _write(stream: Stream, target: Path, *, folder: bool) -> int:
    """Write into a fresh place beside the target, then rename: a broken line leaves nothing half
    done."""
    if folder and target.exists():
        raise Invalid(f"{target} exists already: move it away first")
    fresh = Path(tempfile.mkdtemp(prefix=".atoll-", dir=target.parent))
    try:
        if folder:
            inner = fresh / "tree"
            inner.mkdir()
            notices = Notices()
            packed = io.BufferedReader(StreamFile(stream), CHUNK_BYTES)
            files = unpack(packed, inner, notices.left_out)
            take_repositories_out(inner, notices)
            inner.rename(target)
            notices.print()
            return files
        part = fresh / "file"
        with part.open("xb") as out:
            write_sparse(out, iter(stream.read, b""), FreeSpace(fresh))
        part.replace(target)
        return 1
    except OSError as problem:
        raise Invalid(f"{target} cannot be written: {problem.strerror}") from problem
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
