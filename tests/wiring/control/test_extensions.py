import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from atoll.domain.errors import Invalid
from atoll.ports.extension import ExtensionSetup
from atoll.wiring.control.extensions import EXTENSION_GROUP, load_extensions
from tests.places import ROOT

Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a stranger's package `mine` whose module holds this text."""

    def laid(text: str) -> None:
        info = tmp_path / "site" / "mine-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{EXTENSION_GROUP}]\nmine = mine_ext:make\n")
        (info.parent / "mine_ext.py").write_text(text)
        monkeypatch.delitem(sys.modules, "mine_ext", raising=False)
        monkeypatch.syspath_prepend(str(info.parent))

    return laid


def setup(tmp_path: Path, **options: object) -> ExtensionSetup:
    return ExtensionSetup(tmp_path, "atoll-test", options=options)


async def test_walls_that_come_with_atoll_are_made_of_their_entry_points(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("namespaces", "docker", "in-memory"), stack)
    assert sorted(found) == ["ext.docker", "ext.in-memory", "ext.namespaces"]


async def test_wall_that_no_setting_names_is_neither_made_nor_loaded(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        assert sorted(load_extensions(setup(tmp_path), ("namespaces",), stack)) == [
            "ext.namespaces"
        ]
        assert not load_extensions(setup(tmp_path), ("nothing-is-called-so",), stack)


async def test_wrong_option_of_an_own_wall_stops_the_start(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(Invalid, match="docker_host"):
            load_extensions(setup(tmp_path, docker_host=7), ("docker",), stack)


async def test_stranger_is_made_beside_the_own_ones_and_closed(
    tmp_path: Path, install: Install
) -> None:
    install(
        "from atoll.adapters.extensions.in_memory import InMemory\n\n\n"
        "class Mine(InMemory):\n    name = 'ext.mine'\n    closed = False\n\n"
        "    async def close(self):\n        type(self).closed = True\n\n\n"
        "def make(setup):\n    return Mine(address=f'unix:{setup.home}/mine.sock')\n"
    )
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("in-memory",), stack)
        assert sorted(found) == ["ext.in-memory", "ext.mine"]
        mine = found["ext.mine"]
        assert getattr(mine, "address", "") == f"unix:{tmp_path}/mine.sock"
    assert getattr(type(mine), "closed", False)


@pytest.mark.parametrize(
    "fault",
    ["raise RuntimeError('broken')", "def make(setup): raise OSError('no daemon')", "make = 7"],
)
async def test_stranger_that_cannot_be_made_is_left_out(
    tmp_path: Path, install: Install, fault: str
) -> None:
    install(fault)
    async with AsyncExitStack() as stack:
        assert sorted(load_extensions(setup(tmp_path), ("in-memory",), stack)) == ["ext.in-memory"]


def test_installed_entry_points_are_those_of_pyproject() -> None:
    wanted = (ROOT / "pyproject.toml").read_text().partition(f'"{EXTENSION_GROUP}"]\n')[2]
    listed = dict(line.split(" = ") for line in wanted.partition("\n\n")[0].splitlines())
    found = {
        point.name: f'"{point.value}"'
        for point in entry_points(group=EXTENSION_GROUP)
        if point.module.startswith("atoll.")
    }
    assert found == listed, "run scripts/install: the entry points installed here are older"
