"""`atoll extension new`, then `check` on what it wrote, and on a backend that lies."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.errors import Invalid, NotFound
from atoll.domain.ids import SandboxId
from atoll.testing.check import suite
from atoll.testing.check.__main__ import find_leftovers
from atoll.testing.check.home import HomeAccess, find_host, home_of_run
from atoll.testing.contracts.extensions.extension import ExtensionContract
from atoll.wiring.control.settings import read_settings
from tests.places import ROOT


def ran(*words: str, site: Path | None = None, cwd: Path) -> "subprocess.CompletedProcess[str]":
    path = f"{ROOT / 'src'}{os.pathsep}{site}" if site else str(ROOT / "src")
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": path},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def installed(tmp_path: Path, name: str) -> Path:
    """Write a package by the command, and install it as pip would in development."""
    site = tmp_path / "site"
    made = ran(
        "-m", "atoll.wiring.command", "extension", "new", name, "--into", str(site), cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    info = site / f"atoll_{name}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: atoll-{name}\nVersion: 0.1.0\n")
    points = f"[atoll.extensions]\n{name} = atoll_{name}.extension:make\n"
    (info / "entry_points.txt").write_text(points)
    return site


def report_of(tmp_path: Path, name: str, site: Path | None = None) -> tuple[int, Any, str]:
    done = ran("-m", "atoll.testing.check", name, site=site, cwd=tmp_path)
    place = tmp_path / f"{name}-check.json"
    return done.returncode, json.loads(place.read_bytes()) if place.exists() else None, done.stdout


@pytest.mark.slow
def test_package_that_is_new_passes_every_suite(tmp_path: Path) -> None:
    code, report, said = report_of(tmp_path, "mine", installed(tmp_path, "mine"))
    assert said.startswith("ext.mine: about ") and "nothing is rented" in said
    assert code == 0, said
    suites = {one["suite"]: one for one in report["suites"]}
    assert set(suites) == {"extension", "spawner", "wall", "link"}
    assert suites["extension"]["passed"] >= 13
    assert suites["spawner"]["passed"] >= 9
    assert suites["wall"]["passed"] >= 6
    assert suites["link"]["not_run"]
    assert not any(one["failed"] for one in suites.values())
    assert (report["extension"], report["package"]) == ("ext.mine", "atoll-mine")
    assert report["leftovers"] == []


def test_backend_without_a_process_behind_its_address_fails(tmp_path: Path) -> None:
    code, report, said = report_of(tmp_path, "in-memory")
    assert code == 1, said
    suites = {one["suite"]: one for one in report["suites"]}
    assert suites["spawner"]["passed"] == 0 and len(suites["spawner"]["failed"]) >= 8


def test_backend_that_rents_is_not_started_without_consent(tmp_path: Path) -> None:
    site = installed(tmp_path, "renting")
    file = site / "atoll_renting" / "extension.py"
    text = file.read_text().replace("images=", 'pricing="per-second", images=')
    file.write_text(text.replace("pod.start(", "pod.never("))
    done = ran("-m", "atoll.testing.check", "renting", site=site, cwd=tmp_path)
    assert done.returncode == 2
    assert "They are rented (per-second); no price is declared." in done.stdout
    assert "`--live` agrees to that, nothing was started" in done.stderr
    assert not list(tmp_path.glob("*.json"))


async def test_sandboxes_that_the_check_did_not_ask_for_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    extension = InMemory()
    theirs, ours = ExtensionContract().request(), ExtensionContract().request(generation=3)
    for wanted in (theirs, ours):
        await extension.provision(wanted)
    not_running = SandboxId("sb_stopped")
    monkeypatch.setattr(suite, "STARTED", {ours.sandbox_id: 3, not_running: 2})
    found = {one.sandbox_id: one.generation for one in await find_leftovers(extension)}
    assert found == {ours.sandbox_id: 3, not_running: 2}


@pytest.mark.parametrize("name", ["absent", "../x"])
def test_extension_that_is_not_installed_is_said_to_be_none(tmp_path: Path, name: str) -> None:
    done = ran("-m", "atoll.testing.check", name, cwd=tmp_path)
    assert done.returncode == 2 and "no installed package has" in done.stderr


def test_home_of_a_check_has_what_it_needs_of_another_and_is_removed(tmp_path: Path) -> None:
    images = tmp_path / "images"
    (images / "small" / "usr").mkdir(parents=True)
    (images / "small" / "usr" / "file").write_text("of the tree")
    (images / "other").mkdir()
    (images / "index.json").write_text('{"names": {"small": {"files": 1}}, "references": {}}')
    (tmp_path / "ssh").mkdir()
    (tmp_path / "ssh" / "identity").write_text("key")
    (tmp_path / "config.toml").write_text('extensions = ["docker"]\n')
    (tmp_path / "keys.toml").write_text("")
    with home_of_run(tmp_path, "small", zygote=False) as home:
        assert (home / "images" / "small" / "usr" / "file").read_text() == "of the tree"
        assert not (home / "images" / "other").exists() and not (home / "keys.toml").exists()
        assert (home / "ssh" / "identity").read_text() == "key"
        assert read_settings(home, {}, {}).backends.extensions == ("docker",)
    assert not home.exists()
    assert (images / "small" / "usr" / "file").read_text() == "of the tree"


@pytest.mark.parametrize("image", ["archive:saved.tar", "archive:../saved.tar", "node:22"])
def test_image_that_is_no_tree_of_the_home_is_an_archive_there_or_the_backends(
    tmp_path: Path, image: str
) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "saved.tar").write_bytes(b"tar")
    with home_of_run(tmp_path, image, zygote=False) as home:
        taken = [place.name for place in (home / "images").iterdir()]
    assert taken == (["saved.tar"] if image == "archive:saved.tar" else [])


def test_home_that_is_none_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(Invalid, match="is no directory"),
        home_of_run(tmp_path / "absent", "", zygote=False),
    ):
        pass


def test_host_that_a_home_does_not_have_is_not_found() -> None:
    with pytest.raises(NotFound, match="no host 'box'"):
        find_host(HomeAccess(), "box")
