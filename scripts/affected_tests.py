"""Print the test files that a change can affect, one a line, for `scripts/test --changed`.

A test is affected when it, or a `conftest.py` above it, imports a changed module, at whatever
distance. A module named in a text (`-m atoll.wiring.command`, a patched name, a program as text)
counts as imported. Of other changed files, the tests that name them are affected, and those that
`PLACES` lists. When every test can depend on a file, only its path is printed, after `? `.
"""

import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

GIVEN = sys.argv[2:3] if __name__ == "__main__" else []
ROOT = Path(GIVEN[0] if GIVEN else Path(__file__).parents[1]).resolve()
SOURCES = ("src/atoll", "tests", "bench")
UNITS = "ui"
"""Stands for the page's own unit tests, which are no Python files."""

ALWAYS = ("tests/layout/",)
EVERYTHING = ("pyproject.toml", "constraints.txt", "Makefile", "scripts/", ".ci/", "tests/conftest")
PLACES = {
    "docs/": ("tests/docs/",),
    "clients/": ("tests/client/",),
    "proto/": ("tests/protocol/",),
    "ui/": (UNITS, "tests/e2e/page/", "tests/surfaces/http/server/test_first_load.py"),
    "native/": (
        "tests/runtime/",
        "tests/inside/",
        "tests/zygote/",
        "tests/security/",
        "tests/e2e/",
    ),
    "deploy/": ("tests/e2e/walls/", "tests/docs/"),
    "README.md": ("tests/docs/", "tests/e2e/test_readme.py"),
    "docs/start/first-hour.md": ("tests/docs/", "tests/e2e/test_readme.py"),
    "ARCHITECTURE.md": ("tests/docs/",),
    "CHANGELOG.md": ("tests/docs/",),
    "LICENSE": (),
    ".gitignore": (),
    ".gitattributes": (),
}
"""Tests of the files below a path that are no modules, beside the tests that name them."""

TYPES_ALONE = re.compile(r"^if TYPE_CHECKING:\n(?:(?:[ \t].*)?\n)+", re.M)
IMPORT = re.compile(
    r"^[ \t]*(?:from[ ]+(?P<module>[\w.]+)[ ]+import[ ]+(?P<names>\([^)]*\)|[^\n#]+)"
    r"|import[ ]+(?P<modules>[\w., ]+))",
    re.M,
)
TRIPLE = re.compile(r'(?P<before>[^\n]*?)"""(?:.*?)"""', re.S)
LOGGER = re.compile(r'getLogger\("[\w.]+"\)|^[ \t]*#.*', re.M)
DOTTED = re.compile(r"\b(?:atoll|tests|bench)(?:\.[A-Za-z_]\w*)+")
WORD = re.compile(r'"([a-z_]\w*)"|__package__\}\.(\w+)')
PROGRAM = re.compile(r'\.with_name\("([\w-]+)"\)')
LAZY = re.compile(r'^\s+"(\w+)": "([\w.]+)"', re.M)


