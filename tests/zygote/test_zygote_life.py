"""Starts, stops and what they leave, with real sandboxes as root and rootless."""

import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, start_zygote, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.disk.engine_mounts import EngineMounts
from atoll.zygote.host.home import Home
from atoll.zygote.records import record
from atoll.zygote.stop.sweep import sweep
from atoll.zygote.wall import cgroups, hierarchies
from tests.claims import claim_far_uid, claim_person
from tests.peers.remains import groups_called, loops_below

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
FOREIGN_UID = claim_far_uid()


@pytest.fixture(scope="module", params=["root", "rootless"])
def uid(request: pytest.FixtureRequest) -> int:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    return 0 if request.param == "root" else claim_person()


@pytest.fixture(scope="module")
def standing(uid: int) -> Iterator[ZygoteRig]:
    """One for all tests that do not end it: to start one takes a second."""
    with zygote_rig(uid) as running:
        yield running


@pytest.fixture
def rig(standing: ZygoteRig) -> Iterator[ZygoteRig]:
    """The standing zygote without a sandbox and without keys."""
    yield standing
    listed = standing.ask(wire.ListBoxes())
    assert isinstance(listed, wire.Listed)
    for box in listed.boxes:
        assert isinstance(standing.ask(wire.Destroy(box.sandbox_id)), wire.Cleaned)
    standing.home.keys.unlink(missing_ok=True)


def named(word: str) -> str:
    """A sandbox's name that no other run on this machine has, nor as a part of its own."""
    return f"sb_{os.getpid()}{word}"


def traces(home: Path, sandbox_id: str) -> list[str]:
    """Everything of a sandbox that can be seen from outside."""
    found = [
        line for line in Path("/proc/self/mountinfo").read_text().splitlines() if sandbox_id in line
    ]
    found += map(str, groups_called(sandbox_id))
    found += loops_below(home)
    found += [str(each) for each in home.rglob(f"{sandbox_id}*")]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if sandbox_id in command:
            found.append(command)
    return found


def processes_of(known: record.SandboxRecord) -> list[int]:
    return [os.pidfd_open(process.pid) for process in known.processes]


def all_end(pidfds: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    ended = all(
        select.select([fd], [], [], max(0, deadline - time.monotonic()))[0] for fd in pidfds
    )
    for fd in pidfds:
        os.close(fd)
    return ended


def known(rig: ZygoteRig, sandbox_id: str) -> record.SandboxRecord:
    found = record.load(rig.home.box(sandbox_id).record)
    assert found is not None
    return found


def heard(link: socket.socket) -> wire.Ended:
    answer = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES)).answer
    assert isinstance(answer, wire.Ended)
    return answer


def test_destroy_leaves_nothing(rig: ZygoteRig) -> None:
    sandbox = named("traces")
    box = rig.start(sandbox, env=ENV)
    daemon = "setsid sh -c 'trap \"\" HUP TERM; sleep 1000' >/dev/null 2>&1 & echo started"
    assert rig.inside(box, "/bin/sh", "-c", daemon)[1] == "started\n"
    pidfds = processes_of(known(rig, sandbox))
    assert traces(rig.home.root, sandbox)
    cleaned = rig.ask(wire.Destroy(sandbox))
    assert isinstance(cleaned, wire.Cleaned)
    assert cleaned.leftovers == ()
    assert all_end(pidfds, 0.1)
    assert traces(rig.home.root, sandbox) == []
    assert rig.ask(wire.Destroy(sandbox)) == wire.Cleaned()


def test_zygote_terminated_as_soon_as_it_listens_leaves_no_group(uid: int) -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        if uid != os.geteuid():
            os.chown(folder, uid, uid)
        process = start_zygote(Path(folder), uid)
        process.terminate()
        assert process.wait(60) == 0
        tag = Home(Path(folder)).tag
        assert not groups_called(tag)


def test_runtime_killed_is_told_within_two_seconds_and_ends_all(rig: ZygoteRig) -> None:
    box = rig.start("sb_dies", env=ENV)
    pidfds = processes_of(known(rig, "sb_dies"))
    with rig.connect() as link:
        link.send(wire.encode_request(1, wire.Report()))
        link.recv(wire.MAX_MESSAGE_BYTES)
        os.kill(box.runtime_pid, signal.SIGKILL)
        link.settimeout(2.0)
        death = heard(link)
    assert (death.sandbox_id, death.generation) == ("sb_dies", 1)
    assert "SIGKILL" in death.reason
    assert all_end(pidfds, 10)
    again = rig.ask(wire.Start("sb_dies", 2, "box", env=ENV))
    assert isinstance(again, wire.Started)
    assert again.box.host_uid == box.host_uid


