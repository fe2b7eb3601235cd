"""Making a home, starting and ending the zygote beside us, covering private folders."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.domain.errors import Invalid
from atoll.testing import FakeHost, HostContract
from atoll.testing.server import test_server
from atoll.wiring.host import LocalHost
from atoll.wiring.launch import zygote_process
from atoll.wiring.launch.home_setup import prepare_home
from atoll.zygote.host.home import Home
from atoll.zygote.records.uids import FIRST_UID
from atoll.zygote.wall import hierarchies
from atoll.zygote.wall.covers import Cover, find_covers
from tests.peers.api import api_of


@pytest.fixture
def home() -> Iterator[Home]:
    place = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    place.chmod(0o711)
    yield Home(place)
    LocalHost().down(place)
    shutil.rmtree(place)


def test_covers_are_the_outermost_closed_folders() -> None:
    closed = {Path("/root"), Path("/root/x"), Path("/srv/a")}
    needed = [Path("/root/x/y"), Path("/root/z"), Path("/usr/lib"), Path("/srv/a/b/c")]
    assert find_covers(needed, lambda folder: folder in closed) == [
        Cover(Path("/root"), (Path("/root/x/y"), Path("/root/z"))),
        Cover(Path("/srv/a"), (Path("/srv/a/b/c"),)),
    ]


def test_enter_shows_foreign_uids_only_what_is_needed(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    private = tmp_path / "private"
    (private / "home").mkdir(parents=True)
    (private / "home" / "f").write_text("seen")
    (private / "secret").write_text("x")
    (private / "home").chmod(0o711)
    private.chmod(0o700)
    code = (
        "import os, sys; from pathlib import Path; from atoll.wiring.launch import mount_view;"
        "from atoll.zygote.host import kernel; home = Path(sys.argv[1]);"
        "mount_view.enter(home); kernel.drop_to(1899999997);"
        "print((home / 'f').read_text(), (home.parent / 'secret').exists())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(private / "home")],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.split() == ["seen", "False"], done.stderr
    assert (private / "secret").exists()


def test_prepare_home_makes_folders_nobody_else_can_move(home: Home) -> None:
    uid = prepare_home(home.root)
    assert prepare_home(home.root) == uid
    if os.geteuid() == 0:
        assert uid >= FIRST_UID
        assert (home.root.stat().st_uid, home.root.stat().st_gid) == (0, uid)
        assert home.root.stat().st_mode & 0o7777 == 0o1771
        assert home.boxes.stat().st_uid == 0
    assert home.repositories.stat().st_uid == uid


def test_prepare_home_in_a_folder_of_other_things_is_refused(tmp_path: Path) -> None:
    place = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    (place / "thesis.txt").write_text("x")
    with pytest.raises(Invalid, match="other things"):
        prepare_home(place)
    shutil.rmtree(place)
    with pytest.raises(Invalid, match="too long"):
        prepare_home(tmp_path / ("x" * 100))


def test_zygote_started_twice_is_one_apart_from_us_and_leaves_nothing(home: Home) -> None:
    prepare_home(home.root)
    zygote_process.ensure(home)
    pid = zygote_process.zygote_pid(home)
    assert pid is not None
    zygote_process.ensure(home)
    assert zygote_process.zygote_pid(home) == pid
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    assert int(stat[1]) != os.getpid()
    assert int(stat[3]) != os.getsid(0)
    if os.geteuid() == 0:
        assert Path(f"/proc/{pid}/cgroup").read_text() != Path("/proc/self/cgroup").read_text()
    stood = hierarchies.hierarchies(Path(f"/proc/{pid}"))
    LocalHost().down(home.root)
    assert zygote_process.zygote_pid(home) is None
    assert [str(each.base(home.tag)) for each in stood if each.base(home.tag).exists()] == []


def test_start_that_fails_waits_for_the_end_of_its_zygote(home: Home) -> None:
    prepare_home(home.root)
    link = zygote_process.start(home)
    pid = zygote_process.zygote_pid(home)
    assert link is not None and pid is not None
    with Path(f"/proc/{pid}/cmdline").open("rb") as command:
        with link:
            assert command.read()
        command.seek(0)
        with contextlib.suppress(ProcessLookupError):  # It was waited for, too.
            assert command.read() == b""


def test_zygote_that_cannot_start_says_why(home: Home) -> None:
    prepare_home(home.root)
    home.programs.rmdir() if home.programs.exists() else None
    home.programs.symlink_to("/etc")
    with pytest.raises(Exception, match="not a folder of Atoll's own"):
        zygote_process.ensure(home)
    home.programs.unlink()


def test_doctor_names_no_failure_where_sandboxes_work(home: Home) -> None:
    prepare_home(home.root)
    before = LocalHost().doctor(home.root)
    assert ("zygote", "warn") in [(each.name, each.level) for each in before]
    zygote_process.ensure(home)
    after = LocalHost().doctor(home.root)
    assert [each.text for each in after if each.level == "fail"] == []
    assert ("zygote", "ok") in [(each.name, each.level) for each in after] or os.geteuid()


def test_zygote_survives_the_end_of_whoever_started_it(home: Home) -> None:
    prepare_home(home.root)
    code = (
        "import sys, time; from pathlib import Path;"
        "from atoll.wiring.launch import zygote_process;"
        "from atoll.zygote.host.home import Home;"
        "zygote_process.ensure(Home(Path(sys.argv[1]))); print('up', flush=True); time.sleep(600)"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", code, str(home.root)],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == b"up\n"
    os.killpg(starter.pid, signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    assert zygote_process.zygote_pid(home) is not None


def test_processes_are_told_apart_by_their_titles() -> None:
    with test_server(cold=True) as server, api_of(server) as api:
        box = api.box(api.create(name="titled")["sandbox_id"])
        control = json.loads((server.home / "run" / "control.json").read_text())["pid"]
        zygote = zygote_process.zygote_pid(Home(server.home))
        pids = (zygote, control, box.runtime_pid)
        titles = [Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0") for pid in pids]
        home = os.fsencode(server.home)
        expected = [b"atoll zygote " + home, b"atoll control " + home, b"atoll runtime titled"]
        assert titles == expected
        assert server.run("up", "--home", str(server.home), "--no-browser").returncode != 0


class TestLocalHost(HostContract):
    @pytest.fixture
    def host(self) -> LocalHost:
        return LocalHost()


class TestFakeHost(HostContract):
    @pytest.fixture
    def host(self, tmp_path_factory: pytest.TempPathFactory) -> FakeHost:
        return FakeHost(tmp_path_factory.mktemp("images"))
