"""Checkpoints of a sandbox's working trees: list them, and go back to one.

They are commits inside the sandbox that nobody else has. Going back first saves the present files
as a checkpoint, so that it can itself be undone.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from atoll.domain.errors import NotFound
from atoll.domain.people.principal import Principal
from atoll.services.library.changes import tree_of
from atoll.services.library.tree_edits import check, printed_number
from atoll.services.library.tree_scripts import NO_SUCH_CHECKPOINT, RESTORE
from atoll.services.sandboxes.runtime_access import RuntimeAccess
from atoll.services.scripts import Script, run_inside
from atoll.wire.git.checkpoints import MAX_CHECKPOINTS, POINTS, QUIET

_MAX_TIME = 253_402_300_799

# $1 folder  $2 ""
# Prints of each checkpoint number, commit, time, terminal and subject, each ended by NUL.
LIST = Script(
    "list the checkpoints",
    QUIET
    + POINTS
    + r"""
points | tail -n 60 | while read -r number commit; do
  printf '%s\0%s\0' "$number" "$commit"
  theirs log -1 --no-show-signature --no-color --encoding=UTF-8 --format='%ct%x00%s' "$commit" \
    | tr '\n' '\0'
done
""",
    seconds=60.0,
    unrecorded=True,
)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state of the files: its number counts up in its repository, and `subject` names what
    followed it."""

    number: int
    commit: str
    at: datetime
    subject: str


class Checkpoints:
    """Use cases on checkpoints. Methods raise the errors of a sandbox's runtime, `NotFound` without
    a repository, `Failed` when git inside does not answer."""

    def __init__(self, access: RuntimeAccess) -> None:
        self._access = access

    async def list(self, caller: Principal, ref: str, *, repo: int = 0) -> tuple[Checkpoint, ...]:
        """Return the checkpoints, newest first."""
        async with self._access.reading(caller, ref) as (sandbox, client):
            tree = tree_of(sandbox, repo)
            outcome = await run_inside(client, LIST, (tree.path, ""))
        check(outcome, tree)
        texts = [part.decode("utf-8", "replace") for part in outcome.out.split(b"\0")[:-1]]
        rows = zip(*(texts[start::4] for start in range(4)), strict=False)
        checkpoints = [checkpoint for row in rows if (checkpoint := _read(*row)) is not None]
        return tuple(reversed(checkpoints))[:MAX_CHECKPOINTS]

    async def restore(self, caller: Principal, ref: str, number: int, *, repo: int = 0) -> int:
        """Bring the files and the branch back to a checkpoint. Returns the number of the checkpoint
        that saves the present ones. Raises `NotFound`, and `Conflict` while git is at work
        inside."""
        sandbox, client = await self._access.runtime(caller, ref, activity=True)
        tree = tree_of(sandbox, repo)
        outcome = await run_inside(client, RESTORE, (tree.path, "", str(number)))
        if outcome.code == NO_SUCH_CHECKPOINT:
            raise NotFound(f"{tree.path} has no checkpoint {number}: list them.")
        check(outcome, tree)
        return printed_number(outcome)


def _read(number: str, commit: str, at: str, subject: str) -> Checkpoint | None:
    """Return a checkpoint; None for one that is not as they are written."""
    if not (number.isdecimal() and at.isdecimal() and len(at) < 13 and len(number) < 10):
        return None
    moment = datetime.fromtimestamp(min(int(at), _MAX_TIME), UTC)
    return Checkpoint(int(number), commit[:64], moment, subject[:200])
