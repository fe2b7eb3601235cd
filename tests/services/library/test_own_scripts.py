"""Our own scripts inside, where the sandbox's variables, git configuration or attributes are such
as would break them or hide a change."""

import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from atoll.domain.errors import Failed, Invalid
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports.extension import Mount
from atoll.ports.runtime import RuntimeStream
from atoll.services.library.changes import Comparison
from atoll.services.library.commits import Commits
from atoll.services.library.tree_edits import TreeEdits
from atoll.services.library.workspaces import EVERYTHING
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.git.checkpoints import TALLY
from tests.peers.boxed_runtime import BoxedRuntime
from tests.services.library.test_changes import Review
from tests.services.library.test_unpulled import work_of
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
    (place,) = await work_of(reading).of(LOCAL_PERSON, sandbox.id)
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
    (place,) = await work_of(_reading(review)).of(LOCAL_PERSON, "x")
    assert set(place.untracked) == {"home/", "new.txt"}


async def test_work_that_is_marked_as_unchanged_is_named(world: World) -> None:
    review = Review(*await world.laid_out(world.repo()))
    review.box.run("git update-index --assume-unchanged src/a.txt; echo 1 > src/a.txt")
    review.box.run("git config core.worktree /nowhere")
    (place,) = await work_of(_reading(review)).of(LOCAL_PERSON, "x")
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


PLAIN = """#!/bin/sh
for word; do
  case $word in -z | -zn | -zu | -zq* | -zc | -zv) echo "bad $word" >&2; exit 1 ;; esac
done
exec /usr/bin/{name} "$@"
"""


async def test_scripts_need_no_mktemp_and_no_programs_that_read_nul(world: World) -> None:
    """In an image with the small tools of busybox, the bare git, and nothing else."""
    tools = world.tmp / "tools"
    tools.mkdir()
    for name in ("sed", "grep", "head", "sort", "mktemp", "awk", "find", "touch"):
        gone = name in ("mktemp", "awk")
        script = "#!/bin/sh\nexit 127\n" if gone else PLAIN.format(name=name)
        (tools / name).write_text(script)
        (tools / name).chmod(0o755)
    sandbox = world.sandbox(world.repo())
    box = await world.box(sandbox)
    box.mounts = (*box.mounts, Mount(str(tools), "/usr/local/sbin"))
    with pytest.raises(AssertionError, match="bad -z"):
        box.run("PATH=/usr/local/sbin:$PATH; sed -z p < /dev/null")
    (repo,) = await world.workspaces.prepare(sandbox, box, lambda _: None)
    assert (repo.submodules, repo.lfs_files) == ((), 0)
    await world.workspaces.settle(sandbox, box)
    odd = box.workspace / "new\n ü'\"\t file"
    odd.write_text("new\n")
    (box.workspace / "src/a.txt").write_text("changed\n")
    box.run("git update-index --assume-unchanged src/a.txt")
    review = Review(sandbox, box)
    assert set(await review.files()) == {odd.name, "src/a.txt"}
    assert set(await review.files("uncommitted")) == {odd.name, "src/a.txt"}
    assert (await review.diff(odd.name))[odd.name] == ["+new"]
    reading = _reading(review)
    (place,) = await work_of(reading).of(LOCAL_PERSON, sandbox.id)
    assert (place.changed, place.untracked) == (("src/a.txt",), (odd.name,))
    commit = await TreeEdits(reading, review.trees).commit(LOCAL_PERSON, sandbox.id, "all")
    async with world.workspaces.taken_out(sandbox, box, 0, ref="refs/heads/fix") as (_, refs):
        assert [one.commit for one in refs] == [commit]
    box.run("echo more > src/a.txt; echo other > other")
    file = (await review.files())["src/a.txt"]
    edits = TreeEdits(reading, review.trees)
    number = await edits.discard(
        LOCAL_PERSON, "x", Comparison(paths=("src/a.txt",)), digest=file.digest
    )
    assert box.run(f"git show refs/atoll/checkpoints/person/{number}:src/a.txt") == "more"
    async with world.workspaces.taken_out(sandbox, box, 0, ref=EVERYTHING) as (_, refs):
        assert "refs/heads/worktree" in {one.name for one in refs}
    box.run("rm -f 'src/a.txt'; git add -A")
    tally = box.argv("/bin/sh", "-c", TALLY, "atoll", "t_1", clean=True)
    counted = subprocess.run(tally, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"1 \d+ \d+\n", counted.stdout), counted


async def test_image_without_a_program_of_a_review_says_so_and_not_that_nothing_changed(
    world: World,
) -> None:
    sandbox = world.sandbox(world.repo())
    box = await world.box(sandbox)
    await world.workspaces.prepare(sandbox, box, lambda _: None)
    (box.workspace / "src/a.txt").write_text("changed\n")
    (world.tmp / "none").touch(mode=0o644)
    mounts = (Mount(str(world.tmp / "none"), f"/usr/bin/{name}") for name in ("xargs", "find"))
    bare = replace(box, mounts=(*box.mounts, *mounts))
    with pytest.raises(Failed, match=r"xargs: not found; use an image that has this program"):
        await Review(sandbox, bare).files()
    with pytest.raises(Failed, match=r"find: not found; use an image that has this program"):
        async with world.workspaces.taken_out(sandbox, bare, 0, ref=EVERYTHING):
            pass


async def test_image_without_git_or_a_shell_is_named_as_the_reason(world: World) -> None:
    sandbox = world.sandbox(world.repo())
    box = await world.box(sandbox)
    (world.tmp / "none").write_text("#!/bin/sh\necho 'atoll: 9: git: not found' >&2; exit 127\n")
    (world.tmp / "none").chmod(0o755)
    bare = replace(box, mounts=(*box.mounts, Mount(str(world.tmp / "none"), "/usr/bin/git")))
    with pytest.raises(Failed, match=r"git: not found; use an image that has this program"):
        await world.workspaces.prepare(sandbox, bare, lambda _: None)

    class Shellless(BoxedRuntime):
        @asynccontextmanager
        async def stream(self, call: RuntimeCall[bytes]) -> AsyncIterator[RuntimeStream]:
            raise Invalid("cannot run '/bin/sh': No such file or directory", field="argv")
            yield RuntimeStream(200, (), _nothing())

    with pytest.raises(Failed, match="has no shell"):
        await world.workspaces.prepare(
            sandbox, Shellless(box.workspace, box.mounts), lambda _: None
        )


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""
