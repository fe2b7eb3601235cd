"""The bar of something long: what it shows, and that it leaves nothing behind."""

import os
import pty
import subprocess
import sys

import pytest

from atoll.surfaces.cli.console.bar import Bar, draw_bar

MIB = 2**20


@pytest.mark.parametrize(
    ("done", "expected", "shown"),
    [
        (3 * MIB, 0, "3 MiB"),
        (0, 8 * MIB, f"[{'.' * 24}]   0%  0 of 8 MiB"),
        (4 * MIB, 8 * MIB, f"[{'#' * 12}{'.' * 12}]  50%  4 of 8 MiB"),
        (9 * MIB, 8 * MIB, f"[{'#' * 23}.]  99%  9 of 8 MiB"),
    ],
)
def test_bar_shows_a_share_or_how_much_there_is(done: int, expected: int, shown: str) -> None:
    assert draw_bar(done, expected) == shown


def test_bar_is_not_drawn_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar("codex") as bar:
        assert bar.headway is None
        bar.line("fetching")
    assert capsys.readouterr().err == "fetching\n"


def test_bar_on_a_terminal_is_redrawn_in_place_and_taken_away() -> None:
    ours, theirs = pty.openpty()
    code = (
        "from atoll.surfaces.cli.console.bar import Bar\n"
        "with Bar('codex') as bar:\n"
        "    bar.headway(1 << 20, 4 << 20); bar.line('said'); bar.headway(2 << 20, 4 << 20)\n"
    )
    env = {**os.environ, "COLUMNS": "60", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True, env=env)
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    erase = "\r\x1b[K"
    assert [part for part in said.split(erase) if part] == [
        f"codex [{'#' * 6}{'.' * 18}]  25%  1 of 4 MiB",
        "said\r\n",
        f"codex [{'#' * 12}{'.' * 12}]  50%  2 of 4 MiB",
    ]
    assert said.endswith(erase)
