"""Snapshots without root, of real sandboxes whose files lie in plain folders: what a copy has, and
what was planted that it must not have."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.wire.zygote.snapshots import (
    AdmitSnapshot,
    DropSnapshot,
    FindSnapshot,
    KeepSnapshot,
    LendSnapshot,
    SnapshotDropped,
    SnapshotFound,
    SnapshotKept,
)
from atoll.zygote.host.processes import descendants
from atoll.zygote.records.uids import FIRST_UID
from tests.claims import claim_person

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
STAND = (
    "sleep 1000 </dev/null >/dev/null 2>&1 & "
    "until grep -q sleep /proc/$!/comm; do :; done; kill -STOP $!"
)
COUNT = (
    "(n=0; while echo $n > /workspace/count; do n=$((n+1)); done) </dev/null >/dev/null 2>&1 & "
    "until [ -s /workspace/count ]; do :; done"
)


@pytest.fixture(scope="module", params=["shared", "subordinates"])
def standing(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if os.geteuid() != 0:
        pytest.skip("only root can be two persons")
    with zygote_rig(claim_person(), subordinates=request.param == "subordinates") as running:
        yield running


@pytest.fixture
def rig(standing: ZygoteRig) -> Iterator[ZygoteRig]:
    yield standing
    listed = standing.ask(wire.ListBoxes())
    assert isinstance(listed, wire.Listed)
    for box in listed.boxes:
        cleaned = standing.ask(wire.Destroy(box.sandbox_id))
        assert isinstance(cleaned, wire.Cleaned)
        assert not cleaned.leftovers
    for folder in standing.home.snapshots.iterdir():
        assert standing.ask(DropSnapshot(folder.name)) == SnapshotDropped(True)
    assert not list(standing.home.snapshots.iterdir())


def shell(rig: ZygoteRig, box: wire.Box, line: str) -> str:
    return rig.inside(box, "/bin/sh", "-c", line)[1].strip()


def keep(rig: ZygoteRig, sandbox: str, name: str) -> SnapshotKept:
    kept = rig.ask(KeepSnapshot(sandbox, name))
    assert isinstance(kept, SnapshotKept), kept
    return kept


def refused(rig: ZygoteRig, sandbox: str, name: str) -> wire.Refused:
    answer = rig.ask(KeepSnapshot(sandbox, name))
    assert isinstance(answer, wire.Refused), answer
    assert not list(rig.home.snapshots.iterdir())
    return answer


def init_of(rig: ZygoteRig, box: wire.Box) -> int:
    """The pid of a sandbox's init on the machine."""
    inside = [
        pid
        for pid in descendants(box.runtime_pid)
        if Path(f"/proc/{pid}/comm").read_text() == "init\n"
    ]
    return inside[0]


def states(pids: list[int]) -> str:
    return "".join(
        Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in pids
    )


def test_copies_have_the_files_as_they_were_and_are_apart(rig: ZygoteRig) -> None:
    first = rig.start("sb_first", env=ENV)
    made = (
        "cd /workspace && mkdir -p a/b && echo before > a/b/file && ln a/b/file hard && "
        "ln -s /etc/passwd link && echo x > run && chmod 750 run && touch -d @1000000 a/b && "
        "truncate -s 1G sparse && echo state > ~/.codex/mine"
    )
    assert shell(rig, first, f"{made} && echo made") == "made"
    assert 0 < keep(rig, "sb_first", "snap_one").size < 10 << 20
    shell(rig, first, "echo after > /workspace/a/b/file")
    look = (
        "cd /workspace && cat a/b/file ~/.codex/mine && readlink link && stat -c '%a %U %s' run "
        "sparse && stat -c '%Y %h' a/b hard && echo mine > hard && cat a/b/file"
    )
    for number in range(2):
        copy = rig.start(f"sb_copy{number}", env=ENV, seed="snap_one")
        said = shell(rig, copy, look).splitlines()
        assert said[:3] == ["before", "state", "/etc/passwd"]
        assert said[3:5] == ["750 agent 2", "644 agent 1073741824"]
        assert (said[5].split()[0], said[6].split()[1]) == ("1000000", "2")
        assert said[7] == "mine"
    assert shell(rig, first, "cat /workspace/a/b/file") == "after"
    rig.ask(wire.Stop("sb_copy0"))
    assert rig.ask(DropSnapshot("snap_one")) == SnapshotDropped(True)
    again = rig.start("sb_copy0", env=ENV)
    assert shell(rig, again, "cat /workspace/hard") == "mine"
    keep(rig, "sb_copy0", "snap_two")
    third = rig.start("sb_third", env=ENV, seed="snap_two")
    assert shell(rig, third, "cat /workspace/hard && echo ok > /workspace/hard") == "mine"


def test_copy_is_neither_lent_as_a_disk_nor_does_a_disk_become_one(
    rig: ZygoteRig, tmp_path: Path
) -> None:
    """What an export reads, and an import brings, is a disk."""
    rig.start("sb_first", env=ENV)
    keep(rig, "sb_first", "snap_one")
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(4096))
    os.chown(disk, rig.uid, rig.uid)
    # What asks for room is told before anything is fetched; what only asks is answered.
    for request in (
        LendSnapshot("snap_one"),
        AdmitSnapshot("snap_two", str(disk), FIRST_UID),
        FindSnapshot("snap_two", 1),
    ):
        answer = rig.ask(request)
        assert isinstance(answer, wire.Refused), answer
        assert (answer.kind, "runs as root" in answer.message) == ("conflict", True)
    assert rig.ask(FindSnapshot("snap_two")) == SnapshotFound(here=False)
    assert rig.ask(FindSnapshot("snap_one", 1)) == SnapshotFound(here=True)
    answer = rig.ask(LendSnapshot("snap_none"))
    assert isinstance(answer, wire.Refused) and answer.kind == "not_found"
    assert not list(rig.home.loans.iterdir())
    assert [path.name for path in rig.home.snapshots.iterdir()] == ["snap_one"]


