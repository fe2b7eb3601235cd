"""What a viewer sees that comes late: equal to what those see who were there, as a real
emulator (@xterm/headless) draws both.

Three questions at every place where a ring may begin. Does the preamble put a terminal into
the state the live one is in? Does all that was painted since then look the same? And where the
program painted everything anew, is the screen the live one, cell by cell? And one at every byte
where somebody may come: do the bytes they get show the live screen?

A sample is tried in every run; the slow tier tries every cut and every byte of every recording,
each to the end of it: 96,257 cuts and 238,530 places, five minutes of one core.
"""

import base64
import json
import random
import re
import subprocess
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from atoll.wire.terminal.scanner import Cut, Scanner
from atoll.wire.terminal.scrollback import MIN_CAPACITY, Scrollback
from tests.places import ROOT
from tests.wire.recordings import FOLDER, output

NAMES = ("claude-tui", "codex-tui", "opencode-tui", "qwen-tui", "vim-tui", "htop-tui")
UI = ROOT / "ui"
SCRIPT = Path(__file__).with_name("replay.mjs")
SAMPLE = 250
PICTURES = 25
LATE = 250
STOPS = 16
REPAINTS = re.compile(rb"\x1b\[2J|\x1b\[\?1049h")
LEAVES = re.compile(rb"\x1b\[\?1049l")
RESET = Scanner().cut().preamble()
RING = 2 * 1024 * 1024
OFFERED = {
    "claude-tui": 6_187,
    "codex-tui": 9_378,
    "opencode-tui": 33_183,
    "qwen-tui": 24_614,
    "vim-tui": 20_780,
    "htop-tui": 2_115,
}
"""How many places of each recording a replay may begin at: every one is tried."""

emulated = pytest.mark.skipif(
    not (UI / "node_modules/@xterm/headless").is_dir(), reason="npm ci in ui/ brings the emulator"
)


def size_of(name: str) -> tuple[int, int]:
    head = json.loads((FOLDER / f"{name}.cast").read_text("utf-8").splitlines()[0])
    return head["width"], head["height"]


def cuts_at(stream: bytes, places: Iterable[int]) -> list[Cut]:
    """The cuts a scanner offers that has seen the stream up to each place."""
    scanner, fed, found = Scanner(), 0, {}
    for place in sorted(set(places)):
        scanner.feed(stream[fed:place])
        fed = place
        cut = scanner.cut()
        found[cut.offset] = cut
    return list(found.values())


