"""The compose file of a sandbox, uploaded or of its repository, for a backend that runs one."""

from atoll.domain.compose.document import check_stack
from atoll.domain.compose.env_files import find_env_files, write_out
from atoll.domain.compose.reading import check_upload, read_stack
from atoll.domain.compose.stack import Stack
from atoll.domain.errors import Invalid, NotFound
from atoll.domain.profile.yaml_tree import MAX_BYTES
from atoll.domain.repository.reference import UNRESOLVED
from atoll.domain.routes.candidate import COMPOSE_REF as FIELD
from atoll.domain.sandboxes.image import HOST
from atoll.domain.sandboxes.instructions import REPO, repository_path
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Extension, WorkspacePreparer


async def read_compose_file(
    sandbox: Sandbox, extension: Extension, workspaces: WorkspacePreparer
) -> str | None:
    """Return the file that came with the sandbox's create, or the one that it names, as its
    repository has it where the tree begins; None where there is none, or the backend runs none.
    Raises `Invalid`."""
    ref, uploaded = sandbox.inputs.compose_bundle_ref, sandbox.inputs.compose_bundle
    if (ref is None and uploaded is None) or not extension.capabilities().compose:
        return None
    if ref is None:
        # It was judged as it came; what is allowed may have changed since.
        check_upload(uploaded, ref=None)
        return uploaded
    return await _read(sandbox, ref, workspaces)


async def read_named_stack(sandbox: Sandbox, workspaces: WorkspacePreparer) -> Stack | None:
    """Return the services of the compose file that a sandbox names. None without one, and for one
    of a repository that is not here: it is judged at the start. Raises `Invalid` for one that its
    repository lacks, or that no backend could bring up."""
    ref = sandbox.inputs.compose_bundle_ref
    if ref is None:
        return None
    try:
        document = await _read(sandbox, ref, workspaces)
    except NotFound:
        return None
    return _stack_of(document)


async def read_fitting_file(
    sandbox: Sandbox, extension: Extension, workspaces: WorkspacePreparer
) -> str | None:
    """Return what `read_compose_file` returns, for a start: the repository may have come after the
    create. Raises `Invalid` also for a file that does not fit the sandbox."""
    document = await read_compose_file(sandbox, extension, workspaces)
    if document is not None:
        check_fit(sandbox, _stack_of(document))
    return document


FILE_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
"""The names of a compose file in its folder, as Compose looks for it."""


def check_fit(sandbox: Sandbox, named: Stack | None) -> None:
    """Check that a sandbox's profile has room for the services of its compose file, and an image
    for its agent. `named` are those of the file that it names. Raises `Invalid`."""
    uploaded, profile = sandbox.inputs.compose_bundle, sandbox.profile
    stack = named if uploaded is None else read_stack(uploaded)
    if stack is not None:
        check_stack(stack, profile.resources, "" if profile.image == HOST else profile.image)


def _stack_of(document: str) -> Stack:
    try:
        return read_stack(document)
    except Invalid as err:
        raise Invalid(f"the compose file cannot be used: {err.message}", field=FIELD) from err


async def _read(sandbox: Sandbox, ref: str, workspaces: WorkspacePreparer) -> str:
    path = repository_path(
        ref,
        field=FIELD,
        hint=f"name a file or its folder as {REPO}PATH",
        has_repo=bool(sandbox.repos),
    )
    file = await _find_file(sandbox, path, workspaces)
    document = None if file is None else await _read_text(sandbox, file, workspaces)
    if file is None or document is None:
        raise Invalid(
            f"{ref[:200]!r} cannot be read: there is no such file.", code=UNRESOLVED, field=FIELD
        )
    try:
        folder = file.rpartition("/")[0]
        names = find_env_files(document, folder)
        files = {name: await _read_text(sandbox, name, workspaces) for name in names}
        return write_out(document, folder, files) if names else document
    except Invalid as err:
        if err.field == FIELD:
            raise
        raise Invalid(f"the compose file cannot be used: {err.message}", field=FIELD) from err


async def _find_file(sandbox: Sandbox, path: str, workspaces: WorkspacePreparer) -> str | None:
    """Return the compose file at a path, or in the folder there by a name that Compose knows; None
    when neither is there."""
    for place in (path, *(f"{path}/{name}" for name in FILE_NAMES)):
        if await workspaces.lacks_file(sandbox, place, fetched=True) is None:
            return place
    return None


async def _read_text(sandbox: Sandbox, path: str, workspaces: WorkspacePreparer) -> str | None:
    """Return a text file of the repository, None when there is none. Raises `Invalid`."""
    try:
        content = await workspaces.read_file(sandbox, path, max_bytes=MAX_BYTES)
        return None if content is None else content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as err:
        raise Invalid(f"{REPO}{path} is not UTF-8 text.", field=FIELD) from err
    except Invalid as err:
        raise Invalid(f"{REPO}{path}: {err.message}", field=FIELD) from err
