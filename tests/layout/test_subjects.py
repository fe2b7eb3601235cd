"""The check of commit subjects, in repositories made for it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

PERSON = {
    f"GIT_{who}_{field}": value
    for who in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "Ann"), ("EMAIL", "ann@example.com"))
}


def git(folder: Path, *words: str) -> None:
    env = {**os.environ, **PERSON, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)


def commit(folder: Path, subject: str) -> None:
    git(folder, "commit", "--allow-empty", "-m", subject)


def check(folder: Path) -> tuple[int, str]:
    ceiling = {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    ran = subprocess.run(
        [folder / "scripts" / "subjects"],
        env={**os.environ, **ceiling},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout


@pytest.fixture
def branch(tmp_path: Path) -> Path:
    """A branch that left main after a commit that main keeps."""
    folder = tmp_path / "project"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "subjects", folder / "scripts")
    git(folder, "init", "-b", "main")
    commit(folder, "Whatever main holds is not read again")
    git(folder, "checkout", "-b", "work")
    return folder


@pytest.mark.parametrize(
    "subject", ["doors: move refusals", "http, cli: name the areas", "zygote/start: wait"]
)
def test_subject_with_an_area_passes(branch: Path, subject: str) -> None:
    commit(branch, subject)
    assert check(branch) == (0, "")


@pytest.mark.parametrize("subject", ["Move refusals", "doors:move", f"doors: {'x' * 66}"])
def test_subject_without_an_area_or_too_long_is_named(branch: Path, subject: str) -> None:
    commit(branch, subject)
    commit(branch, "doors: move refusals")
    code, said = check(branch)
    assert code == 1
    assert said.count("\n") == 1
    assert subject in said


def test_clone_without_shared_history_passes(branch: Path, tmp_path: Path) -> None:
    commit(branch, "Not to be seen")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--depth=1", "--branch=work", f"file://{branch}", str(clone))
    (clone / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "subjects", clone / "scripts")
    assert check(clone)[0] == 0


def test_folder_without_git_passes(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "subjects", folder / "scripts")
    assert check(folder)[0] == 0
