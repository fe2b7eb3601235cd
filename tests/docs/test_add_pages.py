"""The pages `docs/change/add-*.md`, followed: each test adds what its page shows to a copy of the
package, touches the files that the page names and no other, and finds the new thing working."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from atoll.adapters.pods.process import PodProcess
from atoll.ports import extension as extension_port
from atoll.ports.extension import ABILITIES, Extension
from tests.docs import lamp
from tests.places import ROOT

SOURCE = ROOT / "src" / "atoll"
LEFT_OUT = shutil.ignore_patterns("static", "bin")

COMPILES = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
COPIED = ("src", "docs", "scripts")
SECONDS = 120
OURS_ALONE = ("Examines", "JudgesProfiles", "Rents", "ReachTroubles")
"""Optional abilities that no other project's extension is asked for."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
ROW = "| `lamp.switched` | 1 | `lamp_id` `on` | `why` | A lamp was switched. |"


def blocks(page: str, language: str = "python") -> list[str]:
    """The page's pieces of code."""
    text = (ROOT / "docs" / "change" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Scratch:
    """A copy of the package and its docs that may be changed."""

    top: Path

    @property
    def package(self) -> Path:
        return self.top / "src" / "atoll"

    def add(self, path: str, text: str) -> None:
        place = self.package / path
        assert not place.exists()
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)

    def insert(self, path: str, after: str, text: str) -> None:
        """Add lines behind the first place that holds `after`; `path` is below the package, or
        `docs/...`."""
        place = (self.top if path.startswith("docs/") else self.package) / path
        before, found, rest = place.read_text().partition(after)
        assert found, f"{path} holds no {after!r}"
        place.write_text(f"{before}{found}\n{text}{rest}")

    def touched(self) -> set[str]:
        """What differs from the repository, in files of every kind."""
        files = {
            path.relative_to(self.top)
            for folder in (self.package, self.top / "docs")
            for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        return {
            str(name).removeprefix("src/atoll/")
            for name in files
            if not (ROOT / name).exists()
            or (ROOT / name).read_bytes() != (self.top / name).read_bytes()
        }

    def checked(self, *tests: str) -> str:
        """What tests of the repository print about this copy, passed or failed."""
        for name in ("tests/__init__.py", "tests/places.py", *tests):
            place = self.top / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, place)
        return self._python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests).stdout

    def restore(self) -> None:
        """Make it what the repository is, but for what was compiled."""
        for name in self.touched():
            place = (self.top if name.startswith("docs/") else self.package) / name
            there = ROOT / place.relative_to(self.top)
            place.unlink()
            if there.exists():
                shutil.copy2(there, place)
        for path in self.top.iterdir():
            if path.is_file():
                path.unlink()
            elif path.name not in COPIED:
                shutil.rmtree(path)
        for path in self.package.rglob("*"):
            if path.is_dir() and not (ROOT / path.relative_to(self.top)).exists():
                shutil.rmtree(path, ignore_errors=True)

    def run(self, *argv: str) -> str:
        """What Python prints in this copy."""
        done = self._python(*argv)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _python(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *argv],
            env={**COMPILES, "PYTHONPATH": f"{self.top / 'src'}:{self.top}"},
            cwd=self.top,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def passes(self, test: str) -> None:
        """Run one test module as its author would."""
        (self.top / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
        (self.top / "test_mine.py").write_text(test)
        assert re.search(r"\d+ passed", self.run("-m", "pytest", "-q", "-p", "no:cacheprovider"))


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Scratch:
    top = tmp_path_factory.mktemp("scratch")
    for name in COPIED:
        shutil.copytree(ROOT / name, top / name, ignore=LEFT_OUT)
    return Scratch(top)


@pytest.fixture
def scratch(copied: Scratch) -> Iterator[Scratch]:
    """One copy for all tests: to copy and compile the package takes longer than most of them."""
    yield copied
    copied.restore()
    assert copied.touched() == set()


def row(*, transcript: str) -> str:
    """The page's agent under another name."""
    (text,) = blocks("add-an-agent.md")
    text = text.replace('name="codex"', 'name="mine"').replace('command="codex"', 'command="mine"')
    text = text.replace('(".codex",)', '(".mine",)')
    text = text.replace('transcript="codex"', f'transcript="{transcript}"')
    imports = (
        "from atoll.domain.agents.agent import Agent, AgentTools, Machine, Package, Seed, WatchFile"
    )
    return f'"""Mine."""\n\n{imports}\n\n_CONFIG = _HOOKS = ""\n\n{text}'


def test_data_only_agent_is_one_file(scratch: Scratch) -> None:
    scratch.add("domain/agents/catalogue/mine.py", row(transcript="codex"))
    assert scratch.touched() == {"domain/agents/catalogue/mine.py"}
    said = scratch.run(
        "-c",
        "from pathlib import Path\n"
        "from atoll.adapters.agents.shelf import LayerShelf\n"
        "from atoll.domain.agents.registry import HOME_STATE, find\n"
        "from atoll.wiring.pod import _all_agents\n"
        "print(find('mine').command, ('mine', '.mine') in HOME_STATE)\n"
        "print(any(one.agent.name == 'mine' for one in LayerShelf(Path('none')).list()))\n"
        "print(any(one.name == 'mine' for one in _all_agents()))\n",
    )
    assert said.split() == ["mine", "True", "True", "True"]


def test_agent_with_readers_of_its_own_is_three_files(scratch: Scratch) -> None:
    scratch.add("domain/agents/catalogue/mine.py", row(transcript="mine"))
    scratch.add("domain/agents/mine/__init__.py", '"""Mine."""\n')
    scratch.add(
        "domain/agents/mine/cards.py",
        "class Cards:\n    def take(self, message):\n        return []\n\n\n"
        "TRANSCRIPTS = {'mine': Cards}\n",
    )
    assert len(scratch.touched()) == 3
    said = scratch.run(
        "-c",
        "from atoll.domain.agents.registry import find\n"
        "from atoll.runtime.agents.tui import TRANSCRIPTS\n"
        "print(TRANSCRIPTS[find('mine').transcript]().take({}))\n",
    )
    assert said.strip() == "[]"


def test_command_is_a_file_and_a_section(scratch: Scratch) -> None:
    (file,) = blocks("add-a-command.md")
    place = file.splitlines()[0].removeprefix("# ")
    scratch.add(place, file)
    check = "tests/surfaces/cli/test_commands_page.py"
    assert " failed" in scratch.checked(check)
    scratch.run("-m", "scripts.command_page")
    scratch.insert(
        "docs/use/commands.md", "\n## `atoll hello`\n", "```console\n$ atoll hello Ada\n```"
    )
    assert " failed" not in scratch.checked(check)
    assert scratch.touched() == {place, "docs/use/commands.md"}
    call = "import sys\nfrom atoll.surfaces.cli.entry import run\nsys.exit(run({}, {{}}, None))"
    assert scratch.run("-c", call.format(["hello", "Ada"])) == "Hello, Ada.\n"
    assert "Greet somebody." in scratch.run("-c", call.format(["--help"]))


def test_event_is_a_line_and_a_row(scratch: Scratch) -> None:
    (block,) = blocks("add-an-event.md")
    note, line = block.splitlines()
    scratch.insert(
        "domain/event_kinds/outside.py",
        "OUTSIDE: Final[tuple[tuple[str, EventKind], ...]] = (",
        f"    {line}",
    )
    assert (
        scratch.touched()
        == {"domain/event_kinds/outside.py"}
        == {note.split(":")[0].removeprefix("# ")}
    )
    assert " failed" in scratch.checked("tests/docs/test_events.py")
    scratch.insert("docs/program/events.md", "\n|---|---|---|---|---|", ROW)
    assert " failed" not in scratch.checked("tests/docs/test_events.py")
    assert scratch.touched() == {"domain/event_kinds/outside.py", "docs/program/events.md"}
    said = scratch.run(
        "-c",
        "from atoll.domain.event_kind import KINDS; print(sorted(KINDS['lamp.switched'].fields))",
    )
    assert said.strip() == "['lamp_id', 'on']"


def test_extension_is_a_package_of_its_own(scratch: Scratch) -> None:
    page, *_ = blocks("add-an-extension.md")
    (group,) = blocks("add-an-extension.md", "toml")
    names = re.findall(r"def (\w+)\(self", page)
    assert len(names) == 6, "the page says six methods"
    # The page's class has no bodies: here each method does what the fake's does.
    bodies = (
        "for name, value in vars(InMemory).items():\n"
        "    if callable(value) and (name == '__init__' or not name.startswith('__')):\n"
        "        setattr(Mine, name, value)\n"
    )
    (scratch.top / "mine").mkdir()
    (scratch.top / "mine" / "__init__.py").write_text("")
    (scratch.top / "mine" / "extension.py").write_text(
        "from atoll.adapters.extensions.in_memory import InMemory\n"
        + page.partition("class TestMine")[0].replace(
            "from atoll.testing import ExtensionContract", ""
        )
        + bodies
        + "Mine._handle = lambda self, sandbox, generation: Handle(sandbox, generation, self.name)"
        + "\n\ndef make(setup):\n    return Mine()\n"
    )
    info = scratch.top / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        group.replace("project.entry-points.", "").replace('"', "")
    )
    scratch.passes(
        "import pytest\nfrom atoll.testing import ExtensionContract\n"
        "from mine.extension import Mine\n\n\n"
        "class TestMine(ExtensionContract):\n"
        "    @pytest.fixture\n    async def extension(self):\n        return Mine()\n\n"
        "    async def kill(self, extension, handle):\n"
        "        extension.die(handle.sandbox_id)\n"
    )
    said = scratch.run(
        "-c",
        "from contextlib import AsyncExitStack\nfrom pathlib import Path\n"
        "from atoll.ports.extension import ExtensionSetup\n"
        "from atoll.wiring.control.extensions import load_extensions\n"
        f"setup = ExtensionSetup(Path({str(scratch.top)!r}), 't')\n"
        "print(*load_extensions(setup, (), AsyncExitStack()).extensions)\n",
    )
    assert said.split() == ["ext.mine"]
    assert scratch.touched() == set()


