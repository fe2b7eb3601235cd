"""Subordinate uids: what one sandbox takes of a uid's pools, neither the person nor others miss.

Each attack runs beside its control, the same zygote for a user without a range.
"""

import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.subordinate_ids import range_of, why_not
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.wall.shared_uid import SHARE
from atoll.zygote.wall.subordinate_uids import ALL_SANDBOXES_SHARE
from tests.claims import claim_far_uid
from tests.security.kernel.test_shared_uid import (
    ENV,
    IN_FLIGHT_AT_ONCE,
    INOTIFY,
    SEND,
    WATCHERS,
    outside,
    taken,
)

PIPE_PAGES = Path("/proc/sys/fs/pipe-user-pages-soft")
PERSON = claim_far_uid()
PIPES = """
import errno, fcntl, os, sys, time
most = int(sys.argv[1]) if len(sys.argv) > 1 else 400
count, why, pipes = 0, "none", []
try:
    while count < most:
        pipes.append(os.pipe())
        fcntl.fcntl(pipes[-1][0], fcntl.F_SETPIPE_SZ, 1 << 20)
        count += 1
except OSError as err:
    why = errno.errorcode[err.errno]
print(count, why, flush=True)
"""

pytestmark = [pytest.mark.root, pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")]


@pytest.fixture(scope="module", params=[True, False], ids=["range", "control"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    with zygote_rig(PERSON, subordinates=request.param) as running:
        yield running


@pytest.fixture
def apart(request: pytest.FixtureRequest, rig: ZygoteRig) -> bool:
    """Whether sandboxes have uids of their own."""
    return bool(request.node.callspec.params["rig"])


@pytest.fixture
def boxes(rig: ZygoteRig) -> Iterator[list[wire.Box]]:
    names = ("sb_taking", "sb_second", "sb_third")
    yield [rig.start(name, env=ENV) for name in names]
    for name in names:
        rig.ask(wire.Destroy(name))


def neighbour(rig: ZygoteRig, box: wire.Box, program: str, word: str) -> tuple[int, str]:
    """Run a program in a sandbox that shall not notice the attack of another."""
    _status, said = rig.inside(box, "/usr/bin/python3", "-c", program, word)
    count, why = said.split()
    return int(count), why


def test_descriptors_on_their_way_in_one_sandbox_cost_nobody_else_any(
    rig: ZygoteRig, boxes: list[wire.Box], apart: bool
) -> None:
    _count, why = taken(rig, boxes[0], SEND)
    assert why == "ETOOMANYREFS", "the attack is a real one"
    expected = (IN_FLIGHT_AT_ONCE, "none") if apart else (0, "ETOOMANYREFS")
    assert outside(rig, SEND, "1024") == expected
    assert neighbour(rig, boxes[1], SEND, "1024") == expected


def test_pages_of_pipes_in_one_sandbox_cost_nobody_else_any(
    rig: ZygoteRig, boxes: list[wire.Box], apart: bool
) -> None:
    if int(PIPE_PAGES.read_text()) not in range(1, 90_000):
        pytest.skip("this machine bounds no pipes")
    _count, why = taken(rig, boxes[0], PIPES)
    assert why == "EPERM", "the attack is a real one"
    expected = (4, "none") if apart else (0, "EPERM")
    assert outside(rig, PIPES, "4") == expected
    assert neighbour(rig, boxes[1], PIPES, "4") == expected


def test_watchers_of_all_sandboxes_together_leave_the_person_half(
    rig: ZygoteRig, boxes: list[wire.Box], apart: bool
) -> None:
    most = int(WATCHERS.read_text())
    each = most // SHARE
    together = min(3 * each, most // ALL_SANDBOXES_SHARE) if apart else 3 * each
    assert sum(taken(rig, box, INOTIFY)[0] for box in boxes) == together
    assert outside(rig, INOTIFY)[0] == most - together


def test_sandbox_has_a_uid_of_the_range_that_none_had_before(
    rig: ZygoteRig, boxes: list[wire.Box], apart: bool
) -> None:
    rig.ask(wire.Destroy("sb_third"))
    uids = {box.host_uid for box in (*boxes, rig.start("sb_third", env=ENV))}
    if not apart:
        assert uids == {PERSON}
        return
    assert len(uids) == 4
    assert uids <= set(range_of(PERSON))
    for box in boxes[:2]:
        inside = rig.home.box(box.sandbox_id).mounted / "workspace"
        assert inside.stat().st_uid == inside.stat().st_gid == box.host_uid
        assert Path(f"/proc/{box.runtime_pid}").stat().st_uid in {0, PERSON}
        notes = [note for note in box.degraded if note.startswith("uid: rootless")]
        assert len(notes) == 1 and "inotify" in notes[0]


def test_folders_of_the_home_stay_closed_to_other_users(
    rig: ZygoteRig, boxes: list[wire.Box]
) -> None:
    places = rig.home.box(boxes[0].sandbox_id)
    for folder in (rig.home.root, rig.home.run, rig.home.boxes, places.folder, places.journal):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder


def test_sandbox_that_writes_to_the_persons_files_has_the_persons_uid(
    rig: ZygoteRig, apart: bool
) -> None:
    if not apart:
        pytest.skip("without a range all sandboxes have it")
    box = rig.start("sb_layer", env=ENV, overlay=True)
    assert box.host_uid == PERSON
    assert any("shares the caller's uid" in note for note in box.degraded)
    rig.ask(wire.Destroy("sb_layer"))


def test_kept_files_wait_for_the_range_they_belong_to() -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        home = Path(folder)
        again = wire.Start("sb_kept", 2, "box", env=ENV)
        with zygote_rig(PERSON, home, subordinates=True) as rig:
            box = rig.start("sb_kept", env=ENV)
            line = "cd /workspace; echo kept >f; mkdir d; echo >d/x; chmod 0 d"
            assert rig.inside(box, "/bin/sh", "-c", line)[0] == 0
        with zygote_rig(PERSON, home) as rig:
            refused = rig.ask(again)
            assert isinstance(refused, wire.Refused) and "subordinate uid" in refused.message
            left = rig.ask(wire.Destroy("sb_kept"))
            assert isinstance(left, wire.Cleaned) and "subordinate uid" in str(left.leftovers)
        with zygote_rig(PERSON, home, subordinates=True) as rig:
            started = rig.ask(again)
            assert isinstance(started, wire.Started) and started.box.host_uid == box.host_uid
            assert rig.inside(started.box, "/bin/cat", "/workspace/f")[1] == "kept\n"
            ended = rig.ask(wire.Destroy("sb_kept"))
            assert isinstance(ended, wire.Cleaned) and not ended.leftovers
            assert not rig.home.box("sb_kept").folder.exists()
