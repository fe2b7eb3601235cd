"""Instructions of a sandbox, read from its repository before any agent runs."""

from dataclasses import replace

from atoll.domain.errors import Failed, Invalid
from atoll.domain.repository.reference import UNRESOLVED
from atoll.domain.sandboxes.instructions import instructions_path, read_instructions_text
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import RuntimeClient, WorkspacePreparer
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.scripts import Script, run_inside
from atoll.wire.words.sandboxes import MAX_INSTRUCTIONS
from atoll.wire.words.walls import WORKSPACE

# $1 file  $2 bytes
_READ = Script(
    "read the instructions",
    r"""
[ -f "$1" ] || exit 3
[ "$(wc -c < "$1")" -le "$2" ] || exit 4
exec cat -- "$1"
""",
    seconds=20.0,
)
_REASONS = {
    3: "there is no such file in the repository",
    4: f"it is longer than {MAX_INSTRUCTIONS} bytes",
}


class InstructionsCheck:
    """The check that a file of instructions is there, before anything is laid out or started."""

    def __init__(self, workspaces: WorkspacePreparer) -> None:
        self._workspaces = workspaces

    async def run(self, up: BringUp) -> None:
        """Check that. Raises `Invalid`."""
        await check_instructions(up.sandbox, self._workspaces, fetched=True)


class RepositoryInstructions:
    """The instructions, read from their file before any agent runs."""

    async def run(self, up: BringUp) -> None:
        """Read them where they are still to be. Raises `Failed`."""
        up.instructions = await resolve_instructions(up.sandbox, up.client)
        instructions = up.instructions or up.sandbox.instructions
        up.sandbox = replace(up.sandbox, instructions=instructions)


async def check_instructions(
    sandbox: Sandbox, workspaces: WorkspacePreparer, *, fetched: bool
) -> None:
    """Raise `Invalid` when the file that holds the instructions is in no repository of the
    sandbox, before anything is laid out or started."""
    ref = sandbox.setup_metadata.instructions_ref
    if ref is None or sandbox.instructions:
        return
    path = instructions_path(ref, has_repo=bool(sandbox.repos))
    where = await workspaces.lacks_file(sandbox, path, fetched=fetched)
    if where is not None:
        raise Invalid(
            f"{ref[:200]!r} cannot be read: there is no such file in {where}.",
            code=UNRESOLVED,
            field="setup_metadata.instructions_ref",
        )


async def resolve_instructions(sandbox: Sandbox, client: RuntimeClient) -> str | None:
    """Read the file that holds the instructions; None where nothing is to be resolved. Raises
    `Failed`: nothing of an agent's has run by then."""
    ref = sandbox.setup_metadata.instructions_ref
    if ref is None or sandbox.instructions:
        return None
    path = instructions_path(ref, has_repo=bool(sandbox.repos))
    outcome = await run_inside(client, _READ, (f"{WORKSPACE}/{path}", str(MAX_INSTRUCTIONS)))
    if outcome.code:
        branches = ", ".join(repo.branch for repo in sandbox.repos)
        why = _REASONS.get(outcome.code, outcome.said)
        raise _unreadable(ref, f"{why} (branch {branches})")
    try:
        return read_instructions_text(outcome.out.decode())
    except (UnicodeDecodeError, Invalid) as err:
        raise _unreadable(ref, "it is empty or no text") from err


def _unreadable(ref: str, why: str) -> Failed:
    return Failed(f"setup_metadata.instructions_ref {ref[:200]!r} cannot be read: {why}.")
