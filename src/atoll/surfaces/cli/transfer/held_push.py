"""Held pushes: branches pushed inside a sandbox, brought into the person's checkout or dropped.

A bundle was checked by the server and is checked again by git here. Once a branch is here, the
server drops its copy.
"""

import tempfile
from pathlib import Path

from atoll.client.client import Client
from atoll.client.made.library.unpulled import HeldPush
from atoll.client.transport import Call, api_path
from atoll.domain.errors import Conflict, NotFound
from atoll.surfaces.cli.console.output import show_table
from atoll.surfaces.cli.transfer.pulled_branch import (
    BUNDLE_SECONDS,
    BranchRequest,
    PulledBranch,
    act_of,
    report_pull,
    take_in,
)
from atoll.surfaces.cli.transfer.sparse import FreeSpace, write_sparse


def bring_pushed(
    api: Client, sandbox: str, checkout: Path, *, wanted: BranchRequest, into: str | None = None
) -> PulledBranch:
    """Bring the held branch `wanted.branch` into `into` (its own name when None) of `checkout`.
    Raises `NotFound`, `Conflict` when it is not the expected one, and as `take_in`."""
    held = find_push(api, sandbox, wanted)
    if wanted.expects is not None and held.commit != wanted.expects:
        raise Conflict(
            f"{held.branch} was pushed again: it is at {held.commit[:12]}, and you saw it at "
            f"{wanted.expects[:12]}. Look at it and pull it again.",
            code="not_as_shown",
        )
    call = Call(
        "GET",
        api_path("kept", held.kept_id, "bundle"),
        (("repo", str(held.repo)),),
        timeout=BUNDLE_SECONDS,
    )
    with tempfile.TemporaryDirectory(prefix="atoll-pull-") as folder:
        file = Path(folder) / "pushed.bundle"
        with api.transport.open(call) as stream, file.open("wb") as target:
            write_sparse(target, iter(stream.read, b""), FreeSpace(file.parent))
        act = act_of(api, sandbox)
        pulled = take_in(checkout, file, branch=into, wanted=wanted, act=act)
    report_pull(api, sandbox, held.repo, pulled.commit)
    api.kept.delete(held.kept_id)
    return pulled


def drop_pushed(api: Client, sandbox: str, wanted: BranchRequest) -> HeldPush:
    """Delete a held push from the server. Raises `NotFound`."""
    held = find_push(api, sandbox, wanted)
    api.kept.delete(held.kept_id)
    return held


def find_push(api: Client, sandbox: str, wanted: BranchRequest) -> HeldPush:
    """Return the held push of a branch. Raises `NotFound` with those there are."""
    there = api.sandboxes.pushes(sandbox).pushes
    for push in there:
        if (push.repo, push.branch) == (wanted.repo, wanted.branch):
            return push
    names = ", ".join(push.branch for push in there[:5]) or "none"
    raise NotFound(f"{sandbox} holds no pushed branch {wanted.branch!r}; it holds {names}.")


def show_pushes(pushes: list[HeldPush]) -> None:
    """Print held pushes as a table."""
    rows = [(push.branch, push.commit[:12], str(push.commits), push.subject) for push in pushes]
    show_table(("BRANCH", "COMMIT", "NEW", "SUBJECT"), rows)
