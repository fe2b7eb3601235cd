"""Streams drawn by a terminal emulator (@xterm/headless): no screen shows a value, and no cell
that is not part of one looks different from what the program drew."""

import base64
import itertools
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.redaction import world
from tests.redaction.conftest import Search
from tests.redaction.test_streams import sent
from tests.redaction.world import Case, Overdrawn, World

UI = ROOT / "ui"
SCRIPT = Path(__file__).with_name("screen.mjs")

pytestmark = pytest.mark.skipif(
    not (UI / "node_modules/@xterm/headless").is_dir(), reason="npm ci in ui/ brings the emulator"
)


@dataclass(frozen=True)
class Screen:
    """What was drawn: the written cells in order, and every title that was set. `commands` are the
    control strings that took effect: `osc` or `dcs`, the number or name, and the rest. `answers`
    is what the terminal would type by itself."""

    cells: tuple[str, ...]
    titles: tuple[str, ...]
    commands: tuple[tuple[str, str, str], ...]
    answers: str

    def shows(self, value: str) -> bool:
        """Whether somebody reads the value here, over the ends of lines too."""
        value = "".join(each for each in value if each >= " ")
        return any(value in text for text in ("".join(self.cells), *self.titles))


class Emulator:
    """One process that draws a stream after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.secrets_drawn = 0

    def draw(self, stream: bytes, *, cols: int) -> Screen:
        assert self._process.stdin is not None and self._process.stdout is not None
        job = {"cols": cols, "stream": base64.b64encode(stream).decode()}
        print(json.dumps(job), file=self._process.stdin, flush=True)
        drawn = json.loads(self._process.stdout.readline())
        commands = tuple((kind, name, text) for kind, name, text in drawn["commands"])
        return Screen(tuple(drawn["cells"]), tuple(drawn["titles"]), commands, drawn["answers"])


@contextmanager
def drawing() -> Iterator[Emulator]:
    """An emulator for as long as it is needed."""
    argv = ["node", str(SCRIPT), str(UI / "package.json")]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Emulator(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with drawing() as one:
        yield one


def nothing_shown(emulator: Emulator, case: Case, cols: int = 0) -> None:
    """Draw the case as it was written and as it went out, and compare."""
    cols = cols or world.WIDTHS[len(case.stream) % len(world.WIDTHS)]
    out = sent(case, ticking=False)
    written = emulator.draw(case.stream, cols=cols)
    shown = emulator.draw(out, cols=cols)
    emulator.secrets_drawn += any(map(written.shows, case.values))
    for value in case.values:
        assert not shown.shows(value)
    assert len(shown.cells) == len(written.cells)
    for was, became in zip(written.cells, shown.cells, strict=True):
        assert became in (was, "*")
    assert len(shown.titles) == len(written.titles)


def test_screens_show_no_secret_and_every_other_letter(search: Search, emulator: Emulator) -> None:
    search(World(between=world.SAFE), lambda case: nothing_shown(emulator, case), share=0.7)
    assert emulator.secrets_drawn > 0


def test_screens_show_no_secret_that_was_drawn_over(search: Search, emulator: Emulator) -> None:
    """On rows that the terminal does not fold."""
    before = emulator.secrets_drawn
    search(Overdrawn(), lambda case: nothing_shown(emulator, case, cols=400), share=0.3)
    assert emulator.secrets_drawn > before


def test_emulator_shows_what_is_coloured_folded_and_wrapped(emulator: Emulator) -> None:
    letters = itertools.chain.from_iterable(zip(world.KEY, itertools.cycle(world.SAFE)))
    screen = emulator.draw("".join(letters).encode(), cols=20)
    assert screen.shows(world.KEY)
    assert emulator.draw(f"\x1b]0;{world.KEY}\x07".encode(), cols=20).shows(world.KEY)
    assert not emulator.draw(world.KEY[:-1].encode(), cols=20).shows(world.KEY)