def test_extension_page_says_what_its_template_and_the_port_have() -> None:
    page = (ROOT / "docs/change/add-an-extension.md").read_text()
    template = ast.parse((SOURCE / "templates/extension/extension.py.txt").read_text())
    (made,) = (node for node in template.body if isinstance(node, ast.ClassDef))
    methods = {node.name for node in made.body if isinstance(node, FUNCTIONS)}
    required = {
        name for name in vars(Extension) if not name.startswith("_") and name not in ("name",)
    }
    shown, *_ = blocks("add-an-extension.md")
    assert set(re.findall(r"def (\w+)\(self", shown)) == required
    own = {name for name in methods if not name.startswith("_")}
    assert own - required == {"why_ended"} and required <= own
    assert "`why_ended`, which is [optional](#optional-abilities)" in page
    used = {
        node.attr
        for node in ast.walk(made)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "pod"
    }
    said = re.search(r"\| member \| meaning \|\n\|---\|---\|\n(.*?)\n\n", page, re.DOTALL)
    assert said is not None
    assert set(re.findall(r"^\| `(\w+)", said[1], re.MULTILINE)) == used
    assert used <= set(dir(PodProcess)) | {one.name for one in fields(PodProcess)}


def test_optional_abilities_of_the_page_are_those_that_an_author_may_have() -> None:
    page = (ROOT / "docs/change/add-an-extension.md").read_text()
    section = page.partition("## Optional abilities")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE)
    optional = {
        name: {method for method in vars(kind) if not method.startswith("_")} - {"name"}
        for name, kind in vars(extension_port).items()
        if isinstance(kind, type) and (kind.__doc__ or "").startswith("Optional ability")
    }
    for name in OURS_ALONE:
        assert f"`{name}`" in section.rpartition("|")[2]
        del optional[name]
    assert {name: set(re.findall(r"`(\w+)`", cell)) for name, cell in rows} == optional
    assert [name for name, _ in rows][-len(ABILITIES) :] == sorted(
        ABILITIES, key=[name for name, _ in rows].index
    )


