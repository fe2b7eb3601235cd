"""The verb `sudo` of a real zygote, asked by runtimes that mean well and by ones that do not."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.wire.zygote import sudo
from tests.claims import claim_person

LINE = "touch /workspace/by-$(id -u); echo ran >> /workspace/log; exit 5"
LIST = (("sh", "-c", LINE), ("sleep", "1000"), ("no-such-program",), ("a", "b c"))

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig() as running:
        yield running


@pytest.fixture
def box(rig: ZygoteRig) -> Iterator[wire.Box]:
    yield rig.start("sb_own", sudo=LIST)
    rig.ask(wire.Destroy("sb_own"))


def asked(number: int, *argv: str, cwd: str = "/workspace", pid: int = 2) -> str:
    return sudo.encode(sudo.RunCommand(number, argv, cwd, pid)).decode()


def over(rig: ZygoteRig, box: wire.Box, *packets: str, count: int = 1) -> list[sudo.CommandEnded]:
    heard = rig.say(box, *packets, hear=count)
    return [sudo.decode_end(packet.encode()) for packet in heard]


def asker(rig: ZygoteRig, box: wire.Box) -> int:
    """A process inside that stays, by its pid in there."""
    line = "sleep 900 >/dev/null 2>&1 & echo $!"
    return int(rig.inside(box, "/bin/sh", "-c", line)[1])


@needs_root
def test_sudo_runs_the_very_command_on_the_list_as_seeming_root(
    rig: ZygoteRig, box: wire.Box
) -> None:
    pid = asker(rig, box)
    assert over(rig, box, asked(1, *LIST[0], pid=pid)) == [sudo.CommandEnded(1, 5)]
    assert rig.inside(box, "stat", "-c", "%u", "/workspace/by-0")[1].strip() == "1000"
    assert over(rig, box, asked(2, *LIST[2], pid=pid)) == [sudo.CommandEnded(2, 127)]


@needs_root
def test_sudo_asked_by_a_sandbox_that_stood_ready_goes_by_its_own_list() -> None:
    with zygote_rig(pool_size=1) as rig:
        rig.start("sb_first")
        rig.await_pooled()
        box = rig.start("sb_second", sudo=LIST)
        pid = asker(rig, box)
        assert over(rig, box, asked(1, *LIST[0], pid=pid)) == [sudo.CommandEnded(1, 5)]
        (refused,) = over(rig, box, asked(2, "id", pid=pid))
        assert "word for word" in refused.why


@needs_root
@pytest.mark.parametrize(
    ("argv", "more", "why"),
    [
        (("id",), {}, "word for word"),
        (("sh", "-c", LINE, "x"), {}, "word for word"),
        (("sh", "-c"), {}, "word for word"),
        (("a", "b", "c"), {}, "word for word"),
        (LIST[0], {"cwd": "/nowhere"}, "directory"),
        (LIST[0], {"cwd": "/workspace/../root/x"}, "directory"),
        (LIST[0], {"pid": 4_000_000}, "gone"),
    ],
)
def test_sudo_whatever_a_runtime_believes_is_judged_by_the_zygote(
    rig: ZygoteRig, box: wire.Box, argv: tuple[str, ...], more: dict[str, object], why: str
) -> None:
    words = {"pid": asker(rig, box), **more}
    (told,) = over(rig, box, asked(1, *argv, **words))  # type: ignore[arg-type]
    assert (told.code, why in told.why) == (125, True), told
    assert rig.inside(box, "cat", "/workspace/log")[0] != 0


@needs_root
def test_sudo_sleeps_are_counted_signalled_and_end_with_the_sandbox(
    rig: ZygoteRig, box: wire.Box
) -> None:
    pid = asker(rig, box)
    packets = [asked(number, *LIST[1], pid=pid) for number in range(1, 6)]
    (refused,) = over(rig, box, *packets)
    assert (refused.number, refused.code) == (5, 125)
    assert "run already" in refused.why
    seen(rig, box, 4)
    passing = sudo.encode(sudo.PassSignal(1, 15)).decode()
    assert over(rig, box, passing) == [sudo.CommandEnded(1, 143)]
    ending = sudo.encode(sudo.PassSignal(2, 0)).decode()
    assert over(rig, box, ending) == [sudo.CommandEnded(2, 137)]
    before = processes(box.host_uid)
    assert before
    cleaned = rig.ask(wire.Stop(box.sandbox_id))
    assert isinstance(cleaned, wire.Cleaned)
    assert cleaned.leftovers == ()
    assert processes(box.host_uid) == []


@needs_root
@pytest.mark.parametrize("odd", ["forged", "garbage", "flood", "descriptors", "signals"])
def test_sudo_runtime_that_was_taken_over_harms_only_itself(
    rig: ZygoteRig, box: wire.Box, odd: str
) -> None:
    other = rig.start("sb_other", sudo=LIST)
    victim = {"pid": os.getpid(), "born": 1}
    said = {
        # What a starting child may report: such processes would be killed with the sandbox.
        "forged": [json.dumps({"type": "SandboxReady", "processes": [victim], "inside_count": 0})],
        "garbage": ["{", "\x00", "[" * 30000, '{"sudo":"run"}', '{"sudo":"be-root"}'],
        "flood": [asked(1, "id")] * 100,
        "descriptors": ["{}"] * 4,
        "signals": [json.dumps({"sudo": "pass", "number": n, "signal": 9}) for n in range(1, 9)],
    }[odd]
    rig.say(box, *said, fds=30 if odd == "descriptors" else 0)
    assert rig.inside(other, "true")[0] == 0
    assert over(rig, other, asked(1, *LIST[2], pid=asker(rig, other))) == [
        sudo.CommandEnded(1, 127)
    ]
    rig.ask(wire.Destroy("sb_other"))
    assert isinstance(rig.ask(wire.Stop(box.sandbox_id)), wire.Cleaned)
    assert rig.process.poll() is None
    held = Path(f"/proc/{rig.process.pid}/fd")
    assert len(list(held.iterdir())) < 60


def test_sudo_of_a_rootless_zygote_says_what_it_lacks() -> None:
    with zygote_rig(claim_person()) as rig:
        box = rig.start("sb_poor", sudo=LIST)
        (told,) = over(rig, box, asked(1, *LIST[0]))
        assert (told.code, "without root" in told.why) == (125, True)


def seen(rig: ZygoteRig, box: wire.Box, count: int) -> None:
    """Wait until so many of the sleeps run."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes(box.host_uid)]
        if lines.count(b"sleep\x001000\x00") == count:
            return
    raise AssertionError(f"{count} sleeps were awaited")


def processes(uid: int) -> list[int]:
    """The pids of a user of this machine."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdecimal() and each.stat().st_uid == uid:
                found.append(int(each.name))
        except FileNotFoundError:
            continue
    return found
