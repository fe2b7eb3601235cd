import os
import sys
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from atoll.adapters.apart.choice import Choice, read_choice, write_choice
from atoll.domain.errors import Invalid, Unavailable
from atoll.domain.ids import SandboxId, spell
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import ExtensionSetup, Provision
from atoll.wiring.control.extensions import EXTENSION_GROUP, load_extensions, write_unloaded
from atoll.wiring.doctor.extensions import findings
from tests.places import ROOT

Install = Callable[[str], None]
IN_MEMORY = (
    "from atoll.adapters.extensions.in_memory import InMemory\n\n\n"
    "class Mine(InMemory):\n    name = called = 'ext.mine'\n"
    "    def _handle(self, *which):\n"
    "        from atoll.ports.extension import Handle\n"
    "        return Handle(*which, self.name)\n"
)
MAKE = "\n\ndef make(setup): return Mine()\n"


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


def request() -> Provision:
    sandbox = SandboxId(spell("sb", os.urandom(10)))
    return Provision(sandbox, 1, "test", Profile(id="profile.shell", version="1.0.0"))


def setup(tmp_path: Path, **options: object) -> ExtensionSetup:
    return ExtensionSetup(tmp_path, "atoll-test", options=options)


async def test_walls_that_come_with_atoll_are_made_of_their_entry_points(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("namespaces", "docker", "in-memory"), stack)
    assert sorted(found.extensions) == ["ext.docker", "ext.in-memory", "ext.namespaces"]


async def test_wall_that_no_setting_names_is_neither_made_nor_loaded(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("namespaces",), stack)
        assert sorted(found.extensions) == ["ext.namespaces"]
        absent = load_extensions(setup(tmp_path), ("nothing-is-called-so",), stack)
        assert not absent.extensions
        (one,) = absent.unloaded
        assert one.name == "ext.nothing-is-called-so" and "docker" in one.reason


async def test_wrong_option_of_an_own_wall_stops_the_start(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(Invalid, match="docker_host"):
            load_extensions(setup(tmp_path, docker_host=7), ("docker",), stack)


async def test_stranger_is_made_beside_the_own_ones_and_closed(
    tmp_path: Path, install: Install
) -> None:
    install(
        IN_MEMORY + "    closed = False\n\n"
        "    async def close(self):\n        type(self).closed = True\n\n\n"
        "def make(setup):\n"
        "    assert setup.folder.is_dir() and setup.zygote is None and not setup.options\n"
        "    return Mine(address=f'unix:{setup.home}/mine.sock')\n"
    )
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("in-memory",), stack).extensions
        assert sorted(found) == ["ext.in-memory", "ext.mine"]
        handle = await found["ext.mine"].provision(request())
        reach = await found["ext.mine"].wait_ready(handle)
        assert reach.address == f"unix:{tmp_path}/mine.sock"
    assert sys.modules["mine_ext"].Mine.closed


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raise RuntimeError('broken')", "broken"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def make(setup): raise OSError('no daemon')", "no daemon"),
        ("def make(setup): raise SystemExit(3)", "SystemExit: 3"),
        ("make = 7", "TypeError"),
        ("def make(setup): return None", "AttributeError"),
        (IN_MEMORY.replace("ext.mine", "ext.namespaces") + MAKE, "is taken"),
        (IN_MEMORY.replace("ext.mine", "ext.docker") + MAKE, "is taken"),
        (IN_MEMORY.replace("ext.mine", "ext.Mine/../x") + MAKE, "small letters"),
        (IN_MEMORY + "    def capabilities(self): return 7\n" + MAKE, ""),
    ],
)
async def test_stranger_that_cannot_be_made_is_left_out_with_its_reason(
    tmp_path: Path, install: Install, fault: str, reason: str
) -> None:
    install(fault)
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("in-memory",), stack)
        if not reason:
            with pytest.raises(Unavailable, match="answered capabilities by int"):
                found.extensions["ext.mine"].capabilities()
            return
        assert sorted(found.extensions) == ["ext.in-memory"]
        (one,) = found.unloaded
        assert (one.name, one.package) == ("ext.mine", "mine 1.0")
        assert reason in one.reason


async def test_stranger_whose_making_blocks_holds_the_start_for_a_bounded_time(
    tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr("atoll.wiring.control.extensions.MAKE_SECONDS", 0.2)
    monkeypatch.setattr(threading, "gate_of_test", gate, raising=False)
    install("import threading\n\ndef make(setup): threading.gate_of_test.wait()")
    async with AsyncExitStack() as stack:
        (one,) = load_extensions(setup(tmp_path), (), stack).unloaded
        assert "not made within" in one.reason
        gate.set()


async def test_choice_of_a_person_turns_extensions_on_and_off(
    tmp_path: Path, install: Install
) -> None:
    install(IN_MEMORY + MAKE)
    choice = Choice().enabled("in-memory").disabled("mine")
    write_choice(tmp_path, choice)
    assert read_choice(tmp_path) == choice
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), (), stack)
    assert sorted(found.extensions) == ["ext.in-memory"]
    assert [one.name for one in found.unloaded] == ["ext.mine"]
    write_choice(tmp_path, choice.enabled("mine").disabled("in-memory"))
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("in-memory",), stack)
        assert sorted(found.extensions) == ["ext.mine"]
        assert [one.name for one in found.unloaded] == ["ext.in-memory"]


@pytest.mark.parametrize("text", ["", "[]", '{"on": 7}', '{"more": []}', "\udcff"])
def test_choice_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "extensions.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(Invalid, match=r"extensions\.json"):
        read_choice(tmp_path)


async def test_doctor_names_what_was_left_out_and_why(tmp_path: Path, install: Install) -> None:
    install("raise RuntimeError('broken')")
    (tmp_path / "run").mkdir()
    async with AsyncExitStack() as stack:
        write_unloaded(tmp_path, load_extensions(setup(tmp_path), (), stack).unloaded)
    (one,) = findings(tmp_path)
    assert (one.name, one.level) == ("ext.mine", "warn")
    assert "broken" in one.text and "mine 1.0" in one.text and one.fix
    (tmp_path / "run" / "extensions.json").write_text("{")
    assert not list(findings(tmp_path))


def test_installed_entry_points_are_those_of_pyproject() -> None:
    wanted = (ROOT / "pyproject.toml").read_text().partition(f'"{EXTENSION_GROUP}"]\n')[2]
    listed = dict(line.split(" = ") for line in wanted.partition("\n\n")[0].splitlines())
    found = {
        point.name: f'"{point.value}"'
        for point in entry_points(group=EXTENSION_GROUP)
        if point.module.startswith("atoll.")
    }
    assert found == listed, "run scripts/install: the entry points installed here are older"
