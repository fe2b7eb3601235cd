"""The references of a create, resolved before anything starts.

What does not resolve is refused by its field, and no sandbox is made. A repository that cannot be
fetched in time is judged at the start of its sandbox.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace

from atoll.domain.compose.stack import Stack
from atoll.domain.errors import AtollError, Invalid, NotFound
from atoll.domain.repository.reference import UNRESOLVED, FileRef
from atoll.domain.sandboxes.create import REPO_REF, source_of
from atoll.domain.sandboxes.instructions import (
    INSTRUCTIONS_REF,
    instructions_elsewhere,
    read_instructions_text,
)
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, Sandbox, SandboxRepo
from atoll.ports import WorkspacePreparer
from atoll.services.provisioning.compose_file import read_named_stack
from atoll.services.provisioning.steps.instructions import check_instructions
from atoll.wire.words.sandboxes import MAX_INSTRUCTIONS
from atoll.wire.words.walls import WORKSPACE

FETCH_SECONDS = 20.0
"""The time for which a create waits for a repository that a reference names."""


@dataclass(frozen=True, slots=True)
class ResolvedReferences:
    """The things that references of a create name: the services of a compose file, and instructions
    of a repository that is not the sandbox's; None where they name none."""

    stack: Stack | None = None
    instructions: str | None = None


NONE_NAMED = ResolvedReferences()


def names_references(request: CreateSandbox) -> bool:
    """Report whether a create names something that is to be resolved."""
    inputs, setup = request.inputs, request.setup_metadata
    named = (inputs.repo_ref, inputs.compose_bundle_ref, setup.instructions_ref)
    return any(reference is not None for reference in named)


class References:
    """A resolver of references. Repositories on this machine's loopback count only where these may
    be named."""

    def __init__(self, workspaces: WorkspacePreparer, *, allow_loopback: bool) -> None:
        self._workspaces = workspaces
        self._allow_loopback = allow_loopback

    async def resolve(self, wanted: Sandbox) -> ResolvedReferences:
        """Resolve the references of a sandbox that is wanted. Git is asked, so this comes before
        the transaction. Raises `Invalid` (code `unresolved_reference` for what is not there), and
        `Unavailable`, each with its field."""
        inputs, setup = wanted.inputs, wanted.setup_metadata
        elsewhere = instructions_elsewhere(setup)
        if inputs.repo_ref is not None:
            await self._check_repositories(wanted)
        elif inputs.compose_bundle_ref is not None or (
            setup.instructions_ref is not None and elsewhere is None
        ):
            # A repository that is not here yet is fetched now: its start needs it anyway, and a
            # wrong reference is refused instead of a sandbox failing.
            with suppress(AtollError, TimeoutError):
                async with asyncio.timeout(FETCH_SECONDS):
                    await self._workspaces.mounts_for(wanted.org_id, wanted.repos)
        if elsewhere is None:
            await check_instructions(wanted, self._workspaces, fetched=False)
        stack = await read_named_stack(wanted, self._workspaces)
        words = None if elsewhere is None else await self._read_words(wanted, elsewhere)
        return ResolvedReferences(stack, words)

    async def _check_repositories(self, wanted: Sandbox) -> None:
        """Check that the repositories of a sandbox are there, with what their trees begin from."""
        org_id, repos = wanted.org_id, wanted.repos
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                await self._workspaces.mounts_for(org_id, repos)
                await self._workspaces.check_starts(org_id, repos, fetched=True)
        except TimeoutError:
            return
        except AtollError as error:
            raise _with_field(error, REPO_REF) from error

    async def _read_words(self, wanted: Sandbox, file: FileRef) -> str:
        """Return the instructions in a file of a repository that is not the sandbox's."""
        try:
            holding = replace(wanted, repos=(self._repository(file),))
            async with asyncio.timeout(FETCH_SECONDS):
                await self._workspaces.mounts_for(wanted.org_id, holding.repos)
            content = await self._workspaces.read_file(
                holding, file.path, max_bytes=MAX_INSTRUCTIONS
            )
            if content is None:
                raise NotFound("there is no such file")
            return read_instructions_text(content.decode())
        except UnicodeDecodeError as error:
            raise Invalid("it is no text", code=UNRESOLVED, field=INSTRUCTIONS_REF) from error
        except TimeoutError as error:
            raise Invalid(
                f"its repository could not be fetched in {FETCH_SECONDS:.0f} s",
                code=UNRESOLVED,
                field=INSTRUCTIONS_REF,
            ) from error
        except AtollError as error:
            raise _with_field(error, INSTRUCTIONS_REF) from error

    def _repository(self, file: FileRef) -> SandboxRepo:
        named = file.repository
        request = RepoRequest(named.address, key=named.key)
        url, _ = source_of(request, allow_loopback=self._allow_loopback)
        # No branch: its tree would begin where HEAD is, unless the reference says otherwise.
        return SandboxRepo(url, "", named.ref, WORKSPACE, named.key)


def _with_field(error: AtollError, field: str) -> AtollError:
    """Return an error as one of a reference in a field: what is not there makes the request
    itself wrong."""
    if isinstance(error, (Invalid, NotFound)):
        return Invalid(error.message, code=UNRESOLVED, field=field)
    return type(error)(error.message, code=error.code, field=field)
