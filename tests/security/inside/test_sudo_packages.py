"""A distribution package installed by `sudo`, from a local repository into a root of its own."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.boxed import inside, make_box

TOOLS = (
    *("apt-get", "dpkg", "dpkg-deb", "dpkg-query", "dpkg-split", "tar", "sh", "id", "ls", "cat"),
    *("rm", "chown", "chmod", "stat", "grep", "touch", "ldconfig", "start-stop-daemon", "diff"),
    *("find", "sleep", "env", "true"),
)
FOLDERS = (
    *("usr/bin", "usr/lib", "usr/sbin", "usr/share", "lib64", "etc/apt/apt.conf.d"),
    *("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/lib/apt/lists"),
    *("var/cache/apt/archives", "var/log/apt", "etc/apt/preferences.d", "etc/dpkg"),
)

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("apt-get"),
        reason="needs root, the compiled init and apt",
    ),
]

PROFILE = """
id: profile.distribution
version: "1.0.0"
extension: ext.namespaces
image: small
root: overlay
safety:
  sudo: [[apt-get, update], [apt-get, install, -y, hello], [apt-get, remove, -y, hello]]
"""
CONTROL = """Package: hello
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@localhost>
Description: a greeting
"""
POSTINST = """#!/bin/sh
set -e
test "$(id -u)" = 0
chown 0:8 /usr/bin/hello
chmod 2755 /usr/bin/hello
"""


@pytest.fixture(scope="module")
def atoll() -> Iterator[TestServer]:
    with test_server(start=False) as server:
        tree = server.home / "images" / "small"
        grow(tree)
        publish(tree / "repo")
        server.start()
        make_box(server, PROFILE)
        yield server


def grow(tree: Path) -> None:
    """A root with apt, dpkg and little else, made of this machine's programs."""
    for name in FOLDERS:
        (tree / name).mkdir(parents=True)
    tree.parent.chmod(0o755)
    for name in ("bin", "lib", "sbin"):
        (tree / name).symlink_to(f"usr/{name}")
    for name in ("status", "available", "diversions", "statoverride"):
        (tree / "var/lib/dpkg" / name).touch()
    (tree / "etc/apt/sources.list").write_text("deb [trusted=yes] file:/repo ./\n")
    for name in ("usr/lib/apt/methods", "usr/share/dpkg"):
        shutil.copytree(Path("/") / name, tree / name, symlinks=True)
    programs = {name: Path(str(shutil.which(name))).resolve() for name in TOOLS}
    for name, program in programs.items():
        shutil.copy(program, tree / "usr/bin" / name)
    for program in (*programs.values(), *Path("/usr/lib/apt/methods").iterdir()):
        bring_libraries(program, tree)


def bring_libraries(program: Path, tree: Path) -> None:
    needed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    for word in needed.stdout.split():
        goal = tree / word[1:]
        if word.startswith("/") and not goal.exists():
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, goal)


def publish(repository: Path) -> None:
    """A repository of one package, whose files belong to several users and groups."""
    made = repository / "made"
    for name in ("DEBIAN", "usr/bin", "var/games"):
        (made / name).mkdir(parents=True)
    (made / "DEBIAN/control").write_text(CONTROL)
    (made / "DEBIAN/postinst").write_text(POSTINST)
    (made / "usr/bin/hello").write_text("#!/bin/sh\necho hello\n")
    for name in ("DEBIAN/postinst", "usr/bin/hello"):
        (made / name).chmod(0o755)
    (made / "var/games/score").write_text("0\n")
    os.chown(made / "var/games/score", 0, 60)
    package = repository / "hello.deb"
    subprocess.run(["dpkg-deb", "-b", str(made), str(package)], check=True, capture_output=True)
    shutil.rmtree(made)
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    index = f"{CONTROL}Filename: ./hello.deb\nSize: {package.stat().st_size}\nSHA256: {digest}\n"
    (repository / "Packages").write_text(index)


def test_sudo_installs_and_removes_a_package_and_the_image_stays_as_it_was(
    atoll: TestServer,
) -> None:
    for words in (("apt-get", "update"), ("apt-get", "install", "-y", "hello")):
        code, said, errors = inside(atoll, "sudo", *words)
        assert code == 0, said + errors
    assert inside(atoll, "hello")[:2] == (0, "hello\n")
    _, said, errors = inside(atoll, "stat", "-c", "%u:%g %a", "/usr/bin/hello", "/var/games/score")
    assert said.split("\n")[0].split()[0] == "1000:1000", said + errors
    assert not (atoll.home / "images/small/usr/bin/hello").exists()
    assert (atoll.home / "images/small/var/lib/dpkg/status").read_text() == ""
    code, said, errors = inside(atoll, "sudo", "apt-get", "remove", "-y", "hello")
    assert code == 0, said + errors
    assert inside(atoll, "hello")[0] != 0
