"""Files on their way from a sandbox to a person's own directories: which are held, which are named.

Git runs programs that a repository's settings name. It takes any directory with the right entries
for a repository, however deep it lies. So no repository that an agent wrote leaves a sandbox as
one. Other files run only when somebody uses them; they go, and are reported.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final

from atoll.domain.unseen import is_unseen

GIT: Final = ".git"
ASIDE: Final = ".kept"
"""The suffix of a repository's part that was kept under another name, where git does not find
it."""


class FileDecision(Enum):
    """The decision on a file: it stays inside, goes and is reported, or goes."""

    STAYS = "stays"
    FLAGGED = "flagged"
    PLAIN = "plain"


_GIT_NAMES: Final = frozenset({GIT, "git~1"})
"""The names of a repository's directory; the second is the short name that NTFS gives to the
first."""

_REPOSITORY: Final = (frozenset({"head", "objects", "refs"}), frozenset({"head", "commondir"}))
"""The entries by which git recognises a repository of any kind (setup.c, `is_git_directory`). Git
tests only whether they can be entered. `commondir` names a directory that holds the other two."""

_RUN_BY_THEMSELVES: Final = frozenset(
    {
        # Shells, editors, debuggers.
        ".envrc", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".exrc",
        ".vimrc", ".nvimrc", ".nvim.lua", ".gvimrc", ".dir-locals.el", ".gdbinit", ".lldbinit",
        ".inputrc", ".sublime-project", ".projectile", ".tmux.conf",
        # Git.
        ".gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig",
        ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml",
        # Builds.
        "makefile", "gnumakefile", "bsdmakefile", "cmakelists.txt", "cmakepresets.json",
        "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "rakefile", "gemfile",
        "meson.build", "sconstruct", "build.xml", "pom.xml", "build.gradle", "build.gradle.kts",
        "settings.gradle", "settings.gradle.kts", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd",
        "build.bazel", "workspace.bazel", "module.bazel", ".bazelrc", "build.rs", "build.zig",
        "dockerfile", "containerfile", "docker-compose.yml", "docker-compose.yaml",
        "compose.yml", "compose.yaml", "vagrantfile", "tiltfile", "procfile", "brewfile",
        "flake.nix", "shell.nix", "default.nix", "devenv.nix",
        # JavaScript.
        "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnpmfile.js",
        "pnpm-workspace.yaml", "bunfig.toml", "deno.json", "deno.jsonc", "gruntfile.js",
        "gulpfile.js", "binding.gyp",
        # Python.
        "pyproject.toml", "setup.py", "setup.cfg", "conftest.py", "pytest.ini", "tox.ini",
        "noxfile.py", "tasks.py", "sitecustomize.py", "usercustomize.py", "pip.conf", ".pdbrc",
        # Versions of tools.
        "mise.toml", ".mise.toml", "mise.local.toml", ".tool-versions", "rust-toolchain",
        "rust-toolchain.toml", ".rvmrc",
        # Agents.
        "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md",
        ".mcp.json", "mcp.json", "opencode.json", "opencode.jsonc", ".cursorrules",
        ".windsurfrules", ".clinerules", ".aider.conf.yml", ".goosehints", ".rules",
        # Services that build.
        ".gitlab-ci.yml", ".travis.yml", "jenkinsfile", "azure-pipelines.yml",
        "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml", "appveyor.yml",
        ".appveyor.yml", ".cirrus.yml", "cloudbuild.yaml", "renovate.json", "buildspec.yml",
    }
)  # fmt: skip
_FOLDERS: Final = frozenset(
    {
        ".github", ".gitlab", ".gitea", ".forgejo", ".circleci", ".buildkite", ".woodpecker",
        ".githooks", ".husky", ".vscode", ".idea", ".zed", ".fleet", ".vs", ".devcontainer",
        ".cargo", ".mvn", ".yarn", ".mise", ".config", ".direnv", ".claude", ".codex", ".cursor",
        ".gemini", ".qwen", ".opencode", ".windsurf", ".continue", ".aider", ".agents", ".ssh",
    }
)  # fmt: skip
_ENDINGS: Final = (".code-workspace", ".pth", ".desktop", ".sln", ".csproj", ".gyp", ".mk")
_CONFIGURED: Final = (".config.js", ".config.mjs", ".config.cjs", ".config.ts", ".config.mts")
"""The names of settings that a tool runs as a program, such as `vite.config.ts`."""


def plain_name(name: str) -> str:
    """Return one part of a path as the most lenient file system reads it: case-folded, without
    invisible characters, and without dots and spaces at its end."""
    seen = "".join(char for char in name if not is_unseen(char)).casefold()
    return seen.rstrip(". ") or seen


def plain_path(path: str) -> str:
    """Return a path with each part as `plain_name` has it; empty for the top."""
    return "/".join(plain_name(part) for part in path.split("/") if part not in ("", "."))


def is_own_folder(name: str) -> bool:
    """Return whether a name is that of a repository's own directory, `.git`."""
    return plain_name(name) in _GIT_NAMES


def makes_repository(names: Iterable[str]) -> bool:
    """Return whether git would take a directory with entries of these names for a repository."""
    plain = {plain_name(name) for name in names}
    return any(marks <= plain for marks in _REPOSITORY)


def repositories(paths: Iterable[str]) -> frozenset[str]:
    """Return the directories that git would take for repositories, among all `paths` of a tree.

    They are spelled as by `plain_path`; a deep path stands for its directories. The tree is to be
    whole: existing and new files make a repository together.
    """
    entries: dict[str, set[str]] = {}
    for path in paths:
        place = plain_path(path)
        while place:
            folder, _, name = place.rpartition("/")
            known = entries.setdefault(folder, set())
            if name in known:
                break
            known.add(name)
            place = folder
    return frozenset(folder for folder, names in entries.items() if makes_repository(names))


def aside(path: str, found: frozenset[str]) -> str | None:
    """Return the name under which an entry may be kept where git must not find it.

    None where its own name is safe. A repository without its HEAD is none, and nothing of it is
    lost.
    """
    folder, _, name = plain_path(path).rpartition("/")
    if name in _GIT_NAMES:
        return f"{GIT}{ASIDE}"
    return f"HEAD{ASIDE}" if name == "head" and folder in found else None


def judge(path: str, found: frozenset[str], *, executable: bool = False) -> FileDecision:
    """Decide on a file.

    `found` are the `repositories` of its tree. `executable`: it may be run, and was not there
    before or could not be run.
    """
    parts = plain_path(path).split("/")
    above = ("/".join(parts[:count]) for count in range(len(parts) + 1))
    if not _GIT_NAMES.isdisjoint(parts) or not found.isdisjoint(above):
        return FileDecision.STAYS
    name = parts[-1]
    runs = name in _RUN_BY_THEMSELVES or name.endswith((*_ENDINGS, *_CONFIGURED))
    if executable or runs or not _FOLDERS.isdisjoint(parts[:-1]):
        return FileDecision.FLAGGED
    return FileDecision.PLAIN
