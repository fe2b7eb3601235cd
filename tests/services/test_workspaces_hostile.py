"""What an agent may leave in its tree before its commits are taken out (threats, section I)."""

import pytest

from atoll.domain.errors import AtollError, NotFound
from tests.services.library.test_workspaces import World, world

__all__ = ["world"]

PAYLOADS = {
    "fsmonitor": "git config core.fsmonitor {payload}",
    "filter": "git config filter.x.clean {payload}; git config filter.x.smudge {payload};"
    "echo '* filter=x diff=x' > .gitattributes",
    "textconv": "git config diff.x.textconv {payload}; git config diff.external {payload}",
    "hooks": "mkdir -p .git/hooks; for h in post-index-change reference-transaction pre-commit;"
    "do cp {payload} .git/hooks/$h; done",
    "pack hook": "git config uploadpack.packObjectsHook {payload}",
    "include": "echo '[core] fsmonitor = {payload}' > evil; git config include.path ../evil",
    "pager": "git config core.pager {payload}; git config core.sshCommand {payload}",
    "remote": "git config remote.origin.url 'ext::{payload}'; git config protocol.allow always",
}


@pytest.mark.parametrize("line", PAYLOADS.values(), ids=PAYLOADS.keys())
async def test_payload_in_the_tree_never_runs_on_the_host(world: World, line: str) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("git commit -q --allow-empty -m work")
    pwned = world.tmp / "pwned"
    payload = world.tmp / "payload"
    payload.write_text(f"#!/bin/sh\ntouch {pwned}\ncat\n")
    payload.chmod(0o755)
    # The path exists on the host only: whatever runs it, runs there.
    box.run(line.replace("cp {payload}", f"echo touch {pwned} >").format(payload=payload))
    await world.workspaces.prepare(sandbox, box, lambda _: None)
    await world.workspaces.settle(sandbox, box)
    try:
        async with world.workspaces.taken_out(sandbox, box, 0, ref="refs/heads/fix") as (_, refs):
            assert len(refs) == 1
    except AtollError:
        pass  # the agent may spoil its own pull, never more
    assert not pwned.exists()


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf .git; echo gitdir: /.atoll/repos/0.git > .git",
        "mv .git elsewhere; ln -s elsewhere .git",
        "rm -rf .git",
        "rm -rf .git; mkdir .git",
    ],
)
async def test_tree_whose_git_folder_was_replaced_is_not_followed(world: World, line: str) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("git commit -q --allow-empty -m work")
    box.run(line)
    with pytest.raises(NotFound, match="no git repository any more"):
        async with world.workspaces.taken_out(sandbox, box, 0, ref="refs/heads/fix"):
            pass


async def test_alternates_pointed_elsewhere_bring_nothing_of_the_host(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("git commit -q --allow-empty -m work")
    box.run(f"echo {world.tree.path}/.git/objects > .git/objects/info/alternates")
    with pytest.raises(AtollError):
        async with world.workspaces.taken_out(sandbox, box, 0, ref="refs/heads/fix"):
            pass
    assert list((world.tmp / "imports").iterdir()) == []
