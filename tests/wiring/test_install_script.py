"""`scripts/install` with the tools it calls replaced by loud ones that only take notes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

TOOLS = [
    *("bash", "basename", "cat", "chmod", "cp", "cut", "dirname", "env", "find", "grep", "ln"),
    *("mkdir", "mktemp", "rm", "sed", "sh", "sha256sum", "sort", "tail", "uname", "xargs"),
]
NOTE = 'echo "$(basename "$0" | sed s/3//) $*" >>"$NOTES"; echo NOISE; echo NOISE >&2\n'
PYTHON = """\
case "$*" in
  *"-m venv"*) mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
esac
"""
NPM = """\
[ ! -e "$BREAK" ] || { echo "the build broke at x.ts" >&2; exit 1; }
case "$*" in
  *build*)
    mkdir -p src/atoll/surfaces/http/static
    : >src/atoll/surfaces/http/static/index.html
    : >ui/tsconfig.tsbuildinfo ;;
esac
"""


class Place:
    """A copy of the installer with a tiny project around it, on a machine of fakes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin = folder / "project", folder / "bin"
        self.notes, self.broken = folder / "notes", folder / "broken"
        (self.folder / "scripts").mkdir(parents=True)
        (self.folder / "ui").mkdir()
        (self.folder / "src").mkdir()
        self.bin.mkdir()
        for name in ("pyproject.toml", "constraints.txt", "scripts/install"):
            shutil.copy(ROOT / name, self.folder / name)
        (self.folder / "ui" / "package.json").write_text("{}")
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)
        loud = {"python3": '[ "$1" != -c ] || exit 0\n' + NOTE + PYTHON, "npm": NOTE + NPM}
        quiet = {"id": "echo 0\n", "node": "", "gcc": "", "mkfs.ext4": "", "newuidmap": ""}
        loud["apt-get"] = NOTE
        for name, script in {**loud, **quiet}.items():
            self.fake(name, script)

    def fake(self, name: str, script: str) -> None:
        (self.bin / name).write_text("#!/bin/sh\n" + script)
        (self.bin / name).chmod(0o755)

    def install(self) -> "subprocess.CompletedProcess[str]":
        env = {"PATH": str(self.bin), "NOTES": str(self.notes), "BREAK": str(self.broken)}
        env["PYTHON"] = str(self.bin / "python3")  # else the system's own is taken
        return subprocess.run(
            ["bash", "scripts/install", "run"],
            cwd=self.folder,
            env={**env, "HOME": str(self.folder)},
            capture_output=True,
            text=True,
        )

    def called(self) -> str:
        return self.notes.read_text() if self.notes.exists() else ""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_first_run_says_what_it_installs_and_keeps_other_tools_in_a_log(place: Place) -> None:
    ran = place.install()
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert ran.stdout.splitlines()[-1] == "install: ready"
    ours = ("install: ", "  git: ")  # the fakes install nothing, so git stays missing
    assert all(line.startswith(ours) for line in ran.stdout.splitlines()), ran.stdout
    assert {line.split()[0] for line in place.called().splitlines()} >= {"npm", "apt-get"}
    assert "NOISE" in (place.folder / ".venv" / "install.log").read_text()


def test_second_run_builds_nothing_and_says_only_ready(place: Place) -> None:
    place.fake("git", "")
    place.install()
    assert "npm" in place.called()
    place.notes.unlink()
    ran = place.install()
    assert (ran.stdout, ran.stderr) == ("install: ready\n", "")
    assert not {"npm", "apt-get"} & {line.split()[0] for line in place.called().splitlines()}
    assert "pip" not in place.called()


def test_page_is_built_again_after_a_change_of_its_sources(place: Place) -> None:
    place.install()
    place.notes.unlink()
    (place.folder / "ui" / "app.ts").write_text("")
    place.install()
    assert "npm" in place.called()


def test_failure_shows_what_the_tool_said(place: Place) -> None:
    place.broken.touch()
    ran = place.install()
    assert ran.returncode != 0
    assert "the build broke at x.ts" in ran.stderr
    assert "install: the page did not build" in ran.stderr


def test_missing_uidmap_is_installed_as_root_and_named_to_others(place: Place) -> None:
    (place.bin / "newuidmap").unlink()
    place.fake("git", "")
    place.install()
    assert "apt-get install -y --no-install-recommends uidmap" in place.called()
    place.fake("id", "echo 1000\n")
    place.notes.unlink()
    ran = place.install()
    assert "apt-get install uidmap" in ran.stdout and "apt-get" not in place.called()
