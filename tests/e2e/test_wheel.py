"""The wheel users install: everything in it, and no wheel at all without the page."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.client.test_programs import SERVER_ONLY
from tests.places import ROOT

MACHINES = ("x86_64", "aarch64")
PAGE = ROOT / "src/atoll/surfaces/http/static/index.html"


def build(source: Path, out: Path, path: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(out), str(source)]
    return subprocess.run(argv, env={"PATH": path}, capture_output=True, text=True, check=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What a wheel is built from, and no more."""
    copy = tmp_path / "tree"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    (copy / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/hatch_build.py", copy / "scripts")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", copy / "src", ignore=ignored)
    shutil.copytree(ROOT / "native", copy / "native")
    return copy


AS_A_PROGRAM = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2].split():
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
sys.path.insert(0, sys.argv[1])
import atoll.client
from atoll.client import Atoll, NotFound
assert atoll.client.__file__.startswith(sys.argv[1])
Atoll("http://127.0.0.1:1", "token")
"""
"""The wheel's client where nothing is installed that only a server needs."""


def test_wheel_holds_page_init_profiles_and_migrations(tree: Path, tmp_path: Path) -> None:
    if not PAGE.exists():
        pytest.skip("the page is not built here: run scripts/install")
    done = build(tree, tmp_path / "out", "/usr/bin:/bin")
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "out").glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        "atoll/surfaces/http/static/index.html",
        "atoll/profiles/shell.yaml",
        "atoll/adapters/storage/migrations/env.py",
        "atoll/adapters/storage/migrations/versions/r0040_tables.sql",
        "atoll/py.typed",
    }
    assert wanted <= names
    programs = {f"atoll/inside/bin/{name}-{one}" for name in ("init", "link") for one in MACHINES}
    assert programs <= names
    assert wheel.stem.endswith("-py3-none-linux_x86_64.linux_aarch64")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    absent = " ".join(name for name in SERVER_ONLY if "." not in name)
    argv = [sys.executable, "-c", AS_A_PROGRAM, str(tmp_path / "installed"), absent]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_wheel_without_the_page_is_not_made(tree: Path, tmp_path: Path) -> None:
    shutil.rmtree(tree / "src/atoll/surfaces/http/static", ignore_errors=True)
    done = build(tree, tmp_path / "out", "/nonexistent")
    assert done.returncode != 0
    assert "the page is missing" in done.stdout + done.stderr
    assert not list((tmp_path / "out").glob("*.whl"))
