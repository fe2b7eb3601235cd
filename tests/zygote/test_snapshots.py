"""Snapshots of disks, with real sandboxes as root: kept while something writes, begun from and
dropped; and what is left when the one who keeps them dies."""

import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll.domain.errors import Unavailable
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.wire.zygote.snapshots import (
    DropSnapshot,
    KeepSnapshot,
    SnapshotDropped,
    SnapshotKept,
)
from atoll.zygote.disk import image, snapshots
from tests.peers.remains import loops_below
from tests.zygote.start.test_pool import all_gone, known

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
WRITER = """
import sqlite3, sys
base = sqlite3.connect("/workspace/base", isolation_level=None)
base.execute("pragma journal_mode=wal")
base.execute("pragma synchronous=full")
base.execute("create table if not exists rows (n integer primary key, text)")
for n in range(int(sys.argv[1])):
    base.execute("insert into rows (text) values (?)", ("x" * 500,))
    print(n, flush=True) if n == 0 else None
"""


@pytest.fixture(scope="module")
def standing() -> Iterator[ZygoteRig]:
    with zygote_rig(0) as running:
        yield running


@pytest.fixture
def rig(standing: ZygoteRig) -> Iterator[ZygoteRig]:
    yield standing
    listed = standing.ask(wire.ListBoxes())
    assert isinstance(listed, wire.Listed)
    for box in listed.boxes:
        assert isinstance(standing.ask(wire.Destroy(box.sandbox_id)), wire.Cleaned)
    for folder in standing.home.snapshots.iterdir():
        assert standing.ask(DropSnapshot(folder.name)) == SnapshotDropped(True)


def write(rig: ZygoteRig, box: wire.Box, text: str, path: str = "/workspace/file") -> None:
    assert rig.inside(box, "/bin/sh", "-c", f"printf %s '{text}' > {path}")[0] == 0


def read(rig: ZygoteRig, box: wire.Box, path: str = "/workspace/file") -> str:
    return rig.inside(box, "/bin/cat", path)[1]


def _never_end(made: int) -> None:
    os.write(made, b"x")
    threading.Event().wait()


def keep(rig: ZygoteRig, sandbox: str, name: str) -> SnapshotKept:
    kept = rig.ask(KeepSnapshot(sandbox, name))
    assert isinstance(kept, SnapshotKept), kept
    return kept


@pytest.mark.parametrize("seconds", [None, 60])
def test_snapshot_of_a_sandbox_that_is_being_started_waits_for_the_start(
    rig: ZygoteRig, seconds: int | None
) -> None:
    write(rig, rig.start("sb_started", env=ENV), "before")
    rig.ask(wire.Stop("sb_started"))
    again = wire.Start("sb_started", 1, "box", env=ENV, maintenance_seconds=seconds)
    with rig.connect() as link:
        link.send(wire.encode_request(7, again))
        link.send(wire.encode_request(8, KeepSnapshot("sb_started", "snap_started")))
        answers: dict[int, wire.Answer] = {}
        while len(answers) < 2:
            came = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES))
            answers[came.number] = came.answer
    assert isinstance(answers[7], wire.Started)
    assert isinstance(answers[8], SnapshotKept), answers[8]
    copy = rig.start("sb_copy", env=ENV, seed="snap_started")
    assert read(rig, copy) == "before"


def test_sandboxes_begin_as_a_snapshot_of_a_running_one_and_are_apart(rig: ZygoteRig) -> None:
    first = rig.start("sb_first", env=ENV)
    write(rig, first, "before")
    kept = keep(rig, "sb_first", "snap_one")
    assert kept.size > 0
    write(rig, first, "after")
    copies = [rig.start(f"sb_copy{n}", env=ENV, seed="snap_one") for n in range(3)]
    assert [read(rig, copy) for copy in copies] == ["before"] * 3
    assert len({copy.host_uid for copy in (first, *copies)}) == 4
    for number, copy in enumerate(copies):
        assert rig.inside(copy, "/usr/bin/stat", "-c", "%U %u", "/workspace/file")[1] == (
            rig.inside(copy, "/usr/bin/id", "-u", "-n")[1].strip()
            + " "
            + rig.inside(copy, "/usr/bin/id", "-u")[1]
        )
        write(rig, copy, f"mine {number}")
        write(rig, copy, "new", "/workspace/new")
        state = "/home/agent/.codex"
        assert rig.inside(copy, "/bin/sh", "-c", f"ls {state} && echo x > {state}/y")[0] == 0
    assert [read(rig, copy) for copy in copies] == ["mine 0", "mine 1", "mine 2"]
    assert read(rig, first) == "after"


