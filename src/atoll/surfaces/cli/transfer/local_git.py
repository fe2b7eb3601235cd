"""Git in the person's own checkout: as that person, reading, without hooks or prompts.

What writes is a fetch from a bundle into one named branch, and a ref below `refs/atoll/` that
keeps what this branch was; and the files of a branch that is checked out, when a merge goes into
it. Their configuration counts, for it is theirs; the GIT_* variables
around us do not, nor does any transport but a local file.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from atoll.domain.errors import Failed, Unavailable
from atoll.domain.unseen import replace_unseen

_QUIET = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "fetch.prune=false",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "transfer.fsckObjects=true",
)


@dataclass(frozen=True, slots=True)
class GitResult:
    """Result of a call; `why` is the printable end of git's output."""

    code: int
    out: bytes
    why: str

    @property
    def text(self) -> str:
        """The answer without its line end."""
        return self.out.decode("utf-8", "surrogateescape").rstrip("\n")


@dataclass(frozen=True, slots=True)
class LocalGit:
    """Git in one folder. Raises `Unavailable` when it is not installed."""

    folder: Path

    def ask(self, *args: str, stdin: bytes = b"") -> str:
        """Return the answer as text. Raises `Failed` with git's own words."""
        result = self.try_(*args, stdin=stdin)
        if result.code != 0:
            raise Failed(f"git {args[0]} failed in {self.folder}: {result.why}")
        return result.text

    def try_(self, *args: str, stdin: bytes = b"", act: str | None = None) -> GitResult:
        """Run to the end, whatever it is. `act` is what the reflog calls it."""
        env = _environment() | ({} if act is None else {"GIT_REFLOG_ACTION": act})
        done = subprocess.run(
            self._argv(args), env=env, input=stdin, capture_output=True, check=False
        )
        return GitResult(done.returncode, done.stdout, _why(done.stderr))

    @contextmanager
    def open_output(self, *args: str, stdin: bytes = b"") -> Iterator[IO[bytes]]:
        """Run git and yield its output as it arrives (`stdin` must fit a pipe, 64 KiB). Raises
        `Failed` at the end when git did not finish well."""
        with subprocess.Popen(
            self._argv(args),
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            if process.stdin is None or process.stdout is None or process.stderr is None:
                raise Failed("git could not be given its pipes.")
            process.stdin.write(stdin)
            process.stdin.close()
            try:
                yield process.stdout
                why = _why(process.stderr.read())
            except BaseException:
                process.kill()
                raise
            if process.wait() != 0:
                raise Failed(f"git {args[0]} failed in {self.folder}: {why}")

    def _argv(self, args: tuple[str, ...]) -> list[str]:
        program = shutil.which("git")
        if program is None:
            raise Unavailable("git is not installed: install it to use a local repository.")
        settings = [word for line in _QUIET for word in ("-c", line)]
        return [program, "-C", str(self.folder), *settings, *args]


def _environment() -> dict[str, str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return variables | {
        "GIT_ALLOW_PROTOCOL": "file",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _why(output: bytes) -> str:
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    wanted = [line for line in lines if line.startswith(("fatal:", "error:", " !"))] or lines[-1:]
    plain = "; ".join(line.strip() for line in wanted[-3:])
    return replace_unseen(plain, 500) or "it gave no reason"
