"""A file of instructions that does not exist is refused before anything starts."""

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, SetupMetadata
from atoll.wire.contract.call import RuntimeCall
from tests.services.scene import Scene, scene

WHERE = "https://example.org/o/r at main"
FIELD = "setup_metadata.instructions_ref"
WISH = CreateSandbox(
    profile="bare",
    repos=(RepoRequest("https://example.org/o/r"),),
    setup_metadata=SetupMetadata(instructions_ref="repo:none.md"),
)


def execs(s: Scene) -> list[RuntimeCall[object]]:
    return [call for call in s.runtime.calls if call.path == "/execs"]


async def test_file_that_the_kept_repository_lacks_is_refused_at_the_create() -> None:
    async with scene() as s:
        s.workspaces.lacking[False] = WHERE
        with pytest.raises(Invalid) as err:
            await s.sandboxes.create(LOCAL_PERSON, WISH)
        assert err.value.field == FIELD
        assert "repo:none.md" in err.value.message and WHERE in err.value.message
        assert (await s.sandboxes.list(LOCAL_PERSON)).sandboxes == ()


async def test_file_that_a_fetch_did_not_bring_fails_before_anything_is_laid_out() -> None:
    async with scene() as s:
        s.workspaces.lacking[True] = WHERE
        made = await s.sandboxes.create(LOCAL_PERSON, WISH)
        failed = await s.until(made, "failed")
        assert failed.reason is not None
        assert "repo:none.md" in failed.reason and WHERE in failed.reason
        # Once by the create, which waits a while for what is not here, and once by the start.
        assert s.workspaces.acts == ["mounts", "mounts"]
        assert execs(s) == []