def test_stopped_sandbox_is_kept_without_standing_still(rig: ZygoteRig) -> None:
    shell(rig, rig.start("sb_first", env=ENV), "echo one > /workspace/file")
    rig.ask(wire.Stop("sb_first"))
    assert keep(rig, "sb_first", "snap_one").still_ms == 0
    copy = rig.start("sb_copy", env=ENV, seed="snap_one")
    assert shell(rig, copy, "cat /workspace/file") == "one"


def test_planted_links_pipes_and_modes_bring_nothing_in(rig: ZygoteRig) -> None:
    bait = rig.home.root / "bait"
    bait.write_text("of the person")
    os.chown(bait, rig.uid, rig.uid)
    box = rig.start("sb_planter", env=ENV)
    planted = (
        f"cd /workspace && ln -s {bait} file && ln -s {rig.home.root} folder && ln -s / up && "
        "mkfifo pipe && python3 -c 'import socket; socket.socket(1).bind(\"socket\")' && "
        "touch -- '-rf' \"$(printf 'a\\nb')\" && "
        "ln -s loop loop && truncate -s 4T huge && echo planted"
    )
    assert shell(rig, box, planted) == "planted"
    size = keep(rig, "sb_planter", "snap_one").size
    assert size < 10 << 20
    tree = rig.home.snapshot("snap_one").tree / "workspace"
    assert not {"pipe", "socket"} & {path.name for path in tree.iterdir()}
    assert {"-rf", "a\nb", "loop"} <= {path.name for path in tree.iterdir()}
    assert (tree / "file").is_symlink() and (tree / "folder").is_symlink()
    assert rig.home.snapshots.stat().st_mode & 0o777 == 0o700
    copy = rig.start("sb_copy", env=ENV, seed="snap_one")
    assert "of the person" not in shell(rig, copy, "cat /workspace/file /workspace/folder/bait")
    assert bait.read_text() == "of the person"


def test_folders_without_an_end_are_refused(rig: ZygoteRig) -> None:
    box = rig.start("sb_deep", env=ENV)
    dig = "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    assert shell(rig, box, f'cd /workspace && python3 -c "{dig}" && echo dug') == "dug"
    assert refused(rig, "sb_deep", "snap_one").kind == "limit_reached"


def test_what_its_owner_may_not_read_is_no_empty_file_of_a_copy(rig: ZygoteRig) -> None:
    box = rig.start("sb_closed", env=ENV)
    line = "cd /workspace && echo closed > file && mkdir below && chmod 0 file below"
    assert shell(rig, box, f"{line} && echo made") == "made"
    if box.host_uid == rig.uid:
        answer = refused(rig, "sb_closed", "snap_one")
        assert (answer.kind, "chmod" in answer.message) == ("invalid", True)
        return
    keep(rig, "sb_closed", "snap_one")
    copy = rig.start("sb_copy", env=ENV, seed="snap_one")
    shown = shell(rig, copy, "cd /workspace && stat -c %a file below && chmod 600 file && cat file")
    assert shown.split() == ["0", "0", "closed"]


def test_programs_go_on_and_those_that_stood_stay(rig: ZygoteRig) -> None:
    box = rig.start("sb_first", env=ENV)
    shell(rig, box, STAND)
    shell(rig, box, COUNT)
    init = init_of(rig, box)
    for number in range(3):
        assert keep(rig, "sb_first", f"snap_{number}").still_ms < 3000
        inside = descendants(init)
        assert states(inside).count("T") == 1
        before = shell(rig, box, "cat /workspace/count")
        shell(rig, box, f'until [ "$(cat /workspace/count)" -gt {before or 0} ]; do :; done')


def test_programs_go_on_when_the_one_who_keeps_them_dies(rig: ZygoteRig) -> None:
    box = rig.start("sb_first", env=ENV)
    fill = "cd /workspace && head -c 300000000 /dev/zero | tr '\\0' x > big && echo filled"
    assert shell(rig, box, fill) == "filled"
    with rig.connect() as link:
        link.send(wire.encode_request(1, KeepSnapshot("sb_first", "snap_one")))
        keeper = _keeper_of(rig)
        os.kill(keeper, signal.SIGKILL)
        answer = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES)).answer
    assert isinstance(answer, wire.Refused)
    assert shell(rig, box, "echo goes on") == "goes on"
    keep(rig, "sb_first", "snap_two")
    assert [path.name for path in rig.home.snapshots.iterdir()] == ["snap_two"]


def _keeper_of(rig: ZygoteRig) -> int:
    """The process that keeps a snapshot, once it writes to it."""
    place = str(rig.home.snapshots / "new-snap_one")
    while True:
        for pid in descendants(rig.process.pid)[1:]:
            try:
                opened = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
            except OSError:
                continue
            if any(each.startswith(f"{place}/tree/workspace") for each in opened):
                return pid
