"""Files that run as their owner: none is made inside, and none would be reached from outside."""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.claims import claim_far_uid, claim_person

ENV = (("PATH", "/usr/bin:/bin"), ("HOME", "/home/agent"))
NEIGHBOUR = claim_far_uid()
MAKE = """
import ctypes, errno, os, stat, struct
libc = ctypes.CDLL(None, use_errno=True)
program = open("/usr/bin/id", "rb").read()

def tell(what, act):
    path = "/workspace/" + what
    try:
        act(path)
        said = "worked"
    except OSError as err:
        said = errno.errorcode[err.errno]
    mode = os.stat(path).st_mode if os.path.exists(path) else 0
    print(what, said, "set" if mode & 0o6000 else "plain", flush=True)

def file(path):
    with open(path, "wb") as copy:
        copy.write(program)
    os.chmod(path, 0o755)

def opened(path, mode, number=None):
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    if number is None:
        fd = os.open(path, flags, mode)
    else:
        how = struct.pack("QQQ", flags, mode, 0)
        fd = libc.syscall(number, -100, path.encode(), how, len(how))
        if fd < 0:
            raise OSError(ctypes.get_errno(), path)
    # What decides is the file with a program in it.
    os.write(fd, program)
    os.close(fd)

def descriptor(path):
    file(path)
    with open(path) as held:
        os.fchmod(held.fileno(), 0o4755)

for mode, mark in ((0o4755, "uid"), (0o2755, "gid")):
    tell(f"chmod-{mark}", lambda path: (file(path), os.chmod(path, mode)))
    tell(f"open-{mark}", lambda path: opened(path, mode))
    tell(f"openat2-{mark}", lambda path: opened(path, mode, 437))
    tell(f"mknod-{mark}", lambda path: os.mknod(path, mode | stat.S_IFREG))
tell("fchmod", descriptor)
tell("mkdir", lambda path: os.mkdir(path, 0o6755))
tell("folder", lambda path: (os.mkdir(path), os.chmod(path, 0o2755)))
tell("sticky", lambda path: (os.mkdir(path), os.chmod(path, 0o1777)))
"""


@pytest.fixture(scope="module", params=["root", "rootless"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    with zygote_rig(0 if request.param == "root" else claim_person()) as running:
        yield running


@pytest.fixture
def box(rig: ZygoteRig) -> Iterator[wire.Box]:
    yield rig.start("sb_ids", env=ENV)
    rig.ask(wire.Destroy("sb_ids"))


def as_neighbour(*argv: str) -> str:
    """What somebody else on this machine gets to see of a program."""
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0"', *argv],
        user=NEIGHBOUR,
        group=NEIGHBOUR,
        extra_groups=[],
        capture_output=True,
        text=True,
        cwd="/",
    )
    return done.stdout + done.stderr


def test_file_that_runs_as_its_owner_cannot_be_made_inside(rig: ZygoteRig, box: wire.Box) -> None:
    status, said = rig.inside(box, "/usr/bin/python3", "-c", MAKE)
    assert status == 0, said
    told = {line.split()[0]: line.split()[1:] for line in said.strip().split("\n")}
    assert len(told) == 12
    assert [name for name, (_said, kind) in told.items() if kind == "set"] == []
    passing = {"openat2-uid", "openat2-gid", "mkdir", "sticky"}
    assert {name for name, (said, _kind) in told.items() if said == "worked"} == passing
    assert {said for name, (said, _kind) in told.items() if name not in passing} == {"EPERM"}


def test_workspace_gives_nothing_to_files_that_run_as_their_owner(
    rig: ZygoteRig, box: wire.Box
) -> None:
    _status, said = rig.inside(box, "/bin/cat", "/proc/self/mountinfo")
    mounts = {line.split()[4]: line.split()[5].split(",") for line in said.strip().split("\n")}
    for place in ("/workspace", "/.atoll/state", "/home/agent", "/tmp", "/usr"):
        assert "nosuid" in mounts[place], place


@pytest.mark.root
def test_file_of_a_sandbox_is_out_of_reach_for_another_local_user(
    rig: ZygoteRig, box: wire.Box
) -> None:
    """The file is set by the test itself, as if the filter had a hole."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    if rig.uid == 0:
        pytest.skip("as root the workspace is seen by the sandbox's own processes alone")
    rig.inside(box, "/bin/cp", "/usr/bin/id", "/workspace/id")
    inside = rig.home.box("sb_ids").mounted / "workspace" / "id"
    with tempfile.TemporaryDirectory(prefix="at", dir=rig.home.root.parent) as folder:
        Path(folder).chmod(0o755)
        control = Path(folder) / "id"
        shutil.copyfile("/usr/bin/id", control)
        for path in (control, inside):
            os.chown(path, rig.uid, rig.uid)
            path.chmod(0o6755)
        assert f"euid={rig.uid}" in as_neighbour(str(control)), "the attack is a real one"
    assert "euid" not in as_neighbour(str(inside))
    assert "Permission denied" in as_neighbour(str(inside))


def test_folders_of_a_home_without_root_are_open_to_nobody_else(
    rig: ZygoteRig, box: wire.Box
) -> None:
    if rig.uid == 0:
        pytest.skip("as root each sandbox's uid passes through them")
    home = rig.home
    places = home.box(box.sandbox_id)
    mounted = places.mounted
    own = [home.root, home.run, home.boxes, home.roots, home.programs, home.run / "b"]
    own += [places.folder, places.run, mounted, mounted / "workspace", mounted / "state"]
    for folder in own:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
