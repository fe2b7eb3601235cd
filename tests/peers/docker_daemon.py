"""A Docker daemon of our own for tests: real, in a throw-away folder, and gone afterwards.

Its image is a small tree of this machine's programs, imported; nothing is pulled.
"""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.claims import claim_far_uid
from tests.places import ROOT

IMAGE = "atoll-test/small:1"
START_SECONDS = 40.0
GROUP = claim_far_uid()
"""Opens the daemon's socket; it has no name, and nobody else is in it."""

PROGRAMS = """
    bash sh cat ls id env echo true false sleep mkdir rm cp mv touch chmod ln stat head tail wc
    grep sed awk ps uname hostname tty stty seq sort tr dd test printf date kill df mount git
    python3 unshare ip tar cut nsenter dmesg setsid find diff pwd mkfifo yes md5sum sha256sum
    timeout od rsync git-upload-pack git-receive-pack
"""
COMPANIONS = ("libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6")
"""Of the C library; programs built elsewhere ask for them by name."""

TREES = ("/usr/lib/git-core", "/usr/share/git-core/templates", "/usr/share/terminfo")
_LIBRARY = re.compile(r"(/\S+) \(0x")


@dataclass
class DockerDaemon:
    """A running daemon and its folder."""

    folder: Path
    process: "subprocess.Popen[bytes]"
    before: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        """Its `docker_host`."""
        return f"unix://{self.folder}/d.sock"

    def run(self, *words: str) -> str:
        """`docker WORDS…` against it; what it prints."""
        done = subprocess.run(
            ["docker", "-H", self.host, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def containers(self) -> list[str]:
        """Names of all containers."""
        return self.run("ps", "-a", "--format", "{{.Names}}").split()

    def stop(self) -> None:
        """End the daemon (and with it its containers)."""
        self.process.terminate()
        self.process.wait(60)

    def kill(self) -> None:
        """SIGKILL the daemon and its containerd; containers go on without them."""
        note = self.folder / "exec" / "containerd" / "containerd.pid"
        containerd = int(note.read_text())
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        with suppress(ProcessLookupError):
            os.kill(containerd, signal.SIGKILL)
        # Whoever reaps it may be slow, and a daemon takes a zombie for a living one.
        note.unlink()

    def start(self) -> None:
        """Start it again on the same folder."""
        (self.folder / "pid").unlink(missing_ok=True)
        self.process = _started(self.folder, self.before)


def why_not() -> str:
    """Why no daemon can be had here; empty when it can."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [name for name in ("dockerd", "docker", "containerd") if shutil.which(name) is None]
    return f"{', '.join(missing)} not installed" if missing else ""


@contextmanager
def docker_daemon(*before: str) -> Iterator[DockerDaemon]:
    """A daemon with `IMAGE` in it; `before` is what its command line begins with, a program that
    becomes it."""
    folder = Path(tempfile.mkdtemp(prefix="adk", dir="/tmp"))
    folder.chmod(0o711)
    daemon = DockerDaemon(folder, _started(folder, before), before)
    try:
        (folder / "small.tar").symlink_to(small_image())
        daemon.run("import", str(folder / "small.tar"), IMAGE)
        yield daemon
    finally:
        if daemon.process.poll() is not None:
            daemon.start()
        for name in daemon.containers():
            daemon.run("rm", "-f", name)
        daemon.stop()
        _unmount(folder)
        _remove_groups(folder.name)
        shutil.rmtree(folder)


def _started(folder: Path, before: tuple[str, ...]) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [
                *before,
                *("dockerd", "--data-root", str(folder / "data")),
                *("--exec-root", str(folder / "exec"), "--pidfile", str(folder / "pid")),
                *("-H", f"unix://{folder}/d.sock", "--group", str(GROUP)),
                *("--iptables=false", "--ip6tables=false", "--bridge=none"),
                # Of its own, so that daemons side by side share no group.
                f"--cgroup-parent=/{folder.name}",
            ],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if _answers(folder / "d.sock"):
            return process
        time.sleep(0.05)
    process.kill()
    raise RuntimeError(f"dockerd did not start: {(folder / 'log').read_text()[-2000:]}")


def _answers(place: Path) -> bool:
    """Whether a daemon answers there: the program `docker` would cost more than the start."""
    with socket.socket(socket.AF_UNIX) as link, suppress(OSError):
        link.settimeout(5)
        link.connect(str(place))
        link.sendall(b"GET /_ping HTTP/1.0\r\nHost: d\r\n\r\n")
        return b" 200 " in link.recv(64)
    return False


def _remove_groups(name: str) -> None:
    """The daemon leaves its parent group; one that still holds a container's group stays, and
    is found at the end of the run."""
    for group in Path("/sys/fs/cgroup").glob(f"*/{name}"):
        with suppress(OSError):
            group.rmdir()


def _unmount(folder: Path) -> None:
    """What a daemon that was killed left mounted."""
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    for place in sorted((line.split()[1] for line in mounts), reverse=True):
        if place.startswith(f"{folder}/"):
            subprocess.run(["umount", "-l", place], check=False)


@cache
def small_image() -> Path:
    """A tar of `small_tree`, which stays for later runs: to make it takes longer than to start a
    daemon. A program that is another one by now gets it made anew."""
    python = Path(shutil.which("python3", path="/usr/bin") or "/usr/bin/python3").resolve()
    files = [found for name in PROGRAMS.split() if (found := shutil.which(name, path=_PATH))]
    key = hashlib.sha256(Path(__file__).read_bytes())
    for file in sorted([*files, str(python), *map(str, _libraries(python))]):
        about = Path(file).stat()
        key.update(f"{file} {about.st_size} {about.st_mtime_ns}\n".encode())
    images = ROOT / ".venv" / "images"
    images.mkdir(exist_ok=True)
    image = images / f"small-{key.hexdigest()[:16]}.tar"
    if not image.exists():
        with tempfile.TemporaryDirectory(prefix="adi", dir="/tmp") as folder:
            tree = Path(folder) / "tree"
            small_tree(tree)
            draft = image.with_suffix(f".{os.getpid()}")
            pack(tree, draft)
        draft.rename(image)
        for older in images.glob("small-*.tar"):
            if older != image:
                older.unlink(missing_ok=True)
    return image


def small_tree(tree: Path) -> None:
    """A root tree with `PROGRAMS`, what they load, and git and Python enough to work."""
    python = Path(shutil.which("python3", path="/usr/bin") or "/usr/bin/python3").resolve()
    for name in ("usr/bin", "usr/lib", "usr/lib64", "etc", "tmp", "root"):
        (tree / name).mkdir(parents=True)
    for link in ("bin", "lib", "lib64"):
        (tree / link).symlink_to(f"usr/{link}")
    (tree / "tmp").chmod(0o1777)  # as in any image: a tmpfs takes its place's mode over
    (tree / "root" / "secret").write_text("the image's own\n")
    files = [Path(found) for name in PROGRAMS.split() if (found := shutil.which(name, path=_PATH))]
    _copy_with_libraries(tree, [*files, python])
    libc = next(path for path in _libraries(python) if path.name == "libc.so.6")
    for name in COMPANIONS:
        _copy(tree, libc.with_name(name))
    library = Path(f"/usr/lib/{python.name}")
    skip = shutil.ignore_patterns("test*", "idlelib", "lib2to3", "ensurepip", "__pycache__", "*.a")
    shutil.copytree(library, tree / library.relative_to("/"), symlinks=True, ignore=skip)
    modules = (library / "lib-dynload").glob("*.so")
    _copy_with_libraries(tree, modules)
    for each in map(Path, TREES):
        if each.is_dir():
            shutil.copytree(each, tree / each.relative_to("/"), symlinks=True, dirs_exist_ok=True)


def add_program(daemon: DockerDaemon, name: str) -> None:
    """Add a program of this machine, and what it loads, to the daemon's image."""
    found = shutil.which(name)
    assert found is not None, f"{name} is not on this machine"
    tree, archive = daemon.folder / "tree", daemon.folder / "small.tar"
    if not tree.exists():
        small_tree(tree)
    _copy_with_libraries(tree, [Path(found)])
    archive.unlink()  # a link to the image that all daemons have
    pack(tree, archive)
    daemon.run("import", str(archive), IMAGE)


_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"


def _copy_with_libraries(tree: Path, files: Iterable[Path]) -> None:
    for file in files:
        for path in (file, *_libraries(file)):
            _copy(tree, path)


def _libraries(file: Path) -> list[Path]:
    loaded = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=False)
    return [Path(found) for found in _LIBRARY.findall(loaded.stdout)]


def _copy(tree: Path, path: Path) -> None:
    place = tree / "usr" / str(path).removeprefix("/usr").lstrip("/")
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)


def pack(tree: Path, archive: Path) -> None:
    """A tar of a root tree, owned by root."""
    subprocess.run(
        ["tar", "-C", str(tree), "--owner=0", "--group=0", "-cf", str(archive), "."], check=True
    )
