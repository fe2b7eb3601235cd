"""The commands of the README do what it prints, in its order, on a real wall.

What cannot run here is named in `ELSEWHERE` with the test that runs it.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from atoll.wiring.host import LocalHost
from tests.peers.api import api_of
from tests.places import ROOT

README = ROOT / "README.md"
ELSEWHERE = {
    "atoll agent install codex": "tests/e2e/agents/test_agent_layers.py: it downloads",
    "atoll attach app-fix": "tests/e2e/terminals/test_turns.py: it needs a terminal",
    'atoll agent ask app-fix "And the linter?"': "tests/e2e/agents/test_agent_control.py: a model",
    "atoll exec app-fix -- pytest -q": "tests/e2e/test_control_plane.py: no test is there",
    "atoll inbox answer q_5b allow": "tests/surfaces/cli/commands/agents/test_inbox.py",
    "atoll approve ap_k3…": "tests/e2e/page/test_people.py: a person reads what is asked",
    "atoll open app-fix 3000": "tests/e2e/terminals/test_open.py: it lasts until Ctrl-C",
    "atoll play app-fix:rec_7hq2…": "tests/e2e/terminals/test_recordings.py: it needs a terminal",
}
#: An agent's program is downloaded; the sandbox is the same without it.
WITHOUT_AGENT = ("--agent", "codex", "--prompt", "Fix the login page")
VALUE = "Tq7-x91z-pLm4-w0Rk\n"

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def server() -> Iterator[TestServer]:
    with test_server() as started:
        yield started


def lines_in_use() -> list[tuple[str, str]]:
    """The prompts of the section "In use" and the line that follows each, without comments."""
    section = README.read_text().split("\n## In use\n")[1].split("\n## ")[0]
    blocks = "\n".join(re.findall(r"```console\n(.*?)```", section, re.DOTALL)).splitlines()
    following = [*blocks[1:], ""]
    return [
        (re.sub(r"\s{2,}#.*", "", line).strip(), after)
        for line, after in zip(blocks, following, strict=True)
        if line.startswith(("$ ", "agent$ "))
    ]


def test_commands_of_the_readme_run_in_their_order(server: TestServer, repository: Path) -> None:
    seen = set()
    for line, after in lines_in_use():
        prompt, _, words = line.partition("$ ")
        seen.add(words)
        if prompt == "agent":
            told = at_the_agent(server, words)
            assert shown(after) in told, (words, told)
        elif words not in ELSEWHERE:
            by_a_person(server, repository, words)
    assert set(ELSEWHERE) <= seen, "a command of the list is no longer in the README"


def test_first_block_starts_atoll_in_a_clean_clone(tmp_path: Path) -> None:
    clone, home = tmp_path / "clone", Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    home.chmod(0o711)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    # `make run` installs it; what it installs is what runs this test.
    (clone / ".venv").symlink_to(ROOT / ".venv")
    environ = {**os.environ, "ATOLL_HOME": str(home), "ATOLL_DEMO": str(tmp_path / "demo")}
    with subprocess.Popen(
        ["scripts/run", "--no-browser"],
        cwd=clone,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            printed = []
            for line in process.stdout:
                printed.append(line.strip())
                if line.startswith("sandbox demo"):
                    break
        finally:
            process.send_signal(signal.SIGINT)
            LocalHost().down(home)
            shutil.rmtree(home)
    for line in promised():
        assert any(said.startswith(line) for said in printed), (line, printed)


def promised() -> list[str]:
    """The lines that `make run` prints, up to what differs each time."""
    block = re.findall(r"```console\n\$ make run\n(.*?)```", README.read_text(), re.DOTALL)[0]
    lines = [line for line in block.splitlines() if not line.startswith(("install:", "…"))]
    return [re.split(r"\d{5}", line)[0] for line in lines]


def shown(printed: str) -> str:
    """What is printed up to an ellipsis."""
    return printed.partition(",…")[0]


def at_the_agent(server: TestServer, words: str) -> str:
    """What a shell line of the agent prints."""
    done = server.run("exec", "app-fix", "--", "sh", "-c", words)
    return done.stdout + done.stderr


def by_a_person(server: TestServer, repository: Path, words: str) -> None:
    """Run one command in the repository; it must succeed."""
    argv = [word for word in shlex.split(words)[1:] if word not in WITHOUT_AGENT]
    if argv[0] == "new":
        argv.append("--detach")
    if argv[0] == "record":
        # As `attach` does, which the lines above it have run.
        with api_of(server) as api:
            api.terminal("app-fix")
    done = server.run(*argv, cwd=repository, input=VALUE)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