def test_what_waited_for_another_start_is_built_anew_as_the_snapshot(rig: ZygoteRig) -> None:
    write(rig, rig.start("sb_first", env=ENV), "one")
    keep(rig, "sb_first", "snap_one")
    spare = rig.ask(wire.Start("sb_copy", 1, "waits", pooled=True))
    assert isinstance(spare, wire.Started)
    waited = {each.pid for each in known(rig, "sb_copy").processes}
    assert read(rig, rig.start("sb_copy", env=ENV, seed="snap_one")) == "one"
    assert all_gone(sorted(waited))
    assert waited.isdisjoint(each.pid for each in known(rig, "sb_copy").processes)


def test_copy_keeps_its_files_over_a_stop_and_is_kept_itself(rig: ZygoteRig) -> None:
    write(rig, rig.start("sb_first", env=ENV), "one")
    keep(rig, "sb_first", "snap_one")
    copy = rig.start("sb_copy", env=ENV, seed="snap_one")
    write(rig, copy, "two")
    assert isinstance(rig.ask(wire.Stop("sb_copy")), wire.Cleaned)
    assert rig.ask(DropSnapshot("snap_one")) == SnapshotDropped(True)
    again = rig.start("sb_copy", env=ENV)
    assert read(rig, again) == "two"
    write(rig, again, "three")
    keep(rig, "sb_copy", "snap_two")
    grandchild = rig.start("sb_third", env=ENV, seed="snap_two")
    assert read(rig, grandchild) == "three"
    write(rig, grandchild, "four")


def test_stopped_sandbox_is_kept_without_standing_still(rig: ZygoteRig) -> None:
    write(rig, rig.start("sb_first", env=ENV), "one")
    rig.ask(wire.Stop("sb_first"))
    assert keep(rig, "sb_first", "snap_one").still_ms == 0
    assert read(rig, rig.start("sb_copy", env=ENV, seed="snap_one")) == "one"


def test_disk_is_whole_that_was_kept_while_a_database_was_written(rig: ZygoteRig) -> None:
    box = rig.start("sb_first", env=ENV)
    writer = threading.Thread(
        target=lambda: rig.inside(box, "/usr/bin/python3", "-c", WRITER, "3000")
    )
    writer.start()
    for number in range(3):
        keep(rig, "sb_first", f"snap_{number}")
    writer.join()
    for number in range(3):
        at = rig.home.snapshot(f"snap_{number}").image
        checked = subprocess.run(["e2fsck", "-fn", str(at)], capture_output=True, check=False)
        # A journal that is still to be replayed is skipped by -n, and said.
        assert checked.returncode == 0, checked.stdout
        copy = rig.start(f"sb_copy{number}", env=ENV, seed=f"snap_{number}")
        code = (
            "import sqlite3; b = sqlite3.connect('/workspace/base');"
            "print(b.execute('pragma integrity_check').fetchone()[0])"
        )
        assert rig.inside(copy, "/usr/bin/python3", "-c", code)[1] in ("ok\n",)


def test_same_name_is_kept_once_and_what_is_missing_is_said(rig: ZygoteRig) -> None:
    box = rig.start("sb_first", env=ENV)
    write(rig, box, "one")
    keep(rig, "sb_first", "snap_one")
    write(rig, box, "two")
    keep(rig, "sb_first", "snap_one")
    assert read(rig, rig.start("sb_copy", env=ENV, seed="snap_one")) == "one"
    absent = rig.ask(KeepSnapshot("sb_absent", "snap_two"))
    assert isinstance(absent, wire.Refused)
    assert absent.kind == "not_found"
    unknown = rig.ask(wire.Start("sb_other", 1, "box", env=ENV, seed="snap_unknown"))
    assert isinstance(unknown, wire.Refused)
    assert unknown.kind == "not_found"
    assert rig.ask(DropSnapshot("snap_unknown")) == SnapshotDropped(False)
    for name in ("snap_/../x", "other", "snap_A"):
        with pytest.raises(wire.Malformed):
            wire.decode_request(wire.encode_request(1, KeepSnapshot("sb_first", name)))


def test_start_waits_until_the_disk_is_kept(rig: ZygoteRig) -> None:
    write(rig, rig.start("sb_first", env=ENV), "one")
    rig.ask(wire.Stop("sb_first"))
    with rig.connect() as link:
        link.send(wire.encode_request(1, KeepSnapshot("sb_first", "snap_one")))
        link.send(wire.encode_request(2, wire.Start("sb_first", 1, "box", env=ENV)))
        first, second = (wire.decode_answer(link.recv(65536)) for _ in range(2))
    assert (first.number, second.number) == (1, 2)
    assert isinstance(first.answer, SnapshotKept)
    assert isinstance(second.answer, wire.Started)


def test_what_is_frozen_thaws_when_the_one_who_froze_it_dies(rig: ZygoteRig) -> None:
    box = rig.start("sb_first", env=ENV)
    source = rig.home.box("sb_first").image
    ready, made = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            image.clone = lambda *_args, **_more: _never_end(made)
            snapshots.keep(source, rig.home.snapshot("snap_one"), 1, still_seconds=3)
        finally:
            os._exit(1)
    assert os.read(ready, 1) == b"x"
    os.kill(child, 9)
    os.waitpid(child, 0)
    write(rig, box, "goes on")
    assert read(rig, box) == "goes on"
    snapshots.remove_unfinished(rig.home.snapshots)
    assert not list(rig.home.snapshots.iterdir())


