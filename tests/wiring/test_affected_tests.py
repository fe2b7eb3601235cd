"""`scripts/affected_tests.py` in a small repository, changed since its branch `main`."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

SCRIPT = ROOT / "scripts" / "affected_tests.py"
LAYOUT = "tests/layout/test_layout.py"
LAZY = """\
if TYPE_CHECKING:
    from atoll.lazy.bell import Bell
    from atoll.lazy.horn import Horn
else:
    _MODULES = {
        "Bell": "bell",
        "Horn": "horn",
    }
"""
FILES = {
    "pyproject.toml": '[project]\nscripts = {atoll = "atoll.main:run"}\n'
    '[project.entry-points."atoll.extensions"]\nbox = "atoll.box:make"\n',
    "src/atoll/__init__.py": "",
    "src/atoll/main.py": "def run():\n    from .core import law\n",
    "src/atoll/core/__init__.py": "",
    "src/atoll/core/law.py": '"""Unlike `atoll.core.fact`."""\n# atoll.core.fact',
    "src/atoll/core/fact.py": "",
    "src/atoll/core/row.sql": "",
    "src/atoll/rows/store.py": 'module = import_module(f"{__package__}.{name}")\n',
    "src/atoll/rows/event.py": "",
    "src/atoll/box.py": 'FOLDER = Path(__file__).parent / "packed"\n',
    "src/atoll/packed/__init__.py": "",
    "src/atoll/packed/loop.py": "",
    "src/atoll/lazy/__init__.py": LAZY,
    "src/atoll/lazy/bell.py": "",
    "src/atoll/lazy/horn.py": "",
    "tests/__init__.py": "",
    "tests/core/test_law.py": "from atoll.core import (\n    law,  # first\n)\n",
    "tests/core/test_fact.py": "from atoll.core.fact import Fact\n",
    "tests/whole/conftest.py": 'PROGRAM = Path(sys.executable).with_name("atoll")\n',
    "tests/whole/test_whole.py": "",
    "tests/test_extensions.py": 'entry_points(group="atoll.extensions")\n',
    "tests/test_patch.py": 'patch("atoll.core.fact.Fact.name")\n',
    "tests/test_program.py": 'RUN = """\nimport atoll.core.fact as fact\n"""\n',
    "tests/test_bell.py": "from atoll.lazy import Bell\n",
    "tests/test_store.py": "import atoll.rows.store\n",
    "tests/test_table.py": 'ROWS = "row.sql"\n',
    "tests/docs/test_docs.py": "",
    LAYOUT: "",
}
FACT = {"tests/core/test_fact.py", "tests/test_patch.py", "tests/test_program.py"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path)
    git(tmp_path, "switch", "-q", "-c", "work")
    return tmp_path


def git(folder: Path, *words: str) -> None:
    person = ("-c", "user.name=x", "-c", "user.email=x@x.example")
    subprocess.run(["git", *person, *words], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")


def affected(folder: Path, since: str = "main") -> set[str]:
    argv = [sys.executable, str(SCRIPT), since, str(folder)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return set(done.stdout.split("\n")) - {""}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("src/atoll/core/law.py", {"tests/core/test_law.py", "tests/whole/test_whole.py"}),
        ("src/atoll/core/fact.py", FACT),
        ("src/atoll/packed/loop.py", {"tests/test_extensions.py"}),
        ("src/atoll/lazy/bell.py", {"tests/test_bell.py"}),
        ("src/atoll/lazy/horn.py", set()),
        ("src/atoll/core/row.sql", {"tests/test_table.py"}),
        ("src/atoll/rows/event.py", {"tests/test_store.py"}),
        ("tests/core/test_law.py", {"tests/core/test_law.py"}),
        ("tests/whole/conftest.py", {"tests/whole/test_whole.py"}),
        ("docs/use/new.md", {"tests/docs/test_docs.py"}),
        ("ui/src/app.tsx", {"ui"}),
    ],
)
def test_change_affects_what_imports_or_names_it(
    repository: Path, changed: str, expected: set[str]
) -> None:
    (repository / changed).parent.mkdir(parents=True, exist_ok=True)
    (repository / changed).write_text("# changed\n")
    assert affected(repository) == expected | {LAYOUT}


def test_deleted_module_affects_what_imports_it(repository: Path) -> None:
    (repository / "src/atoll/core/fact.py").unlink()
    assert affected(repository) == FACT | {LAYOUT}


def test_changes_are_those_since_the_branch_left_the_revision(repository: Path) -> None:
    git(repository, "switch", "-q", "main")
    (repository / "src/atoll/core/law.py").write_text("x = 1\n")
    commit(repository)
    git(repository, "switch", "-q", "work")
    (repository / "src/atoll/core/fact.py").write_text("x = 1\n")
    commit(repository)
    assert affected(repository) == FACT | {LAYOUT}
    assert affected(repository, "HEAD") == {LAYOUT}


@pytest.mark.parametrize("path", ["pyproject.toml", "scripts/test", "src/atoll/unheard.of"])
def test_file_of_which_nothing_is_known_is_told_alone(repository: Path, path: str) -> None:
    (repository / path).parent.mkdir(exist_ok=True)
    (repository / path).write_text("# changed\n[project]\n")
    assert affected(repository) == {f"? {path}"}


def test_unknown_revision_is_told(repository: Path) -> None:
    argv = [sys.executable, str(SCRIPT), "nowhere", str(repository)]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "nowhere" in done.stderr
