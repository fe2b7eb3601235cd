"""Git repositories for tests, made by real git with a scrubbed environment."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "A Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
}


@dataclass(frozen=True)
class Tree:
    """A checkout (or with `bare` a bare repository) in a folder."""

    path: Path

    def git(self, *args: str, stdin: bytes = b"") -> str:
        """Run git there; raises when it fails."""
        done = subprocess.run(
            ["git", *args],
            cwd=self.path,
            env=ENVIRONMENT,
            input=stdin,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"git {args}: {done.stderr.decode()}")
        return done.stdout.decode().strip()

    def commit(self, name: str, text: str, message: str = "work") -> str:
        """Write a file, commit it, return the commit."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.git("add", "--", name)
        self.git("commit", "-qm", message)
        return self.git("rev-parse", "HEAD")


def new_tree(path: Path, *, branch: str = "main", text: str = "hello\n") -> Tree:
    """A checkout with one commit; of the same text and second, it is the same commit."""
    path.mkdir(parents=True)
    tree = Tree(path)
    tree.git("init", "-q", f"--initial-branch={branch}")
    tree.commit("README.md", text, "begin")
    return tree


def bare_copy(tree: Tree, path: Path) -> Tree:
    """A bare clone of `tree` at `path`, with `origin` set in `tree` to push to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["git", "clone", "-q", "--bare", str(tree.path), str(path)],
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
    )
    tree.git("remote", "add", "origin", str(path))
    return Tree(path)
