"""Extensions at the command line: what is there and why not, a new one, and the choice."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

ABLE: dict[str, Any] = {
    "isolation": "container",
    "regions": ["local"],
    "gpu": False,
    "gpus": [],
    "persistence": True,
    "pricing": "self-hosted",
    "cost_per_hour": None,
    "latency_class": "standard",
    "abilities": [],
    "images": ["host"],
    "closes_network": True,
    "doors": True,
    "limits": {"cpu": None, "memory_mb": None, "workspace_mb": None},
    "host_kind": "local",
}
FOUND = {
    "extensions": [
        {
            "name": "ext.mine",
            "available": False,
            "reason": "mine 1: \x1b[2Jno",
            "capabilities": None,
        },
        {"name": "ext.namespaces", "available": True, "reason": None, "capabilities": ABLE},
    ]
}


@pytest.fixture
def listed(server: Scripted) -> None:
    server.answers["GET /v1/extensions"] = lambda _seen: web.json_response(FOUND)


@pytest.mark.usefixtures("listed")
def test_list_names_what_is_left_out_and_why(cli: Cli) -> None:
    ran = cli("extension", "list")
    assert ran.code == 0 and "\x1b[2J" not in ran.out
    rows = [line.split() for line in ran.out.splitlines()]
    assert rows[0] == ["EXTENSION", "STATE", "ISOLATION", "PRICING", "REASON"]
    assert rows[1][:3] == ["ext.mine", "out", "-"] and "no" in rows[1][-1]
    assert rows[2] == ["ext.namespaces", "ok", "container", "self-hosted", "-"]
    assert json.loads(cli("extension", "list", "--json").out) == FOUND


@pytest.mark.usefixtures("listed")
def test_info_shows_one_by_its_short_name(cli: Cli) -> None:
    ran = cli("extension", "info", "namespaces")
    assert "hosts of kind local" in ran.out and "self-hosted" in ran.out
    assert "left out" in cli("extension", "info", "mine").out
    absent = cli("extension", "info", "absent")
    assert absent.code != 0 and "no extension" in absent.err


def test_choice_is_kept_for_the_next_start(cli: Cli, tmp_path: Path) -> None:
    assert cli("extension", "enable", "ext.docker").code == 0
    ran = cli("extension", "disable", "ssh")
    assert ran.code == 0 and "next start" in ran.err
    assert ran.out == "ext.ssh, which comes with Atoll, is disabled.\n"
    assert json.loads((tmp_path / "extensions.json").read_text()) == {
        "on": ["docker"],
        "off": ["ssh"],
    }
    for absent in ("mine", "../x"):
        refused = cli("extension", "disable", absent)
        assert refused.code != 0 and "no installed package has" in refused.err


def test_new_writes_a_small_package_once(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    ran = cli("extension", "new", "my-box", "--into", str(folder))
    assert ran.code == 0 and "pip install -e" in ran.out
    files = sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())
    assert files == [
        "atoll_my_box/__init__.py",
        "atoll_my_box/extension.py",
        "pyproject.toml",
        "tests/test_extension.py",
    ]
    lines = sum(len((folder / one).read_text().splitlines()) for one in files)
    assert lines <= 150
    assert "@" not in "".join((folder / one).read_text() for one in files).replace("@pytest", "")
    again = cli("extension", "new", "my-box", "--into", str(folder))
    assert again.code != 0 and "holds files already" in again.err


@pytest.mark.parametrize("name", ["", "Box", "../x", "a b", "1", "x" * 40])
def test_new_refuses_what_is_no_name(cli: Cli, tmp_path: Path, name: str) -> None:
    ran = cli("extension", "new", name, "--into", str(tmp_path / "made"))
    assert ran.code != 0 and not (tmp_path / "made").exists()


def test_check_of_what_is_not_installed_starts_nothing(cli: Cli) -> None:
    ran = cli("extension", "check", "no-such-extension")
    assert ran.code == 2 and "no installed package" in ran.err
