"""The commands of `docs/start/first-team.md` do what it prints, in its order: one becomes a team.

PostgreSQL, NATS, the login provider and both control planes are real. What a person does in a
browser is done by its requests here; `tests/e2e/page` does it in browsers.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from atoll.wiring.host import LocalHost
from tests.claims import free_port
from tests.peers.databases.postgres import PostgresServer
from tests.peers.identity.oidc_provider import confirmed
from tests.places import ROOT

GUIDE = ROOT / "docs/start/first-team.md"
#: What installs is installed.
ELSEWHERE = ("sudo apt-get ", "pip install ", "make run")
PORTS = ("4222", "9400", "7000", "7001")
SECONDS = 120.0
END = "<<'END'"

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]


@dataclass(frozen=True)
class Command:
    """A command of the guide, and the lines it prints."""

    words: str
    prints: tuple[str, ...]


def commands() -> list[Command]:
    """The commands in their order."""
    blocks = "".join(re.findall(r"```console\n(.*?)```", GUIDE.read_text(), re.DOTALL))
    found: list[Command] = []
    for part in re.split(r"^\$ ", blocks, flags=re.MULTILINE)[1:]:
        ends = part.index("\nEND\n") + 4 if END in part else part.index("\n")
        found.append(Command(part[:ends], tuple(part[ends:].split("\n")[1:-1])))
    return found


@dataclass
class Window:
    """A window with a shell, on a machine with other ports and places than the guide's."""

    shell: "subprocess.Popen[str]"
    places: dict[str, str]

    def here(self, words: str) -> str:
        """The same words with this machine's ports and places."""
        for theirs, ours in self.places.items():
            words = words.replace(theirs, ours)
        return words

    def run(self, command: Command) -> str:
        """Run it; return what it printed, which is what the guide says."""
        words = self.here(command.words)
        assert self.shell.stdin is not None and self.shell.stdout is not None
        self.shell.stdin.write(f"{{ {words}\n}} 2>&1; echo =done $?\n")
        self.shell.stdin.flush()
        lines: list[str] = []
        for line in self.shell.stdout:
            if line.startswith("=done "):
                break
            lines.append(line.rstrip("\n"))
        said = "\n".join(lines)
        assert line == "=done 0\n", (words, said)
        found = re.search(r"(?:-p|--port) (\d+)", words) if words.endswith("&") else None
        if found is not None:
            answers(int(found[1]))
        missing = [one for one in command.prints if not re.search(shown(self.here(one)), said)]
        assert not missing, (words, missing, said)
        return said


def shown(line: str) -> str:
    """The pattern of a printed line: an ellipsis is anything, room between columns too."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split("…")]
    return ".*".join(parts)


def answers(port: int) -> None:
    """Return once something listens there."""
    ends = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < ends, f"nothing listens on {port}"
            time.sleep(0.05)
        else:
            return


def free_ports() -> dict[str, str]:
    """The guide's ports with free ones."""
    return {one: str(free_port()) for one in PORTS}


@contextmanager
def begun(home: Path, demo: Path) -> Iterator[None]:
    """`make run` in a window of its own, which ends by Ctrl-C."""
    argv = [str(ROOT / "scripts/run"), "--no-browser"]
    environ = {**os.environ, "HOME": str(home), "ATOLL_DEMO": str(demo)}
    with subprocess.Popen(argv, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as run:
        try:
            assert run.stdout is not None
            assert any(line.startswith("sandbox demo is ready") for line in run.stdout)
            yield
        finally:
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=60)


@contextmanager
def window(home: Path, places: dict[str, str]) -> Iterator[Window]:
    """A second window in the same folder."""
    environ = {**os.environ, "HOME": str(home), "COLUMNS": "200"}
    for name in ("ATOLL_HOME", "ATOLL_URL", "ATOLL_TOKEN", "XDG_STATE_HOME"):
        environ.pop(name, None)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        ["bash"], cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, text=True, start_new_session=True
    ) as shell:
        try:
            yield Window(shell, places)
        finally:
            os.killpg(shell.pid, signal.SIGTERM)


def joined(link: str, sub: str) -> httpx.Client:
    """A browser that opened an invitation, logged in as `sub` and accepted it."""
    parts = urlsplit(link)
    base, secret = f"{parts.scheme}://{parts.netloc}", parts.fragment.removeprefix("join=")
    browser = httpx.Client(base_url=base, headers={"Origin": base})
    left = browser.get("/auth/oidc/trial/login?next=join")
    assert left.status_code == 302, left.text
    away = left.headers["location"]
    back = browser.get(confirmed(away, sub)).headers["location"]
    ticket = urlsplit(back).fragment.removeprefix("login=")
    entered = browser.post("/auth/login", json={"ticket": ticket}).json()
    browser.headers["Atoll-Page-Key"] = entered["page_key"]
    answer = browser.post("/v1/invitations/accept", json={"secret": secret})
    assert answer.status_code == 200, answer.text
    return browser


def seen_by(browser: httpx.Client) -> list[str]:
    """The names of the sandboxes that somebody finds."""
    return [one["name"] for one in browser.get("/v1/sandboxes").json()["sandboxes"]]


def test_one_person_becomes_a_team_as_the_guide_says(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    home = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    home.chmod(0o711)
    folder = postgres.folder
    places = {
        **free_ports(),
        "sudo -u postgres psql": f"psql -h {folder} -U postgres -d postgres",
        "@127.0.0.1/atoll": f"@/atoll?host={folder}",
        "/tmp/atoll-": f"{tmp_path}/atoll-",
    }
    links: list[str] = []
    people: list[httpx.Client] = []
    to_run = [one for one in commands() if not one.words.startswith(ELSEWHERE)]
    moves = next(i for i, one in enumerate(to_run) if one.words.startswith("atoll db export"))
    state = home / ".local/state/atoll"
    try:
        with window(home, places) as second:
            with begun(home, tmp_path / "demo"):
                for one in to_run[:moves]:
                    second.run(one)
            for one in to_run[moves:]:
                if one.words == "atoll org members":
                    people = [joined(links.pop(0), sub) for sub in ("ada", "bob", "cyd")]
                links += re.findall(r"http\S+#join=\S+", second.run(one))
            assert [seen_by(one) for one in people] == [["desk", "demo"], ["desk"], ["desk"]]
            for browser in people:
                browser.close()
    finally:
        LocalHost().down(state)
        postgres.drop("atoll")
        shutil.rmtree(home)