def module_name(path: str) -> str | None:
    """Return the dotted name of a path, or None when it is no module of the sources."""
    if not (path.endswith(".py") and path.startswith(tuple(f"{one}/" for one in SOURCES))):
        return None
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Graph:
    """What each module imports and names; modules are known by their dotted names."""

    def __init__(self, gone: Iterable[str]) -> None:
        found = [p for one in SOURCES for p in (ROOT / one).rglob("*.py")]
        self.texts = {str(one.relative_to(ROOT)): one.read_text() for one in found}
        self.texts |= dict.fromkeys((one for one in gone if module_name(one)), "")
        self.paths = {name: path for path in self.texts if (name := module_name(path))}
        self.packages = {n for n, p in self.paths.items() if p.endswith("/__init__.py")}
        self.lazy = {
            name: dict(LAZY.findall(text))
            for name in self.packages
            if "_MODULES" in (text := self.texts[self.paths[name]])
        }
        """Of a package that loads its names when they are asked for: the module of each name."""
        project = ROOT / "pyproject.toml"
        about = tomllib.loads(project.read_text())["project"] if project.exists() else {}
        groups = about.get("entry-points", {}) | {"": about.get("scripts", {})}
        self.entries = {
            group: {name: one.partition(":")[0] for name, one in entries.items()}
            for group, entries in groups.items()
        }
        """Modules of the programs, whose group has no name, and of the extensions."""
        self.users: dict[str, set[str]] = defaultdict(set)
        for name, path in self.paths.items():
            for used in self._used(name, TYPES_ALONE.sub("", self.texts[path])):
                parts = used.split(".")
                for end in range(1, len(parts) + 1):
                    self.users[".".join(parts[:end])].add(name)

    def below(self, package: str) -> set[str]:
        return {one for one in self.paths if f"{one}.".startswith(f"{package}.")}

    def _used(self, name: str, text: str) -> Iterator[str]:
        package = name if name in self.packages else name.rpartition(".")[0]
        for one in IMPORT.finditer(text):
            for used in self._imported(package, one):
                yield used
                if "iter_modules(" in text and used in self.packages:
                    yield from self.below(used)
        if 'import_module(f"{__package__}.{' in text:
            yield from self.below(package)
        yield from self._told(package, text)

    def _told(self, package: str, text: str) -> Iterator[str]:
        """Yield what the texts of a module name: modules, folders beside it, programs."""
        # A docstring imports nothing, nor a comment or the name of a logger.
        bare = LOGGER.sub("", TRIPLE.sub(_without_docstring, IMPORT.sub("", text)))
        for dotted in set(DOTTED.findall(bare)):
            yield from self._named(dotted)
        for words in WORD.finditer(bare):
            if (folder := f"{package}.{words[1] or words[2]}") in self.packages:
                yield from self.below(folder)
        for program in PROGRAM.findall(text):
            yield from {self.entries[""].get(program, "")} - {""}

    def _imported(self, package: str, found: re.Match[str]) -> Iterator[str]:
        if found["modules"]:
            yield from (one.split()[0] for one in found["modules"].split(",") if one.split())
            return
        module = found["module"]
        if module.startswith("."):
            rest = module.lstrip(".")
            above = package.rsplit(".", len(module) - len(rest) - 1)[0]
            module = f"{above}.{rest}" if rest else above
        for line in re.sub(r"#.*", "", found["names"].strip("()")).split(","):
            used = line.split()[0] if line.split() else ""
            yield f"{module}.{self.lazy.get(module, {}).get(used, used)}"

    def _named(self, dotted: str) -> set[str]:
        """Return the modules a text means: a package means all of it, an attribute its module."""
        if dotted in self.entries:
            return set(self.entries[dotted].values())
        return self.below(dotted) if dotted in self.packages else {dotted}

    def naming(self, word: str) -> set[str]:
        """Return the modules that name a file or a folder; names all over say nothing."""
        if word in {"", "src", "atoll", "tests", "bench"}:
            return set()
        whole = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        texts = ((name, self.texts[at]) for name, at in self.paths.items())
        return {name for name, text in texts if word in text and whole.search(text)}

    def reached(self, changed: Iterable[str]) -> set[str]:
        """Return the paths of the modules that import any of these, at whatever distance."""
        found = set(changed)
        left = list(found)
        while left:
            new = self.users[left.pop()] - found
            found |= new
            left.extend(new)
        return {self.paths[one] for one in found if one in self.paths}


def _without_docstring(found: re.Match[str]) -> str:
    return "" if not found["before"].strip() else found[0]


def affected(graph: Graph, paths: Iterable[str]) -> tuple[set[str], list[str]]:
    """Return the affected test files, and the paths on which every test can depend."""
    changed, places, unknown = set[str](), set(ALWAYS), list[str]()
    for path in paths:
        placed = [tests for prefix, tests in PLACES.items() if path.startswith(prefix)]
        places.update(*placed)
        if path.startswith(EVERYTHING):
            unknown.append(path)
        elif name := module_name(path):
            changed.add(name)
        elif placed:
            changed |= {one for one in graph.naming(Path(path).name) if one.startswith("tests.")}
        elif naming := graph.naming(Path(path).name) or graph.naming(Path(path).parent.name):
            changed |= naming
        else:
            unknown.append(path)
    reached = graph.reached(changed)
    tests = {p for p in graph.texts if p.rpartition("/")[2].startswith("test_")}
    chosen = {
        one
        for one in tests
        if one.startswith(tuple(places))
        or reached & {one, *(f"{folder}/conftest.py" for folder in Path(one).parents)}
    }
    return {one for one in chosen if (ROOT / one).exists()} | places & {UNITS}, unknown


def changes(since: str) -> list[str]:
    """Return what changed since this branch left `since`, with files that are not committed."""

    def git(*words: str) -> list[str]:
        said = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
        return [one for one in said.stdout.split("\0") if one]

    (base,) = git("merge-base", since, "HEAD")
    found = git("diff", "-z", "--name-only", "--no-renames", base.strip())
    return sorted({*found, *git("ls-files", "-z", "--others", "--exclude-standard")})


def find(since: str) -> tuple[set[str], list[str]]:
    """Return what `affected` does for the changes since a revision. Ends the program where git does
    not know it."""
    try:
        paths = changes(since)
    except subprocess.CalledProcessError as failed:
        sys.exit(f"test: cannot find what changed: {failed.stderr.strip()}")
    return affected(Graph(one for one in paths if not (ROOT / one).exists()), paths)


def main() -> None:
    """Print the affected test files, or `?` and each path on which every test can depend."""
    chosen, unknown = find(sys.argv[1] if sys.argv[1:] else "main")
    print(*(f"? {one}" for one in unknown) if unknown else sorted(chosen), sep="\n")


if __name__ == "__main__":
    main()
