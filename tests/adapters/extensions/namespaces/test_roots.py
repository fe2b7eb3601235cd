from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.namespaces.roots import choose_mounts, shell_of
from atoll.domain.errors import Invalid
from atoll.ports.extension import Mount
from atoll.ports.images import Tree

AIDER = Mount("/home/agents/aider/1", "/opt/atoll/agents/aider")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    return Tree("small", str(tmp_path), env=(("PATH", "/opt/node/bin:/usr/bin"), ("HOME", "/root")))


def test_image_without_what_an_agent_runs_on_is_refused(tree: Tree) -> None:
    with pytest.raises(Invalid, match="aider runs on python3, which the image small"):
        choose_mounts(tree, [AIDER])


def test_agent_beside_that_an_image_cannot_run_is_left_out(tree: Tree) -> None:
    own = Mount("/x", "/opt/atoll/agents/codex")
    assert choose_mounts(tree, [own, replace(AIDER, spare=True)]) == (own,)


def test_image_with_the_program_wherever_its_path_says_is_taken(tree: Tree) -> None:
    place = Path(tree.path) / "opt" / "node" / "bin"
    place.mkdir(parents=True)
    for name in ("python3", "git"):
        (place / name).symlink_to(f"/usr/lib/{name}")
    assert choose_mounts(tree, [AIDER]) == (AIDER,)


def test_mounts_that_are_no_agent_s_need_nothing(tree: Tree) -> None:
    others = ("/.atoll/repos/0.git", "/opt/atoll/agents/.safety", "/opt/atoll/agents/nobody")
    mounts = tuple(Mount("/x", target) for target in others)
    assert choose_mounts(tree, mounts) == mounts


def test_shell_is_the_plain_one_where_the_image_has_no_bash(tree: Tree) -> None:
    assert shell_of(("/bin/bash",), tree) == ("/bin/sh",)
    assert shell_of(("/bin/zsh",), tree) == ("/bin/zsh",)
    assert shell_of(("/bin/bash",), None) == ("/bin/bash",)
    (Path(tree.path) / "usr" / "bin" / "bash").touch()
    assert shell_of(("/bin/bash",), tree) == ("/bin/bash",)
