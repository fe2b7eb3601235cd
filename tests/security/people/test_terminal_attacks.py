"""Hostile bytes at a terminal: frames from a client, output from a program inside."""

import contextlib
import json
import random
import resource
import string
import time

import pytest

from atoll.surfaces.cli.console.guard import ScreenGuard
from atoll.surfaces.cli.console.output import clean
from atoll.wire.terminal.scanner import Scanner
from tests.runtime.stage import runtime

FRAMES = 400
GROWTH_KIB = 64 * 1024


ODD: list[object] = [
    2**63, -(2**63), 2**200, 1e308, -1, 0, None, True, [], {}, "x" * 3000, "\0", "\ud83d",
]  # fmt: skip


def hostile_text(chance: random.Random) -> str:
    """A frame that is nearly a message, or nothing like one."""
    odd = chance.choice(ODD)
    kind = chance.choice(["ack", "resize", "start", "exit", "", "ack\0", 7, None])
    field = chance.choice(["offset", "cols", "rows", "type", "client", "driver"])
    shapes = [
        json.dumps({"type": kind, field: odd}),
        json.dumps({"type": "resize", "cols": odd, "rows": 10}),
        json.dumps([[[odd]]]),
        "[" * chance.randrange(1, 4000),
        "".join(chance.choices(string.printable, k=chance.randrange(200))),
        '{"type":"ack","offset":NaN}',
        '{"type":"ack","offset":1,"offset":2}',
    ]
    return chance.choice(shapes)


async def test_frames_of_every_kind_leave_the_terminal_and_its_neighbours_alive() -> None:
    chance = random.Random(20260707)
    async with runtime() as rt:
        victim, neighbour = await rt.open("cat"), await rt.open("cat")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        async with rt.attach(neighbour, client="n") as quiet:
            async with rt.attach(victim, client="v") as viewer:
                for _ in range(FRAMES):
                    if chance.random() < 0.2:
                        data = chance.randbytes(chance.randrange(64)).replace(b"\x04", b"")
                        await viewer.ws.send_bytes(data.replace(b"\x03", b"").replace(b"\x1c", b""))
                    else:
                        await viewer.ws.send_str(hostile_text(chance))
                await quiet.type(b"still here\n")
                await quiet.until_bytes(b"still here")
            assert (await rt.call("GET", f"/sessions/{victim}"))[0] == 200
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < GROWTH_KIB
        assert (await rt.call("GET", "/health"))[0] == 200


async def test_frame_beyond_all_bounds_closes_its_own_connection_only() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal, client="a") as good:
            async with rt.attach(terminal, client="b") as bad:
                with contextlib.suppress(OSError):  # hung up on while it sends
                    await bad.ws.send_bytes(bytes(8 * 2**20))
                    await bad.to_end()
            await good.type(b"alive\n")
            await good.until_bytes(b"alive")


OUTPUTS = {
    "huge parameters": b"\x1b[2147483647b\x1b[99999999C\x1b[999999999S\x1b[99999999999999999999X",
    "many parameters": b"\x1b[" + b"9;" * 50_000 + b"m",
    "string without end": b"\x1b]52;c;" + b"QUFB" * 50_000,
    "device string without end": b"\x1bP$q" + b"x" * 200_000,
    "nested starts": b"\x1b]\x1bP\x1b_\x1b^\x1bX" * 20_000,
    "titles": b"".join(b"\x1b]0;%d\x07" % each for each in range(20_000)),
    "title of markup": b"\x1b]0;<img src=x onerror=alert(1)>\xe2\x80\xae\x07",
    "modes": b"".join(b"\x1b[?%dh" % each for each in range(20_000)),
    "broken characters": b"\xf0\x9f" * 50_000 + b"\xed\xa0\x80\xc0\xaf\xff",
    "scroll region": b"\x1b[5;2r\x1b[0;0r\x1b[99999;1r",
    "combining": b"e" + b"\xcc\x81" * 50_000,
}


@pytest.mark.parametrize("data", OUTPUTS.values(), ids=OUTPUTS.keys())
async def test_output_of_any_kind_arrives_by_offset_and_replays_small(data: bytes) -> None:
    async with runtime() as rt:
        (rt.home / "w" / "evil").write_bytes(data)
        terminal = await rt.open("sh", "-c", "stty -opost; cat evil; printf '\\033\\134END'; cat")
        async with rt.attach(terminal, client="a") as viewer:
            await viewer.until_bytes(b"END")
            assert viewer.offset == len(data) + 5
        async with rt.attach(terminal, client="late") as late:
            assert len(late.start.preamble) < 8192
            assert late.start.title.isprintable()
            assert len(late.start.title) <= 4096
        status, shown = await rt.call("GET", f"/sessions/{terminal}")
        assert status == 200
        assert clean(shown["title"]).isprintable()


def test_scanner_of_hostile_bytes_keeps_nothing_that_grows() -> None:
    for data in OUTPUTS.values():
        scanner = Scanner()
        for _ in range(2):
            scanner.feed(data)
        assert len(scanner.cut().preamble()) < 8192


@pytest.mark.parametrize(
    "text", ["\x1b]0;x\x07", "a\rb", "\u202eevil", "\u200b", "\x9b31m", "\ud800", "\x7f", "\u2028"]
)
def test_command_line_prints_no_control_of_others(text: str) -> None:
    assert clean(text).isprintable()
    assert clean(text).isascii()


COPIES = [
    b"\x1b]52;c;ZXZpbA==\x07",
    b"\x1b]052;c;ZXZpbA==\x1b\\",
    b"\xc2\x9d52;c;ZXZpbA==\xc2\x9c",
    b"\xc2\x9d0052;c;?\x07",
    b"\x1bPtmux;\x1b\x1b]52;c;ZXZpbA==\x07\x1b\\",
    b"\x1b]52;c;A\xc2\x9d52;c;ZXZpbA==\x07",
    b"\x1b]52;c;" + b"ZXZpbA==" * 2000 + b"\xc2\x9c",
]


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("step", [1, 2, 3, 7, 100_000])
def test_clipboard_is_not_written_whatever_the_spelling_and_the_cut(copy: bytes, step: int) -> None:
    guard = ScreenGuard()
    said = "é©”52; vorher ".encode() + copy + " nachher ©".encode() + b" \x1b]0;title\x07"
    shown = b"".join(guard.feed(said[at : at + step]) for at in range(0, len(said), step))
    assert b"ZXZpbA==" not in shown
    assert b"52;c;?" not in shown
    assert shown.startswith("é©”52; vorher ".encode())
    assert shown.endswith(" nachher ©".encode() + b" \x1b]0;title\x07")


def test_clipboard_guard_takes_no_more_than_its_share_for_each_beginning() -> None:
    def seconds(beginnings: int) -> float:
        guard = ScreenGuard()
        flood = b"\xc2\x9d52;" * beginnings + b"\x1b]52;" * beginnings + b"\x1bX"
        begin = time.process_time()
        guard.feed(flood)
        return time.process_time() - begin

    few = max(seconds(2_000), 0.001)
    # A search that began again at each of them would take 100 times as long, each time.
    assert min(seconds(20_000) for _ in range(3)) < 30 * few