def test_wall_that_falls_is_told_and_ends_the_runtime(rig: ZygoteRig) -> None:
    rig.start("sb_falls", env=ENV)
    found = known(rig, "sb_falls")
    pidfds = processes_of(found)
    with rig.connect() as link:
        link.send(wire.encode_request(1, wire.Report()))
        link.recv(wire.MAX_MESSAGE_BYTES)
        os.kill(found.processes[2].pid, signal.SIGKILL)
        link.settimeout(2.0)
        assert "everything inside ended" in heard(link).reason
    assert all_end(pidfds, 10)


def test_start_of_another_generation_is_refused_while_one_lives(rig: ZygoteRig) -> None:
    rig.start("sb_twice", env=ENV)
    answer = rig.ask(wire.Start("sb_twice", 2, "box", env=ENV))
    assert isinstance(answer, wire.Refused)
    assert answer.kind == "conflict"


def test_starts_in_parallel_all_stand_with_uids_of_their_own(rig: ZygoteRig) -> None:
    links = [rig.connect() for _ in range(8)]
    for number, link in enumerate(links, 1):
        link.send(wire.encode_request(number, wire.Start(f"sb_many{number}", 1, "box", env=ENV)))
    boxes = []
    for link in links:
        answer = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES)).answer
        assert isinstance(answer, wire.Started), answer
        boxes.append(answer.box)
        link.close()
    assert len({box.host_uid for box in boxes}) == (8 if rig.uid == 0 else 1)
    for box in boxes:
        assert rig.inside(box, "/bin/sh", "-c", "echo here")[1] == "here\n"


def test_zygote_killed_leaves_what_the_next_one_clears(uid: int) -> None:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        home = Path(folder)
        home.chmod(0o711)
        os.chown(home, uid, uid)
        process = start_zygote(home, uid)
        rig = ZygoteRig(Home(home), process, uid)
        box = rig.start("sb_orphan", env=ENV)
        rig.inside(box, "/bin/sh", "-c", "echo kept > /workspace/f")
        pidfds = processes_of(known(rig, "sb_orphan"))
        process.kill()
        process.wait()
        with zygote_rig(uid, home) as next_one:
            assert all_end(pidfds, 1)
            listed = next_one.ask(wire.ListBoxes())
            assert isinstance(listed, wire.Listed)
            assert [(each.sandbox_id, each.live) for each in listed.boxes] == [("sb_orphan", False)]
            answer = next_one.ask(wire.Start("sb_orphan", 2, "box", env=ENV))
            assert isinstance(answer, wire.Started)
            assert next_one.inside(answer.box, "/bin/cat", "/workspace/f")[1] == "kept\n"
            next_one.ask(wire.Destroy("sb_orphan"))


def test_zygote_terminated_ends_all_and_leaves_no_group(uid: int) -> None:
    with zygote_rig(uid) as rig:
        rig.start("sb_last", env=ENV)
        pidfds = processes_of(known(rig, "sb_last"))
        rig.process.terminate()
        rig.process.wait(30)
        assert all_end(pidfds, 1)
        assert known(rig, "sb_last").reason.startswith("Atoll was ended on this machine")
        groups = [each.base(rig.home.tag) for each in hierarchies.hierarchies()]
        assert [str(each) for each in groups if each.exists()] == []
        assert not rig.home.socket.exists()


@pytest.mark.parametrize(
    ("boot", "why"),
    [
        (None, "Atoll's zygote ended while the sandbox ran; start it again"),
        ("another", "this machine was started anew while the sandbox ran; start it again"),
    ],
)
def test_next_zygote_says_why_a_sandbox_does_not_run(
    tmp_path: Path, boot: str | None, why: str
) -> None:
    home = Home(tmp_path)
    left = record.SandboxRecord("sb_left", 1, "box", 0, 0, True, boot_id=boot or record.boot_id())
    kept = record.SandboxRecord("sb_kept", 1, "box", 0, 0, False, reason="as it was")
    home.engine_mounts.mkdir(parents=True)
    for one in (left, kept):
        home.box(one.sandbox_id).folder.mkdir(parents=True)
        record.save(home.box(one.sandbox_id).record, one)
    found = sweep(home, cgroups.Groups((), frozenset()), EngineMounts(home, None))
    assert {name: one.reason for name, one in found.items()} == {
        "sb_left": why,
        "sb_kept": "as it was",
    }
    assert not found["sb_left"].live


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make groups")
def test_groups_that_are_busy_for_a_while_are_left_empty_and_removed(tmp_path: Path) -> None:
    stood = hierarchies.hierarchies()
    tag = Home(tmp_path).tag
    groups = cgroups.prepare(tag).make("sb_busy", cgroups.UNBOUNDED)
    last = subprocess.Popen(["sleep", "1000"], preexec_fn=lambda: cgroups.join(groups))
    end = threading.Timer(0.5, last.kill)
    end.start()
    assert cgroups.leave(tag, stood) == []
    assert last.wait() == -signal.SIGKILL
    assert [str(group) for group in groups if group.parent.exists()] == []