def test_port_is_a_file_a_suite_a_fake_and_their_names(scratch: Scratch) -> None:
    texts = blocks("add-a-port.md")
    for text in texts:
        scratch.add(text.splitlines()[0].removeprefix("# "), text)
    for folder, name in (("contracts", "LampContract"), ("fakes", "FakeLamp")):
        module = f"{folder}.lamp"
        lines = {
            "if TYPE_CHECKING:": f"    from atoll.testing.{module} import {name}",
            "__all__ = [": f'    "{name}",',
            "_MODULES = {": f'        "{name}": "{module}",',
        }
        for after, line in lines.items():
            scratch.insert("testing/__init__.py", after, line)
    assert scratch.touched() == {
        "ports/lamp.py",
        "testing/contracts/lamp.py",
        "testing/fakes/lamp.py",
        "testing/__init__.py",
    }
    scratch.passes(
        "import pytest\nfrom atoll.testing import FakeLamp, LampContract\n\n\n"
        "class TestFakeLamp(LampContract):\n"
        "    @pytest.fixture\n    def lamp(self):\n        return FakeLamp()\n"
    )


def test_noun_lies_where_the_page_says() -> None:
    text = (ROOT / "docs" / "change" / "add-a-noun.md").read_text()
    files = re.findall(r"`((?:src/atoll|tests|ui|docs|scripts)/[\w./-]+\.\w+)`", text)
    assert len(files) == 24
    assert [file for file in files if not (ROOT / file).is_file()] == []
    for file, part in (
        ("src/atoll/ports/store/people/shares.py", "class ShareRows(Protocol)"),
        (
            "src/atoll/adapters/storage/people/shares.py",
            "class SqlShareRows(SqlRecords[Share, ShareId], ShareRows)",
        ),
        ("src/atoll/ports/store/store.py", "    shares: ShareRows\n"),
        ("src/atoll/adapters/storage/transaction.py", "        shares=SqlShareRows(connection),\n"),
        ("src/atoll/services/application.py", "    shares: Shares\n"),
        ("src/atoll/wiring/control/graph.py", "        shares=Shares("),
    ):
        assert part in (ROOT / file).read_text(), file
    for file in ("people/shares.py", "logs.py"):
        assert "async def check_" in (ROOT / "tests/adapters/storage/rows" / file).read_text()