def test_disk_is_not_kept_within_a_time_while_its_sandbox_stops_or_has_stopped(
    rig: ZygoteRig,
) -> None:
    rig.start("sb_first", env=ENV)
    within = KeepSnapshot("sb_first", "snap_one", still_ms=3000)
    with rig.connect() as link:
        link.send(wire.encode_request(1, wire.Stop("sb_first")))
        link.send(wire.encode_request(2, within))
        answers = dict(_numbered(wire.decode_answer(link.recv(65536))) for _ in range(2))
    assert isinstance(answers[1], wire.Cleaned)
    for answer in (answers[2], rig.ask(within)):
        assert isinstance(answer, wire.Refused)
        assert answer.kind == "unavailable"
    assert not list(rig.home.snapshots.iterdir())


def _numbered(answer: wire.NumberedAnswer) -> tuple[int, wire.Answer]:
    return answer.number, answer.answer


def test_disk_that_takes_too_long_is_never_frozen(rig: ZygoteRig) -> None:
    rig.start("sb_first", env=ENV)
    source = rig.home.box("sb_first").image
    child = os.fork()
    if child == 0:
        status = 1
        try:
            image._share_blocks = lambda *_words: False
            snapshots._frozen = lambda *_words: os._exit(2)
            snapshots.keep(source, rig.home.snapshot("snap_one"), 1, still_seconds=0)
        except Unavailable:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not list(rig.home.snapshots.iterdir())


def test_disk_that_would_stand_still_for_longer_than_allowed_is_not_kept(rig: ZygoteRig) -> None:
    box = rig.start("sb_first", env=ENV)
    fill = "cd /workspace; head -c 100000000 /dev/urandom > big; sync"
    assert rig.inside(box, "/bin/sh", "-c", fill)[0] == 0
    answer = rig.ask(KeepSnapshot("sb_first", "snap_one", still_ms=1))
    if image.clones(rig.home.snapshots):
        assert isinstance(answer, SnapshotKept | wire.Refused)
        return
    assert isinstance(answer, wire.Refused), answer
    assert answer.kind == "unavailable", answer
    assert not list(rig.home.snapshots.iterdir())
    # It runs on, and is kept where whoever writes may wait.
    write(rig, box, "goes on")
    keep(rig, "sb_first", "snap_two")


def test_nothing_is_left_of_dropped_ones(rig: ZygoteRig) -> None:
    rig.start("sb_first", env=ENV)
    keep(rig, "sb_first", "snap_one")
    rig.start("sb_copy", env=ENV, seed="snap_one")
    for sandbox in ("sb_first", "sb_copy"):
        rig.ask(wire.Destroy(sandbox))
    assert rig.ask(DropSnapshot("snap_one")) == SnapshotDropped(True)
    assert not list(rig.home.snapshots.iterdir())
    assert loops_below(rig.home.root) == []


def test_snapshot_that_is_dropped_while_it_is_kept_goes(rig: ZygoteRig) -> None:
    rig.start("sb_first", env=ENV)
    with rig.connect() as link:
        link.send(wire.encode_request(1, KeepSnapshot("sb_first", "snap_one")))
        link.send(wire.encode_request(2, KeepSnapshot("sb_first", "snap_one")))
        link.send(wire.encode_request(3, DropSnapshot("snap_one")))
        answers = dict(read_answer(link) for _ in range(3))
    assert isinstance(answers[1], SnapshotKept)
    assert answers[3] == SnapshotDropped(True)
    # The second came before the removal, or had nothing to find and was kept anew.
    for folder in rig.home.snapshots.iterdir():
        assert folder.name == "snap_one"


def read_answer(link: socket.socket) -> tuple[int, wire.Answer]:
    answered = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES))
    return answered.number, answered.answer


def test_zygote_killed_while_it_keeps_a_disk_leaves_no_half_of_it() -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        home = Path(folder)
        with zygote_rig(0, home) as rig:
            box = rig.start("sb_first", env=ENV)
            fill = "head -c 200000000 /dev/urandom > big; echo one > file"
            assert rig.inside(box, "/bin/sh", "-c", f"cd /workspace; {fill}")[0] == 0
            with rig.connect() as link:
                link.send(wire.encode_request(1, KeepSnapshot("sb_first", "snap_one")))
                until(lambda: list(rig.home.snapshots.iterdir()))
                rig.process.kill()
        with zygote_rig(0, home) as again:
            names = {path.name for path in again.home.snapshots.iterdir()}
            assert names <= {"snap_one"}
            assert read(again, again.start("sb_first", env=ENV)) == "one\n"
            again.ask(DropSnapshot("snap_one"))
            again.ask(wire.Destroy("sb_first"))
            assert loops_below(home) == []


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)
