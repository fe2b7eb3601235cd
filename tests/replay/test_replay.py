"""What a viewer sees that comes late: equal to what those see who were there, as a real
emulator (@xterm/headless) draws both.

Three questions at every place where a ring may begin. Does the preamble put a terminal into
the state the live one is in? Does all that was painted since then look the same? And where the
program painted everything anew, is the screen the live one, cell by cell? A sample is tried
here; the slow tier tries every byte.
"""

import base64
import json
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from atoll.wire.scrollback import Scrollback
from atoll.wire.vt import Cut, Scanner
from tests.wire.recordings import FOLDER, output

NAMES = ("claude-tui", "codex-tui", "opencode-tui", "qwen-tui", "vim-tui", "htop-tui")
UI = Path(__file__).parents[2] / "ui"
SCRIPT = Path(__file__).with_name("replay.mjs")
SAMPLE = 250
PICTURES = 25
WHOLE = 12
REPAINTS = (b"\x1b[2J", b"\x1b[?1049h")
RING = 2 * 1024 * 1024

pytestmark = pytest.mark.skipif(
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


def packed(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def seen_late(stream: bytes, place: int) -> tuple[int, str]:
    """What somebody gets who comes when the output has reached `place`, the whole ring there."""
    scrollback = Scrollback(RING)
    scrollback.append(stream[:place])
    cut = scrollback.first_cut()
    return scrollback.ready, packed(scrollback.read(cut.offset, RING))


def judged(name: str, places: Iterable[int], *, pictures: int, whole: int) -> dict[str, int]:
    """Ask the emulator; every difference is in the assertion."""
    stream = output(name)
    cols, rows = size_of(name)
    cuts = cuts_at(stream, places)
    step = max(1, len(cuts) // pictures)
    jobs: list[dict[str, object]] = []
    for number, cut in enumerate(cuts):
        job: dict[str, object] = {"at": cut.offset, "preamble": packed(cut.preamble())}
        if number % step == 0:
            rest = stream[cut.offset :]
            job["rest"] = packed(rest)
            job["repainted"] = any(word in rest for word in REPAINTS)
        jobs.append(job)
    late = [len(stream) * n // (whole + 1) for n in range(1, whole + 1)]
    body = {
        "cols": cols,
        "rows": rows,
        "stream": packed(stream),
        "cuts": jobs,
        "whole": [seen_late(stream, place) for place in late],
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
    assert told["differences"] == 0, "\n".join(each[:1500] for each in differences)
    assert told["cuts"] == len(cuts)
    return told


@pytest.mark.parametrize("name", NAMES)
def test_replay_from_any_escape_shows_what_the_live_terminal_shows(name: str) -> None:
    stream = output(name)
    chosen = random.Random(name)
    escapes = [at for at, byte in enumerate(stream) if byte == 0x1B]
    places = chosen.sample(escapes, min(SAMPLE, len(escapes)))
    places += [chosen.randrange(len(stream)) for _ in range(SAMPLE)]
    judged(name, [*places, len(stream)], pictures=PICTURES, whole=WHOLE)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", NAMES)
def test_replay_from_every_byte_shows_what_the_live_terminal_shows(name: str) -> None:
    stream = output(name)
    judged(name, range(1, len(stream) + 1), pictures=200, whole=100)