def test_second_zygote_of_a_home_is_refused(rig: ZygoteRig) -> None:
    with pytest.raises(AssertionError, match="ended"):
        start_zygote(rig.home.root, rig.uid)


@pytest.mark.parametrize(
    "packet", [b"\x00", b"{", b"[" * 50000, b'{"number":3,"request":{"verb":"sudo"}}', b"x" * 65536]
)
def test_request_that_is_garbage_is_refused_and_the_zygote_lives(
    rig: ZygoteRig, packet: bytes
) -> None:
    with rig.connect() as link:
        link.send(packet)
        answer = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES)).answer
        assert isinstance(answer, wire.Refused)
        assert answer.kind == "invalid"
    assert isinstance(rig.ask(wire.Report()), wire.Reported)


@pytest.mark.parametrize(
    "view",
    [
        wire.View("/etc", "/mnt/etc"),
        wire.View("{home}/repos/../boxes", "/mnt/x"),
        wire.View("{home}/repos", "/mnt/x"),
        wire.View("{home}/repos/a.git", "/etc"),
        wire.View("{home}/repos/a.git", "/mnt/../etc"),
        wire.View("{home}/repos/a.git", "/proc/x"),
    ],
)
def test_start_with_a_view_that_is_not_shared_is_refused(rig: ZygoteRig, view: wire.View) -> None:
    source = view.source.format(home=rig.home.root)
    answer = rig.ask(wire.Start("sb_view", 1, "box", views=(wire.View(source, view.target),)))
    assert isinstance(answer, wire.Refused)
    assert answer.kind == "invalid"


def test_start_that_fails_says_why_and_leaves_nothing(rig: ZygoteRig) -> None:
    missing = wire.View(f"{rig.home.root}/repos/none.git", "/.atoll/repos/0.git")
    sandbox = named("still")
    answer = rig.ask(wire.Start(sandbox, 1, "box", views=(missing,)))
    assert isinstance(answer, wire.Refused)
    assert "none.git" in answer.message
    assert traces(rig.home.root, sandbox) == []


def test_foreign_uid_cannot_speak_to_the_zygote(rig: ZygoteRig) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    code = f"import socket; socket.socket(1, 5).connect({str(rig.home.socket)!r})"
    done = subprocess.run(
        ["/usr/bin/python3", "-c", code], user=FOREIGN_UID, group=FOREIGN_UID, capture_output=True
    )
    assert b"PermissionError" in done.stderr


def test_keys_reach_the_runtime_only(rig: ZygoteRig) -> None:
    rig.home.keys.write_text("[openai]\nkey = 'sk-canary'\n")
    rig.home.keys.chmod(0o600)
    os.chown(rig.home.keys, rig.uid, rig.uid)
    box = rig.start("sb_keys", env=ENV)
    memory = []
    for link in Path(f"/proc/{box.runtime_pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it opens and closes others meanwhile
            if "memfd:keys" in str(link.readlink()):
                memory.append(link.read_bytes())
    assert memory == [b"[openai]\nkey = 'sk-canary'\n"]
    look = "env; cat /proc/*/environ; grep -rs canary /etc /home /workspace /.atoll /tmp /run"
    _status, output = rig.inside(box, "/bin/sh", "-c", look)
    assert "canary" not in output


def test_keys_readable_by_others_stop_the_start(rig: ZygoteRig) -> None:
    rig.home.keys.write_text("x")
    rig.home.keys.chmod(0o644)
    os.chown(rig.home.keys, rig.uid, rig.uid)
    answer = rig.ask(wire.Start("sb_keys", 1, "box"))
    assert isinstance(answer, wire.Refused)
    assert "chmod 600" in answer.message


def test_start_that_fails_while_the_wall_rises_leaves_no_process(rig: ZygoteRig) -> None:
    for number in range(8):
        folder = rig.home.boxes / f"sb_fell{number}"
        folder.mkdir()
        (folder / "journal").write_text("a file where a folder is due")
        os.chown(folder, rig.uid, rig.uid)
        answer = rig.ask(wire.Start(folder.name, 1, "box"))
        assert isinstance(answer, wire.Refused)
    walls = [
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and str(rig.home.root / "run/bin").encode() in _command(entry)
    ]
    assert not walls


def _command(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


def test_list_is_paged_by_id(rig: ZygoteRig) -> None:
    for name in ("sb_p2", "sb_p1"):
        rig.start(name, env=ENV)
    listed = rig.ask(wire.ListBoxes(after="sb_p1"))
    assert isinstance(listed, wire.Listed)
    assert [box.sandbox_id for box in listed.boxes] == ["sb_p2"]
