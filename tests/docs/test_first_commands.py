"""The first commands of the pages on other machines, in their order, on the real backend or its
peer. What cannot run here is named with the test that runs it."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from atoll.testing.server import TestServer, test_server
from tests.peers.api import api_of
from tests.peers.clouds.cloud import E2B
from tests.peers.clouds.machine import missing as cloud_missing
from tests.peers.machines import ssh_server
from tests.peers.machines.microvm import home_with_image
from tests.peers.machines.microvm import missing as microvm_missing
from tests.peers.machines.ssh_server import SshServer
from tests.places import ROOT

pytestmark = pytest.mark.timeout(300)

ELSEWHERE = {
    "pip install 'atoll[e2b]'": "tests/e2e/test_wheel.py: it downloads",
    "apt-get install --no-install-recommends qemu-system-x86": "no test: it changes this machine",
    "atoll vm build": "tests.peers.machines.microvm.built: its image is made once for a checkout",
}


USUAL_HOME = "~/.local/state/atoll"
NO_HOME = {name: value for name, value in os.environ.items() if name != "ATOLL_HOME"}

WHOLE = {
    "image": "host",
    "workspace": {"mode": "remote-canonical", "access": "rw", "scope_default": "session"},
}


@dataclass(frozen=True)
class Step:
    """A command as it is typed, and what it is given there."""

    command: str
    given: str


@dataclass
class Ground:
    """A home, what the placeholders of the page stand for, and the machine that lets us in once the
    line that is printed lies there."""

    server: TestServer
    stands_for: dict[str, str]
    box: SshServer | None = None


def text_of(page: str) -> str:
    return (ROOT / f"docs/run/{page}.md").read_text()


def profiles_of(page: str) -> list[dict[str, Any]]:
    """Return the profiles that the page writes out, with what every one must have."""
    found = re.findall(r"```yaml\n(id: profile.*?)```", text_of(page), re.DOTALL)
    return [WHOLE | yaml.safe_load(each) for each in found]


def first_steps(page: str) -> list[Step]:
    """Return the commands of a page's first block."""
    block = re.findall(r"```console\n(.*?)```", text_of(page), re.DOTALL)[0]
    steps = []
    for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, rest = each.partition("\n")
        here = re.search(r"<<'END'", command)
        given = rest.partition("END\n")[0] if here else ""
        steps.append(Step(re.sub(r"\s{2,}#.*", "", command).strip(), given))
    return steps


def run(ground: Ground, step: Step, repository: Path) -> None:
    """Run one command in the repository; it must succeed. What is written into the settings counts
    after another start, as the page says."""
    words = step.command
    for placeholder, meant in {"owner/repo": ".", **ground.stands_for}.items():
        words = words.replace(placeholder, meant)
    if words.startswith("cat >> "):
        given = step.given
        for placeholder, meant in ground.stands_for.items():
            given = given.replace(placeholder, meant)
        there = words.replace(USUAL_HOME, str(ground.server.home))
        assert there != words, "nothing sets another home on the page"
        subprocess.run(["sh", "-euc", f"{there}\n{given}END\n"], env=NO_HOME, check=True)
        ground.server.down()
        ground.server.start()
        return
    argv = shlex.split(words)[1:]
    more = ["--detach"] if argv[0] == "new" else []
    done = ground.server.run(*argv, *more, cwd=repository, input=f"{E2B.key}\n")
    assert done.returncode == 0, (
        words,
        done.stdout,
        done.stderr,
        ground.server.log.read_text()[-4000:],
    )
    for line in done.stdout.splitlines() if ground.box is not None else ():
        if line.startswith("restrict ") and ground.box is not None:
            ground.box.authorize(line)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """What the page calls `owner/repo`."""
    folder = tmp_path / "project"
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid")
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    words = ("commit", "-q", "--allow-empty", "-m", "start")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True)
    return folder


@pytest.fixture
def clouds() -> Iterator[Ground]:
    if reason := cloud_missing():
        pytest.skip(reason)
    with E2B.serve() as peer, test_server(start=False) as server:
        # Where the peer listens; the extension itself is what the page turns on.
        table = E2B.settings(peer).partition("\n")[2]
        yield Ground(server, {'"e2b"]\n': f'"e2b"]\n{table}'})


@pytest.fixture
def microvm() -> Iterator[Ground]:
    if reason := microvm_missing():
        pytest.skip(reason)
    with test_server(start=False) as server:
        home_with_image(server.home)
        yield Ground(server, {})


@pytest.fixture
def hosts() -> Iterator[Ground]:
    if reason := ssh_server.missing():
        pytest.skip(reason)
    with ExitStack() as stack:
        box = stack.enter_context(ssh_server.throwaway_ssh_server())
        server = stack.enter_context(test_server(start=False))
        address = {"ssh://ada@build-1.example.org": f"{box.address} --name build-1"}
        yield Ground(server, address, box)


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.stem)
def test_commands_of_a_page_name_the_home_by_a_variable_only_where_it_is_set(page: Path) -> None:
    text = page.read_text()
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        typed = re.sub(r"\s{2,}#.*", "", "".join(re.findall(r"^\$ .*\n", block, re.MULTILINE)))
        assert "ATOLL_HOME" not in typed or "`ATOLL_HOME`" in text


@pytest.mark.parametrize(
    ("page", "extension"),
    [
        ("clouds", "ext.e2b"),
        ("hosts", "ext.ssh"),
        pytest.param("microvm", "ext.microvm", marks=[pytest.mark.slow, pytest.mark.docker]),
    ],
)
def test_first_commands_of_the_page_make_a_sandbox_there(
    page: str, extension: str, repository: Path, request: pytest.FixtureRequest
) -> None:
    ground: Ground = request.getfixturevalue(page)
    ground.server.start()
    with api_of(ground.server) as api:
        for profile in profiles_of(page):
            api.call("PUT", f"/v1/profiles/{profile['id']}", json=profile)
    for step in first_steps(page):
        if step.command not in ELSEWHERE:
            run(ground, step, repository)
    with api_of(ground.server) as api:
        (made,) = api.call("GET", "/v1/sandboxes")["sandboxes"]
        assert made["extension"] == extension
        assert made["state"] in ("ready", "active")
