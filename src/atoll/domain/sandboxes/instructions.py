"""A sandbox's instructions: text for its agent, given once before the agent's first prompt.

They stand in the profile or the create request, or are named there: as a file of the sandbox's
repository, which is read before any agent runs, or of another one, which is read by the create.
Atoll itself never runs them.
"""

from atoll.domain.errors import Invalid
from atoll.domain.files.workspace_path import named_path
from atoll.domain.profile.profile import Profile
from atoll.domain.repository.reference import FileRef, read_file_ref
from atoll.domain.sandboxes.sandbox import SandboxRepo, SetupMetadata
from atoll.wire.words.sandboxes import MAX_INSTRUCTIONS

REPO = "repo:"

INSTRUCTIONS_REF = "setup_metadata.instructions_ref"
_TEXT = "setup_metadata.instructions"


def read_instructions(
    setup: SetupMetadata,
    profile: Profile,
    repos: tuple[SandboxRepo, ...],
    *,
    elsewhere: str | None = None,
) -> str:
    """Return the instructions known at the create, `""` for none or for those in a file that is
    still to be read. `elsewhere` are those of a repository that is not the sandbox's. Raises
    `Invalid` for a reference that cannot be resolved."""
    if setup.instructions_ref is not None:
        if setup.instructions is not None:
            raise Invalid("give the instructions or a reference to them, not both", field=_TEXT)
        if instructions_elsewhere(setup) is not None:
            return elsewhere or ""
        instructions_path(setup.instructions_ref, has_repo=bool(repos))
        return ""
    if setup.instructions is not None:
        return read_instructions_text(setup.instructions)
    return profile.setup.instructions


def instructions_elsewhere(setup: SetupMetadata) -> FileRef | None:
    """Return the file of a repository that is not the sandbox's, None where the reference names
    none. Raises `Invalid`."""
    ref = setup.instructions_ref
    if ref is None or ref.startswith(REPO):
        return None
    return read_file_ref(ref, field=INSTRUCTIONS_REF)


def instructions_path(ref: str, *, has_repo: bool) -> str:
    """Return the file that a reference names, relative to the workspace. Raises `Invalid`."""
    hint = (
        f"name a file of the sandbox's repository as {REPO}PATH, one of another as "
        "OWNER/REPO@REF:PATH, or send the text itself as "
    )
    return repository_path(ref, field=INSTRUCTIONS_REF, hint=f"{hint}{_TEXT}", has_repo=has_repo)


def repository_path(ref: str, *, field: str, hint: str, has_repo: bool) -> str:
    """Return the file that `repo:PATH` names, relative to the workspace. Raises `Invalid` with the
    hint."""
    if not ref.startswith(REPO):
        raise Invalid(f"{ref[:80]!r} cannot be resolved: {hint}", field=field)
    if not has_repo:
        raise Invalid(f"{REPO}PATH needs a repository: this sandbox has none", field=field)
    return named_path(ref.removeprefix(REPO), field=field)


def read_instructions_text(words: str) -> str:
    """Return instructions that are not empty. Raises `Invalid`."""
    size = len(words.encode("utf-8", "surrogatepass"))
    if not words.strip() or "\0" in words or size > MAX_INSTRUCTIONS:
        raise Invalid(
            f"instructions are 1 to {MAX_INSTRUCTIONS} bytes of text without NUL", field=_TEXT
        )
    return words
