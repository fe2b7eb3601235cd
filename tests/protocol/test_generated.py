"""What is checked in is what `proto/` says, and `proto/` breaks no client of the last release."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

BUF = ROOT / ".venv/bin/buf"
RELEASED = ROOT / "proto/released.binpb"


def _run(*argv: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def _buf(*words: str | Path) -> str:
    done = _run(BUF, *words)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "proto", tmp_path / "proto"))


def _edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / f"atoll/protocol/v1/{file}.proto"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))


def test_generated_code_is_current_and_the_schema_lints_and_breaks_nothing() -> None:
    done = _run("scripts/proto", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  uint32 seq = 2;\n", "  uint32 number = 2;\n"),
        ("  uint32 seq = 2;\n", "  uint64 seq = 2;\n"),
        ("  uint32 seq = 2;\n", ""),
        ("WorkerTornDown torn_down = 11", "WorkerTornDown torn_down = 12"),
        ("    machine = 1;\n", ""),
        ('params = 2;\n  optional string thread_id = 3 [json_name = "thread_id"]', "params = 2"),
    ],
)
def test_change_that_breaks_a_client_is_found(changed: Path, old: str, new: str) -> None:
    path = changed / "atoll/protocol/v1/codex_events.proto"
    before, found, after = path.read_text().partition(old)
    assert found
    path.write_text(before + new + after)
    assert "codex_events.proto" in _buf("breaking", changed, "--against", RELEASED)


def test_new_field_breaks_nobody(changed: Path) -> None:
    _edit(
        changed,
        "codex_workers",
        "message StopWorkerRequest {\n",
        "message StopWorkerRequest {\n  optional string words = 2;\n",
    )
    assert not _buf("lint", changed)
    assert not _buf("breaking", changed, "--against", RELEASED)


def test_careless_name_does_not_lint(changed: Path) -> None:
    _edit(
        changed,
        "codex_workers",
        "message StopWorkerRequest {\n",
        "message StopWorkerRequest {\n  optional string Words = 2;\n",
    )
    assert "Words" in _buf("lint", changed)