def stops_in(stream: bytes) -> list[tuple[int, int]]:
    """Where screens are compared: here and there, before a full-screen program leaves, and at the
    end. Each with the last place before it since which everything was painted anew, or -1."""
    places = {len(stream) * n // STOPS for n in range(1, STOPS + 1)}
    leaves = [found.start() for found in LEAVES.finditer(stream)]
    found = []
    for place in sorted(places | set(leaves)):
        painted = max((one.start() for one in REPAINTS.finditer(stream, 0, place)), default=-1)
        left = any(painted < leave < place for leave in leaves)
        found.append((place, -1 if left else painted))
    return found


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def seen_late(stream: bytes, places: Iterable[int]) -> list[tuple[int, str]]:
    """What those get who come at each of these places, the whole ring there: only what each gets
    more than the one before, which is no less the whole, since each begins with the other's."""
    scrollback, shown, found = Scrollback(RING), b"", []
    for before, place in pairwise((0, *sorted(set(places)))):
        scrollback.append(stream[before:place])
        cut = scrollback.first_cut()
        assert cut.offset == 0
        got = scrollback.read(0, RING)
        assert got.startswith(shown)
        more = got[len(shown) :]
        found.append((place, packed(more if shown else cut.preamble() + more)))
        shown = got
    return found


def asked(
    name: str, cuts: list[Cut], late: list[tuple[int, str]], *, step: int, bare: bool = False
) -> tuple[list[str], dict[str, int]]:
    """What the emulator finds different, and its counts. Every `step`-th cut is followed to the
    end of the recording. With `bare` the preambles only reset the terminal."""
    stream = output(name)
    cols, rows = size_of(name)
    stops = stops_in(stream)
    jobs = [
        {
            "at": cut.offset,
            "preamble": packed(RESET if bare else cut.preamble()),
            "rest": number % step == 0,
        }
        for number, cut in enumerate(cuts)
    ]
    body = {
        "cols": cols,
        "rows": rows,
        "stream": packed(stream),
        "stops": stops,
        "cuts": jobs,
        "late": late,
    }
    done = subprocess.run(
        ["node", str(SCRIPT), str(UI / "package.json")],
        input=json.dumps(body),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    *differences, summary = done.stdout.splitlines()
    told: dict[str, int] = json.loads(summary)
    assert (told["cuts"], told["late"]) == (len(cuts), len(late))
    followed = [place for cut in cuts[::step] for place, _ in stops if place > cut.offset]
    assert told["pictures"] == len(followed)
    return differences, told


def judged(name: str, cuts: list[Cut], late: list[tuple[int, str]], *, step: int) -> dict[str, int]:
    """The same, where nothing may differ."""
    differences, told = asked(name, cuts, late, step=step)
    assert told["differences"] == 0, "\n".join(each[:1500] for each in differences)
    return told


@emulated
@pytest.mark.parametrize("name", NAMES)
def test_replay_from_any_escape_shows_what_the_live_terminal_shows(name: str) -> None:
    stream = output(name)
    chosen = random.Random(name)
    escapes = [at for at, byte in enumerate(stream) if byte == 0x1B]
    places = chosen.sample(escapes, min(SAMPLE, len(escapes)))
    places += [chosen.randrange(len(stream)) for _ in range(SAMPLE)]
    cuts = cuts_at(stream, [*places, len(stream)])
    late = seen_late(stream, chosen.sample(range(1, len(stream) + 1), LATE))
    judged(name, cuts, late, step=len(cuts) // PICTURES)


@emulated
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", NAMES)
def test_replay_from_every_byte_shows_what_the_live_terminal_shows(name: str) -> None:
    stream = output(name)
    everywhere = range(1, len(stream) + 1)
    told = judged(name, cuts_at(stream, everywhere), seen_late(stream, everywhere), step=1)
    assert told["cuts"] == OFFERED[name]
    assert told["late"] == len(stream)


@emulated
def test_replay_oracle_sees_a_lost_mode_a_lost_pen_and_a_wrong_letter() -> None:
    stream = output("codex-tui")
    cuts = cuts_at(stream, range(9_000, 9_400, 50))
    differences, _ = asked("codex-tui", cuts, [], step=1, bare=True)
    assert any('"state: ' in each for each in differences)
    assert any('"picture at' in each for each in differences)
    wrong = stream.replace(b"Ask Codex", b"Ask Kodex")
    differences, _ = asked("codex-tui", [], seen_late(wrong, [len(wrong) // 2]), step=1)
    assert any("late viewer: row" in each for each in differences)


@pytest.mark.parametrize("name", NAMES)
def test_replay_from_a_small_ring_is_one_of_those_tried(name: str) -> None:
    """Where a viewer begins whose ring has lost the beginning, at every byte: at a cut the
    emulator has judged, with the bytes that follow it."""
    stream = output(name)
    offered = {cut.offset: cut for cut in cuts_at(stream, range(1, len(stream) + 1))}
    whole, small = Scrollback(RING), Scrollback(MIN_CAPACITY)
    offered[0] = small.first_cut()
    for place in range(len(stream)):
        whole.append(stream[place : place + 1])
        small.append(stream[place : place + 1])
        for cut in (small.first_cut(), small.middle_cut()):
            assert offered[cut.offset] == cut
            if place % 8 == 0:
                assert small.read(cut.offset, RING) == whole.read(cut.offset, RING)
