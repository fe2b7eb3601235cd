import os
import sys
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from atoll.adapters.apart.choice import Choice, read_choice, write_choice
from atoll.adapters.apart.installed import GROUP, points
from atoll.domain.errors import Failed, Invalid
from atoll.domain.ids import SandboxId, spell
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import ExtensionSetup, Provision
from atoll.wiring.control.extensions import load_extensions
from atoll.wiring.doctor.extensions import findings
from tests.places import ROOT

Install = Callable[..., None]
IN_MEMORY = (
    "from atoll.adapters.extensions.in_memory import InMemory\n\n\n"
    "class Mine(InMemory):\n    name = called = 'ext.mine'\n"
    "    def _handle(self, *which):\n"
    "        from atoll.ports.extension import Handle\n"
    "        return Handle(*which, self.name)\n"
)
MAKE = "\n\ndef make(setup): return Mine()\n"


def able(claim: str) -> str:
    """Return an extension that says this of itself."""
    return (
        IN_MEMORY
        + "    def capabilities(self):\n"
        + "        from atoll.ports.extension import Capabilities\n"
        + "        from atoll.domain.wall.isolation import IsolationLevel\n"
        + f"        return Capabilities(IsolationLevel.NONE, {claim})\n"
        + MAKE
    )


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a stranger's package `mine` whose module holds this text."""

    def laid(text: str, name: str = "mine") -> None:
        info = tmp_path / "site" / "mine-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = mine_ext:make\n")
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
        (one,) = absent.missing_extensions
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
        with pytest.raises(Failed, match="does not answer at its address"):
            await found["ext.mine"].wait_ready(handle)
    assert sys.modules["mine_ext"].Mine.closed


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("raise RuntimeError('broken')", "broken"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def make(setup): raise OSError('no daemon')", "no daemon"),
        ("def make(setup): raise SystemExit(3)", "SystemExit: 3"),
        ("make = 7", "nothing that can be called"),
        ("def make(setup): return None", "returned nothing"),
        ("class Mine: name = 'ext.mine'" + MAKE, "it has no `provision`; it has no `wait_ready`"),
        (IN_MEMORY + "    def survey(self): return []" + MAKE, "`survey` is not `async def`"),
        (IN_MEMORY + "    async def ended(self): return []" + MAKE, "`ended` has no `yield`"),
        (IN_MEMORY + "    def ended(self): yield" + MAKE, "`ended` is not `async def`"),
        (IN_MEMORY + "    async def capabilities(self): pass" + MAKE, "without `await`"),
        (
            able("abilities=frozenset({'Flies'})"),
            "the ability 'Flies' is none of KeepsPools, KeepsSnapshots, Relocates",
        ),
        (able("abilities=frozenset({'Relocates'})"), "claims the ability Relocates and lacks"),
        (able("host_kind='moon'"), "host_kind 'moon' is none of local"),
        (able("regions=()"), "regions are no names"),
        (able("regions=None"), "of wrong types: Expected `array`, got `null` - at `$.regions`"),
        (able("gpus=object()"), "of wrong types: Encoding objects of type object"),
        (able("abilities=None"), "got `null` - at `$.abilities`"),
        (able("limits=None"), "got `null` - at `$.limits`"),
        (able("cost_per_hour=0.12"), "got `float` - at `$.cost_per_hour`"),
        (IN_MEMORY.replace("ext.mine", "ext.other") + MAKE, "not that of its entry point"),
        (IN_MEMORY.replace("ext.mine", "ext.namespaces") + MAKE, "not that of its entry point"),
        (IN_MEMORY.replace("ext.mine", "ext.Mine/../x") + MAKE, "small letters"),
        (
            IN_MEMORY + "    def capabilities(self): return 7\n" + MAKE,
            "where Capabilities is due",
        ),
    ],
)
async def test_foreign_extension_that_cannot_be_made_is_left_out_with_its_reason(
    tmp_path: Path, install: Install, fault: str, reason: str
) -> None:
    install(fault)
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("in-memory",), stack)
        assert sorted(found.extensions) == ["ext.in-memory"]
        (one,) = found.missing_extensions
        assert (one.name, one.package) == ("ext.mine", "mine 1.0")
        assert reason in one.reason


