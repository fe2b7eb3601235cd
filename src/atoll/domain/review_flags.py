"""Files whose change deserves a person's eye before they use the branch.

They make a person's own machine run something (on `cd`, on open, on build, in CI).
Nothing is blocked: `pull` names them. Paths are as git shows them, relative to the top.
"""

from collections.abc import Iterable

FLAGGED_NAMES = frozenset(
    {
        ".envrc",
        ".gitattributes",
        ".gitmodules",
        ".mcp.json",
        ".npmrc",
        ".pre-commit-config.yaml",
        "Makefile",
        "conftest.py",
        "package.json",
        "setup.py",
    }
)
FLAGGED_FOLDERS = frozenset({".claude", ".codex", ".devcontainer", ".github", ".husky", ".vscode"})


def flagged(paths: Iterable[str]) -> tuple[str, ...]:
    """Those of `paths` that can run something on the machine of whoever uses them next."""
    return tuple(path for path in paths if _runs_something(path))


def _runs_something(path: str) -> bool:
    *folders, name = path.split("/")
    return name in FLAGGED_NAMES or not FLAGGED_FOLDERS.isdisjoint(folders)
