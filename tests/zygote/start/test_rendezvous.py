"""A sandbox whose wall somebody else builds: the rendezvous, who may come in, and when."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.zygote.wall import hierarchies
from tests.inside.architectures import own_init

ENV = (("PATH", "/usr/bin:/bin"),)

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("setpriv") is None,
        reason="needs root, unshare and setpriv",
    ),
]


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig() as running:
        yield running


def serve(
    rig: ZygoteRig, sandbox_id: str, *, generation: int = 1, seconds: int = 20
) -> wire.Answer:
    start = wire.Start(sandbox_id, generation, "box", env=ENV, cwd="/")
    return rig.ask(wire.Serve(start, seconds))


def awaited(rig: ZygoteRig, sandbox_id: str, **more: int) -> wire.Awaited:
    answer = serve(rig, sandbox_id, **more)
    assert isinstance(answer, wire.Awaited), answer
    return answer


ROOT = """
set -e
[ "$1" = shared ] || mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts
mount -t tmpfs root /mnt
for each in /*; do
  if [ -L "$each" ]; then cp -P "$each" /mnt/
  elif [ -d "$each" ] && [ "$each" != /mnt ]; then
    mkdir "/mnt$each"; mount --rbind "$each" "/mnt$each"
  fi
done
mkdir -p /mnt/.atoll/state
mount --bind "$2" /mnt/.atoll/state
shift 2
exec chroot /mnt "$@"
"""
"""The machine's own tree, with the sandbox's files in it."""


def build(
    meeting: wire.Awaited,
    *,
    own_terminals: bool = True,
    state: str | None = None,
) -> "subprocess.Popen[bytes]":
    """A wall as thin as a test needs: namespaces, the uid, the files, the init."""
    uid = str(meeting.box.host_uid)
    init = [*own_init(), "--connect", meeting.rendezvous, "--root", "/"]
    pts = "own" if own_terminals else "shared"
    drop = ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", *init]
    return subprocess.Popen(
        [
            *("unshare", "--fork", "--kill-child", "--pid", "--mount", "--net", "--mount-proc"),
            *("sh", "-c", ROOT, "sh", pts, state or meeting.state, *drop),
        ],
        stdin=subprocess.DEVNULL,
    )


def test_init_that_comes_in_is_served_as_any_other(rig: ZygoteRig) -> None:
    name = "sb_meet"
    meeting = awaited(rig, name)
    assert serve(rig, name) == meeting  # asked again, it says the same
    built = build(meeting)
    answer = rig.ask(wire.Await(name, 1))
    assert isinstance(answer, wire.Started), answer
    assert (answer.box.wall, answer.box.live) == ("container", True)
    assert not any(each.startswith("ptys") for each in answer.box.degraded)
    groups = hierarchies.groups_of(answer.box.runtime_pid)
    named = any(group.endswith(f"/{name}.runtime") for _names, group in groups)
    assert named or any(each.startswith("runtime") for each in answer.box.degraded)
    assert rig.inside(answer.box, "id", "-u") == (0, f"{meeting.box.host_uid}\n")
    assert isinstance(serve(rig, name), wire.Started)
    assert not os.path.exists(meeting.rendezvous)  # noqa: PTH110  a name, not a path of ours
    cleaned = rig.ask(wire.Destroy(name))
    assert isinstance(cleaned, wire.Cleaned) and cleaned.leftovers == ()
    built.wait(20)


def test_init_that_never_comes_is_told_and_leaves_nothing(rig: ZygoteRig) -> None:
    awaited(rig, "sb_never", seconds=1)
    answer = rig.ask(wire.Await("sb_never", 1))
    assert isinstance(answer, wire.Refused)
    assert "its init never came" in answer.message
    assert not rig.home.box("sb_never").folder.exists()
    again = rig.ask(wire.Await("sb_never", 1))
    assert isinstance(again, wire.Refused) and "not awaited" in again.message


def test_somebody_else_who_comes_in_is_refused(rig: ZygoteRig) -> None:
    meeting = awaited(rig, "sb_thief")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as thief:
        thief.connect(meeting.rendezvous)  # root may; its uid gives it away
        answer = rig.ask(wire.Await("sb_thief", 1))
    assert isinstance(answer, wire.Refused)
    assert "came in where only uid" in answer.message


def test_other_uids_cannot_even_connect(rig: ZygoteRig) -> None:
    meeting = awaited(rig, "sb_knock")
    code = f"import socket; socket.socket(1, 5).connect({meeting.rendezvous!r})"
    refused = subprocess.run(
        ["python3", "-c", code],
        user=meeting.box.host_uid + 1,
        extra_groups=[],
        capture_output=True,
        text=True,
    )
    assert "PermissionError" in refused.stderr
    rig.ask(wire.Destroy("sb_knock"))


def test_init_without_terminals_of_its_own_is_refused(rig: ZygoteRig) -> None:
    meeting = awaited(rig, "sb_naked")
    built = build(meeting, own_terminals=False)
    answer = rig.ask(wire.Await("sb_naked", 1))
    assert isinstance(answer, wire.Refused)
    assert "shares this machine's terminals" in answer.message
    built.wait(20)


def test_init_that_has_not_the_files_of_its_sandbox_is_refused(
    rig: ZygoteRig, tmp_path: Path
) -> None:
    meeting = awaited(rig, "sb_elsewhere")
    built = build(meeting, state=str(tmp_path))
    answer = rig.ask(wire.Await("sb_elsewhere", 1))
    assert isinstance(answer, wire.Refused)
    assert "other files than its own" in answer.message
    built.wait(20)
    assert not rig.home.box("sb_elsewhere").folder.exists()


def listed(rig: ZygoteRig) -> tuple[wire.Box, ...]:
    answer = rig.ask(wire.ListBoxes())
    assert isinstance(answer, wire.Listed)
    return answer.boxes


def refused_unasked(rig: ZygoteRig, name: str, state: Path) -> None:
    """Let an init be refused, and its sandbox end, before anybody awaits it."""
    built = build(awaited(rig, name), state=str(state))
    built.wait(20)
    deadline = time.monotonic() + 20
    while any(each.sandbox_id == name for each in listed(rig)):
        assert time.monotonic() < deadline, "its end takes too long"
        time.sleep(0.02)


def test_init_that_was_refused_before_it_was_awaited_says_why_once(
    rig: ZygoteRig, tmp_path: Path
) -> None:
    refused_unasked(rig, "sb_early", tmp_path)
    other = rig.ask(wire.Await("sb_later", 1))
    assert isinstance(other, wire.Refused) and "not awaited" in other.message
    answer = rig.ask(wire.Await("sb_early", 1))
    assert isinstance(answer, wire.Refused)
    assert "other files than its own" in answer.message
    again = rig.ask(wire.Await("sb_early", 1))
    assert isinstance(again, wire.Refused) and "not awaited" in again.message


@pytest.mark.parametrize("asked", [wire.Stop("sb_over"), wire.Destroy("sb_over")])
def test_reason_of_a_refused_init_is_forgotten_with_its_sandbox(
    rig: ZygoteRig, tmp_path: Path, asked: wire.Stop | wire.Destroy
) -> None:
    refused_unasked(rig, "sb_over", tmp_path)
    assert isinstance(rig.ask(asked), wire.Cleaned)
    answer = rig.ask(wire.Await("sb_over", 1))
    assert isinstance(answer, wire.Refused) and "not awaited" in answer.message


def test_stop_while_an_init_is_awaited_ends_the_waiting(rig: ZygoteRig) -> None:
    awaited(rig, "sb_gone")
    with rig.connect() as link:
        link.send(wire.encode_request(7, wire.Await("sb_gone", 1)))
        assert isinstance(rig.ask(wire.Stop("sb_gone")), wire.Cleaned)
        answer = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES)).answer
    assert isinstance(answer, wire.Refused)
    rig.ask(wire.Destroy("sb_gone"))


def test_files_of_one_wall_are_not_given_to_another(rig: ZygoteRig) -> None:
    rig.start("sb_bwrap", env=ENV)
    rig.ask(wire.Stop("sb_bwrap"))
    answer = serve(rig, "sb_bwrap", generation=2)
    assert isinstance(answer, wire.Refused)
    assert answer.kind == "conflict"
    rig.ask(wire.Destroy("sb_bwrap"))


def test_views_outside_the_shared_folders_are_refused(rig: ZygoteRig) -> None:
    start = wire.Start("sb_view", 1, "box", views=(wire.View("/etc", "/mnt/etc"),))
    answer = rig.ask(wire.Serve(start))
    assert isinstance(answer, wire.Refused)
    assert answer.kind == "invalid"


def test_waiting_starts_take_no_slot(rig: ZygoteRig) -> None:
    names = [f"sb_wait{n}" for n in range(20)]
    for name in names:
        awaited(rig, name)
    rig.start("sb_quick", env=ENV)
    for name in (*names, "sb_quick"):
        rig.ask(wire.Destroy(name))