@pytest.mark.parametrize("off", [(), ("namespaces",)])
async def test_stranger_with_a_name_of_ours_is_left_out_and_no_choice_means_it(
    tmp_path: Path, install: Install, off: tuple[str, ...]
) -> None:
    install(IN_MEMORY.replace("ext.mine", "ext.namespaces") + MAKE, "namespaces")
    write_choice(tmp_path, Choice(off=off))
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("namespaces",), stack)
    reasons = {one.package: one.reason for one in found.missing_extensions}
    assert "is taken" in reasons["mine 1.0"]
    assert ("atoll" in reasons) is bool(off)


async def test_doctor_names_what_is_in_trouble_until_it_works(
    tmp_path: Path, install: Install
) -> None:
    (tmp_path / "run").mkdir()
    install(
        IN_MEMORY + "    broken = True\n\n    async def survey(self):\n"
        "        if self.broken: raise OSError('no daemon')\n        return []\n" + MAKE
    )
    async with AsyncExitStack() as stack:
        mine = load_extensions(setup(tmp_path), (), stack).extensions["ext.mine"]
        assert not list(findings(tmp_path))
        with pytest.raises(Failed, match="no daemon"):
            await mine.survey()
        (one,) = findings(tmp_path)
        assert one.level == "warn" and one.text == "in trouble: survey: OSError: no daemon"
        sys.modules["mine_ext"].Mine.broken = False
        assert await mine.survey() == []
        assert not list(findings(tmp_path))


async def test_stranger_whose_making_blocks_holds_the_start_for_a_bounded_time(
    tmp_path: Path, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr("atoll.wiring.control.extensions.MAKE_SECONDS", 0.2)
    monkeypatch.setattr(threading, "gate_of_test", gate, raising=False)
    install("import threading\n\ndef make(setup): threading.gate_of_test.wait()")
    async with AsyncExitStack() as stack:
        (one,) = load_extensions(setup(tmp_path), (), stack).missing_extensions
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
    assert [one.name for one in found.missing_extensions] == ["ext.mine"]
    write_choice(tmp_path, choice.enabled("mine").disabled("in-memory"))
    async with AsyncExitStack() as stack:
        found = load_extensions(setup(tmp_path), ("in-memory",), stack)
        assert sorted(found.extensions) == ["ext.mine"]
        assert [one.name for one in found.missing_extensions] == ["ext.in-memory"]


@pytest.mark.parametrize("text", ["", "[]", '{"on": 7}', '{"more": []}', "\udcff"])
def test_choice_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "extensions.json").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(Invalid, match=r"extensions\.json"):
        read_choice(tmp_path)


async def test_doctor_names_what_was_left_out_and_why(tmp_path: Path, install: Install) -> None:
    install("raise RuntimeError('broken')")
    (tmp_path / "run").mkdir()
    async with AsyncExitStack() as stack:
        load_extensions(setup(tmp_path), (), stack)
    (one,) = findings(tmp_path)
    assert (one.name, one.level) == ("ext.mine", "warn")
    assert "broken" in one.text and "mine 1.0" in one.text and one.fix
    (tmp_path / "run" / "extensions.json").write_text("{")
    assert not list(findings(tmp_path))


def test_installed_entry_points_are_those_of_pyproject() -> None:
    wanted = (ROOT / "pyproject.toml").read_text().partition(f'"{GROUP}"]\n')[2]
    listed = dict(line.split(" = ") for line in wanted.partition("\n\n")[0].splitlines())
    found = {
        point.name: f'"{point.value}"' for point in points() if point.module.startswith("atoll.")
    }
    assert found == listed, "run scripts/install: the entry points installed here are older"