def test_noun_is_the_files_and_lines_of_the_page(scratch: Scratch) -> None:
    versions = (SOURCE / "adapters/storage/migrations/versions").glob("r0*.py")
    before = max(path.name for path in versions)[1:5]
    for file, text in lamp.FILES.items():
        scratch.add(file, text.replace("{before}", before))
    for file, behind, line in lamp.LINES:
        scratch.insert(file, behind.rstrip("\n"), f"{line}\n")
    by_hand = {*lamp.FILES, *(file for file, _, _ in lamp.LINES)}
    assert (len(lamp.FILES), len(lamp.LINES), len(by_hand)) == (7, 9, 12)
    assert scratch.touched() == by_hand
    # The formatter reads the settings.
    shutil.copyfile(ROOT / "pyproject.toml", scratch.top / "pyproject.toml")
    scratch.run("-m", "scripts.client_code")
    assert scratch.touched() == by_hand | lamp.MADE
    use = lamp.USE.replace("{root}", str(ROOT))
    assert scratch.run("-c", use).split() == ["9999", "lamp_", "['hall']"]
    assert "self.lamps = AsyncLamps(" in (scratch.package / "client/aio/made/client.py").read_text()
    check = "tests/surfaces/cli/test_command_permissions.py"
    assert " failed" not in scratch.checked(check)
    call = (
        "import sys\nfrom atoll.surfaces.cli.entry import run\nsys.exit(run(['--help'], {}, None))"
    )
    assert "Add and list your lamps." in scratch.run("-c", call)
