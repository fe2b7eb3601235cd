"""Our own scripts inside, where the sandbox's variables, git configuration or attributes are such
as would break them or hide a change."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports.runtime import RuntimeStream
from atoll.services.library.changes import Comparison
from atoll.services.library.commits import Commits
from atoll.services.library.tree_edits import TreeEdits
from atoll.services.library.unpulled import UnpulledWork
from atoll.wire.contract.call import RuntimeCall
from tests.peers.boxed_runtime import BoxedRuntime
from tests.services.library.test_changes import Review
from tests.services.library.test_workspaces import World, world

__all__ = ["world"]

HOSTILE = {
    "PATH": "/nowhere",
    "HOME": "relative",
    "TMPDIR": "/nowhere",
    "LD_PRELOAD": "/nowhere/lib.so",
    "LANG": "tlh_KX.UTF-8",
    "LC_ALL": "tlh_KX.UTF-8",
    "CDPATH": "/workspace/src",
    "BASH_ENV": "/workspace/exit.sh",
    "ENV": "/workspace/exit.sh",
    "SHELLOPTS": "noexec",
    "POSIXLY_CORRECT": "1",
    "XDG_CONFIG_HOME": "/workspace/config",
    "GIT_DIR": "/nowhere",
    "GIT_WORK_TREE": "/nowhere",
    "GIT_INDEX_FILE": "/nowhere",
    "GIT_OBJECT_DIRECTORY": "/nowhere",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.bare",
    "GIT_CONFIG_VALUE_0": "true",
    "GIT_CONFIG_GLOBAL": "/workspace/exit.sh",
    "GIT_EXTERNAL_DIFF": "/bin/false",
    "GIT_TRACE": "1",
}


async def test_variables_of_a_sandbox_do_not_reach_our_scripts(world: World) -> None:
    sandbox = world.sandbox(world.repo())
    box = await world.box(sandbox)
    box.env = dict(HOSTILE)
    await world.workspaces.prepare(sandbox, box, lambda _: None)
    await world.workspaces.settle(sandbox, box)
    (box.workspace / "exit.sh").write_text("exit 9\n")
    (box.workspace / "src/a.txt").write_text("changed\n")
    review = Review(sandbox, box)
    assert set(await review.files()) == {"exit.sh", "src/a.txt"}
    reading = _reading(review)
    (place,) = await UnpulledWork(reading).of(LOCAL_PERSON, sandbox.id)
    assert (place.changed, place.untracked) == (("src/a.txt",), ("exit.sh",))
    commit = await TreeEdits(reading, review.trees).commit(LOCAL_PERSON, sandbox.id, "all")
    async with world.workspaces.taken_out(sandbox, box, 0, ref="refs/heads/fix") as (_, refs):
        assert [one.commit for one in refs] == [commit]
    history = await Commits(reading).history(LOCAL_PERSON, sandbox.id)
    assert history.commits[0].commit == commit


ATTRIBUTES = (
    "*.txt -diff",
    "*.txt binary",
    "*.txt diff=own",
    "*.txt -text -diff linguist-generated",
    "*.txt working-tree-encoding=UTF-16",
    "*.txt working-tree-encoding=UTF-16LE-BOM",
    "*.txt export-ignore ident",
    "[attr]hidden -diff -text\n*.txt hidden",
)


@pytest.mark.parametrize("attributes", ATTRIBUTES)
async def test_attributes_do_not_hide_a_change(world: World, attributes: str) -> None:
    review = Review(*await world.laid_out(world.repo()))
    (review.box.workspace / "src/.gitattributes").write_text(f"{attributes}\n")
    review.box.run("git config diff.own.command false; git config diff.own.textconv false")
    review.box.run("sed -i 1s/one/evil/ src/a.txt")
    found = (await review.files())["src/a.txt"]
    assert (found.binary, found.additions, found.deletions) == (False, 1, 1)
    assert (await review.diff("src/a.txt", context=0))["src/a.txt"] == ["-one", "+evil"]
    review.box.run(
        "git -c core.attributesFile=/dev/null -c user.name=a -c user.email=a@b"
        " update-index --add --cacheinfo"
        ' "100644,$(git hash-object -w --no-filters src/a.txt),src/a.txt"; git commit -qm evil'
    )
    shown = await Commits(review.reading).show(
        LOCAL_PERSON, "x", review.box.run("git rev-parse HEAD")
    )
    (file,) = shown.files
    assert not file.binary
    assert [line[0] for hunk in file.hunks for line in hunk.lines].count("+") == 1


async def test_files_outside_the_tree_do_not_hide_a_change(world: World) -> None:
    review = Review(*await world.laid_out(world.repo()))
    review.box.env = {"HOME": "/workspace/home"}
    home = review.box.workspace / "home/.config/git"
    home.mkdir(parents=True)
    (home / "attributes").write_text("* -diff\n")
    (home / "ignore").write_text("*\n")
    (home / "config").write_text("[core]\n\tquotePath = false\n[color]\n\tui = always\n")
    review.box.run("mkdir -p .git/info; echo '*.txt -diff' > .git/info/attributes")
    review.box.run("echo 'new*' > .git/info/exclude")
    review.box.run("for one in noprefix mnemonicPrefix; do git config diff.$one true; done")
    review.box.run("git config diff.external /bin/false; git config diff.algorithm patience")
    review.box.run("git config color.ui always; git config core.attributesFile /workspace/a")
    review.box.run("sed -i 1s/one/evil/ src/a.txt; echo 1 > new.txt")
    files = await review.files()
    assert not files["src/a.txt"].binary
    assert {"new.txt", "home/.config/git/config"} <= set(files)
    assert (await review.diff("src/a.txt", context=0))["src/a.txt"] == ["-one", "+evil"]
    (place,) = await UnpulledWork(_reading(review)).of(LOCAL_PERSON, "x")
    assert set(place.untracked) == {"home/", "new.txt"}


async def test_work_that_is_marked_as_unchanged_is_named(world: World) -> None:
    review = Review(*await world.laid_out(world.repo()))
    review.box.run("git update-index --assume-unchanged src/a.txt; echo 1 > src/a.txt")
    review.box.run("git config core.worktree /nowhere")
    (place,) = await UnpulledWork(_reading(review)).of(LOCAL_PERSON, "x")
    assert place.changed == ("src/a.txt",)


async def test_checkpoint_is_taken_of_files_in_another_encoding_than_claimed(world: World) -> None:
    review = Review(*await world.laid_out(world.repo()))
    (review.box.workspace / "src/.gitattributes").write_text("*.txt working-tree-encoding=UTF-16\n")
    review.box.run("echo evil > src/a.txt")
    edits = TreeEdits(review.reading, review.trees)
    file = (await review.files())["src/a.txt"]
    compared = Comparison(paths=("src/a.txt",))
    number = await edits.discard(LOCAL_PERSON, "x", compared, digest=file.digest)
    kept = review.box.run(f"git show refs/atoll/checkpoints/person/{number}:src/a.txt")
    assert kept == "evil"


def _reading(review: Review) -> Any:
    reading = review.reading

    async def get(*_: object) -> Any:
        return reading._found[0]

    reading.get = get
    return reading


async def test_runtime_of_an_earlier_version_runs_a_script_as_before(world: World) -> None:
    class Earlier(BoxedRuntime):
        @asynccontextmanager
        async def stream(self, call: RuntimeCall[bytes]) -> AsyncIterator[RuntimeStream]:
            if b"clean_env" in cast(bytes, call.body):
                raise Invalid("unknown field `clean_env`", field="clean_env")
            async with super().stream(call) as answer:
                yield answer

    sandbox = world.sandbox(world.repo())
    box = await world.box(sandbox)
    await world.workspaces.prepare(sandbox, Earlier(box.workspace, box.mounts), lambda _: None)
    assert box.run("git rev-parse --abbrev-ref HEAD") == "fix"
