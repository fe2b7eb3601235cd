"""Which files never leave a sandbox, and which a person should look at."""

import pytest

from atoll.domain.files.outgoing_file import FileDecision, aside, is_own_folder, judge, repositories

NOTHING: frozenset[str] = frozenset()
BARE = ["x/HEAD", "x/objects", "x/refs"]


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (BARE, {"x"}),
        (["HEAD", "objects/pack/p", "refs/heads/main", "config"], {""}),
        (["a/b/head", "a/B/Objects/x", "A/b/REFS/y"], {"a/b"}),
        (["x/HEAD", "x/commondir"], {"x"}),
        (["x/HEAD. ", "x/obj\u200dects", "x/refs"], {"x"}),
        (["x/HEAD", "x/objects", "y/refs"], set()),
        (["x/HEAD", "x/refs"], set()),
        (["x/HEAD/objects", "x/HEAD/refs"], set()),
        ([".git/HEAD", ".git/objects/1", ".git/refs/h"], {".git"}),
        (["", ".", "\udcff"], set()),
    ],
)
def test_folder_with_the_entries_of_a_repository_is_found(
    paths: list[str], found: set[str]
) -> None:
    assert repositories(paths) == found


@pytest.mark.parametrize(
    "path",
    [
        ".git", ".git/config", "a/.git", "a/.GIT/hooks/x", "a/.git ", "a/.git.", "GIT~1/config",
        ".g\u200cit/config", "x", "x/config", "x/deep/er", "X/CONFIG",
    ],
)  # fmt: skip
def test_repository_and_all_in_it_stays_inside(path: str) -> None:
    assert judge(path, repositories(BARE)) is FileDecision.STAYS


def test_tree_that_is_a_repository_stays_wholly() -> None:
    assert judge("a/b", repositories(["HEAD", "objects", "refs"])) is FileDecision.STAYS


@pytest.mark.parametrize(
    "path",
    [
        "GNUmakefile", "makefile", "docs/MAKEFILE", ".envrc", ".vscode/tasks.json",
        ".cargo/config.toml", ".yarnrc.yml", ".pnpmfile.cjs", "sub/build.rs", "pyproject.toml",
        ".github/workflows/ci.yml", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile",
        ".idea/workspace.xml", ".cursor/mcp.json", ".gemini/settings.json", "opencode.json",
        "AGENTS.md", "agents.md", "CLAUDE.md", "deep/Claude.MD", ".exrc", "mise.toml",
        "web/package.json", "Package.json", ".npmrc", ".gitattributes", ".gitmodules", ".mcp.json",
        ".pre-commit-config.yaml", "conftest.py", "setup.py", ".claude/settings.json",
        ".codex/config.toml", ".devcontainer/devcontainer.json", ".husky/pre-commit",
        "vite.config.ts", "eslint.config.mjs", "lib/x.pth", "a.code-workspace", ".envrc ",
    ],
)  # fmt: skip
def test_file_that_runs_by_itself_is_named(path: str) -> None:
    assert judge(path, NOTHING) is FileDecision.FLAGGED


@pytest.mark.parametrize(
    "path", ["src/a.py", "README.md", "github/x", "HEAD", "vscode/tasks.json", "a.git/b", "x/envrc"]
)
def test_plain_file_is_not_named_unless_it_may_be_run(path: str) -> None:
    assert judge(path, NOTHING) is FileDecision.PLAIN
    assert judge(path, NOTHING, executable=True) is FileDecision.FLAGGED


@pytest.mark.parametrize(
    ("path", "kept_as"),
    [
        ("a/.GIT", ".git.kept"), ("x/head", "HEAD.kept"), ("x/config", None), ("y/HEAD", None),
    ],
)  # fmt: skip
def test_part_of_a_repository_is_kept_under_a_name_git_does_not_look_for(
    path: str, kept_as: str | None
) -> None:
    assert aside(path, repositories(BARE)) == kept_as


@pytest.mark.parametrize(
    ("name", "own"), [(".git", True), (".GIT", True), (".git. ", True), (".github", False)]
)
def test_folder_of_git_is_known_however_it_is_spelled(name: str, own: bool) -> None:
    assert is_own_folder(name) is own
