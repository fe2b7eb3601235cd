"""Services of `deploy/compose.yaml`, started without its program, in a daemon of ours, with what
the file says of privileges, secrets, volumes and health.

No registry is there: the image is an empty tree that shows this machine's programs and this
checkout, where the real one has its own.
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.peers.docker_daemon import DockerDaemon, pack
from tests.places import ROOT

DEPLOY = ROOT / "deploy"
IMAGE = "atoll:local"
START = str(DEPLOY / "images/atoll/start")
SHOWN = ("/usr", "/etc/ssl", "/etc/alternatives", "/etc/passwd", "/etc/group")
START_SECONDS = 90.0
_VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::\?[^}]*)?\}")


def services() -> dict[str, dict[str, Any]]:
    """The services of the file, with what they merge in."""
    found: dict[str, dict[str, Any]] = read()["services"]
    return found


def read() -> dict[str, Any]:
    """The file."""
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return loaded


@dataclass
class Stack:
    """Containers of one installation. `folder` holds its volumes and `secrets`."""

    daemon: DockerDaemon
    folder: Path
    domain: str = "atoll.example.com"
    binds: Sequence[str] = ()
    without: frozenset[str] = frozenset()
    started: list[str] = field(default_factory=list)

    def up(self, name: str) -> None:
        """Start a service and wait until its health check succeeds."""
        service = services()[name]
        self.daemon.run(
            "run", "--detach", "--name", name, *self._options(service), IMAGE, *service["command"]
        )
        self.started.append(name)
        self.wait(name)

    def wait(self, name: str) -> None:
        """Wait until a service is healthy, by its own check, run here rather than every few
        seconds."""
        check = services()[name]["healthcheck"]["test"]
        assert check[0] == "CMD"

        def healthy() -> bool:
            done = self.exec(name, *check[1:])
            assert "is not running" not in done.stderr, self.why(name)
            return done.returncode == 0

        until(healthy, lambda: self.why(name))

    def exec(self, name: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a program in a service's container."""
        argv = ["docker", "-H", self.daemon.host, "exec", name, *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    def atoll(self, name: str, *words: str) -> str:
        """What a command of Atoll's prints in a service's container."""
        done = self.exec(name, START, "run", *words)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return done.stdout

    def why(self, name: str) -> str:
        """What a service printed."""
        argv = ["docker", "-H", self.daemon.host, "logs", "--tail", "40", name]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        return f"{name}: {done.stdout}{done.stderr}"

    def down(self) -> None:
        """Remove what was started, the newest first."""
        for name in reversed(self.started):
            self.daemon.run("stop", name)
            self.daemon.run("rm", name)

    def _options(self, service: Mapping[str, Any]) -> list[str]:
        words = ["--network", "none", "--entrypoint", START]
        for option, key in (
            ("--cap-drop", "cap_drop"),
            ("--cap-add", "cap_add"),
            ("--security-opt", "security_opt"),
            ("--device", "devices"),
            ("--device-cgroup-rule", "device_cgroup_rules"),
            ("--tmpfs", "tmpfs"),
        ):
            words += [word for value in service.get(key, ()) for word in (option, value)]
        words += ["--memory", service["mem_limit"]] if "mem_limit" in service else []
        words += ["--init"] if service.get("init") else []
        words += ["--read-only"] if service.get("read_only") else []
        for variable, value in service.get("environment", {}).items():
            if variable not in self.without:
                words += ["--env", f"{variable}={_VARIABLE.sub(self.domain, value)}"]
        secrets = read()["secrets"]
        for name in service.get("secrets", ()):
            file = self.folder / Path(secrets[name]["file"])
            words += ["--volume", f"{file}:/run/secrets/{name}:ro"]
        for volume in service.get("volumes", ()):
            name, place = volume.split(":")
            words += ["--volume", f"{self.folder / name}:{place}"]
        shown = [*SHOWN, str(ROOT), str(Path(sys.prefix)), *self._python()]
        words += [
            word for path in dict.fromkeys(shown) for word in ("--volume", f"{path}:{path}:ro")
        ]
        return [*words, *(word for bind in self.binds for word in ("--volume", bind))]

    def _python(self) -> list[str]:
        return [] if sys.base_prefix.startswith("/usr") else [sys.base_prefix]


def import_image(daemon: DockerDaemon, folder: Path) -> None:
    """Give a daemon the image: links into `/usr`, and Atoll at the real one's place."""
    tree = folder / "tree"
    for name in ("usr", "etc", "run/secrets", "opt", "tmp", "sbin", "var/lib", "root", "work"):
        (tree / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        if Path(f"/{name}").is_symlink():
            (tree / name).symlink_to(f"usr/{name}")
    (tree / "opt/atoll").symlink_to(sys.prefix)
    pack(tree, folder / "atoll.tar")
    changes = ("--change", "ENV ATOLL_HOME=/var/lib/atoll/home LANG=C.UTF-8")
    daemon.run("import", *changes, str(folder / "atoll.tar"), IMAGE)


def until(reached: Callable[[], bool], why: Callable[[], str]) -> None:
    """Poll until `reached`; fails with `why` after `START_SECONDS`."""
    deadline = time.monotonic() + START_SECONDS
    while not reached():
        assert time.monotonic() < deadline, why()
        time.sleep(0.05)
