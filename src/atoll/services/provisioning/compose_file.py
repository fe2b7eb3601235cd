"""The compose file of a sandbox, read from its repository for a backend that runs one."""

from atoll.domain.errors import Invalid
from atoll.domain.profile.yaml_tree import MAX_BYTES
from atoll.domain.sandbox.instructions import REPO, repository_path
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports import Extension, WorkspacePreparer

FIELD = "inputs.compose_bundle_ref"


async def read_compose_file(
    sandbox: Sandbox, extension: Extension, workspaces: WorkspacePreparer
) -> str | None:
    """Return the file that the sandbox names, as its repository has it where the tree begins; None
    where none is named, or the backend runs none. Raises `Invalid`."""
    ref = sandbox.inputs.compose_bundle_ref
    if ref is None or not extension.capabilities().compose:
        return None
    path = repository_path(
        ref, field=FIELD, hint=f"name a file as {REPO}PATH", has_repo=bool(sandbox.repos)
    )
    document = await workspaces.read_file(sandbox, path, max_bytes=MAX_BYTES)
    if document is None:
        raise Invalid(f"{ref[:200]!r} cannot be read: there is no such file.", field=FIELD)
    try:
        return document.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as err:
        raise Invalid(f"{ref[:200]!r} is not UTF-8 text.", field=FIELD) from err
