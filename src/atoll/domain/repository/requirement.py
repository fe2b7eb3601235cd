"""The language tools that a repository seems to need, by files at its top. Pure.

`surfaces.cli.console.requirements` runs the script inside the sandbox. Only numbers of this table
come back, so nothing a repository holds is ever shown.
"""

import re
from dataclasses import dataclass

MARKS: tuple[tuple[str, str], ...] = (
    ("package.json", "node"),
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("deno.json", "deno"),
    ("pyproject.toml", "python3"),
    ("requirements.txt", "python3"),
    ("setup.py", "python3"),
    ("uv.lock", "uv"),
    ("poetry.lock", "poetry"),
    ("Cargo.toml", "cargo"),
    ("go.mod", "go"),
    ("pom.xml", "mvn"),
    ("build.gradle", "java"),
    ("build.gradle.kts", "java"),
    ("Gemfile", "ruby"),
    ("composer.json", "php"),
    ("mix.exs", "mix"),
    ("CMakeLists.txt", "cmake"),
    ("Makefile", "make"),
    ("flake.nix", "nix"),
)
"""The files at the top of a repository, and the program that each is for."""

# Arguments: $1 directory, then a file and a program each. Prints the number of each file that
# exists, and whether the program does.
SCRIPT = r"""
cd -- "$1" || exit 1
shift
n=0
while [ $# -ge 2 ]; do
  if [ -e "$1" ]; then
    if command -v "$2" > /dev/null 2>&1; then echo "$n there"; else echo "$n absent"; fi
  fi
  n=$((n + 1))
  shift 2
done
"""

_LINE = re.compile(r"([0-9]{1,3}) (there|absent)")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A program that the repository seems to need, the file that shows it, and whether it is
    installed."""

    program: str
    mark: str
    there: bool


def question(folder: str) -> tuple[str, ...]:
    """Return the arguments of `SCRIPT` for a directory inside."""
    return (folder, *(word for pair in MARKS for word in pair))


def read_answer(said: str) -> tuple[Requirement, ...]:
    """Return the script's findings, each program once; lines it cannot have printed are skipped."""
    found: dict[str, Requirement] = {}
    for line in said.splitlines():
        match = _LINE.fullmatch(line)
        if match is not None and int(match[1]) < len(MARKS):
            mark, program = MARKS[int(match[1])]
            found.setdefault(program, Requirement(program, mark, match[2] == "there"))
    return tuple(found.values())
