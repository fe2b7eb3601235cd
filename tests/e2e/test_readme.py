"""The commands of the first hour, the README's among them, do what is printed, on a real wall.

What cannot run here is named in `ELSEWHERE` with the test that runs it.
"""

import json
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
from tests.places import ROOT
from tests.surfaces.cli.commands.terminals.test_attach import person_tty

README = ROOT / "README.md"
FIRST_HOUR = ROOT / "docs" / "start" / "first-hour.md"
ELSEWHERE = {
    "atoll agent install codex": "tests/e2e/agents/test_agent_layers.py: it downloads",
    'atoll agent ask app-fix "And the linter?"': "tests/e2e/agents/test_agent_control.py: a model",
    'atoll inbox answer q_5b "SQLite"': "tests/e2e/terminals/test_agent_answers.py: a model",
}
#: What a person sees and then types; `WORDS` are those of the line before them.
AT_A_TERMINAL = {
    "atoll attach app-fix": (b"agent@app-fix", b"\x1c"),
    "atoll approve ap_k3…": (b"(once), type: ", b"WORDS\r"),
    "atoll open app-fix 3000": (b"port 3000 of app-fix; Ctrl-C ends it", b"\x03"),
    "atoll play app-fix:rec_7hq2…": (b"\x1b[", b"q"),
}
#: An agent's program is downloaded; the sandbox is the same without it.
WITHOUT_AGENT = ("--agent", "codex", "--prompt", "Fix the login page")
VALUE = "Tq7-x91z-pLm4-w0Rk\n"

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def server() -> Iterator[TestServer]:
    with test_server() as started:
        yield started


def prompts(text: str) -> list[tuple[str, str]]:
    """The prompts of a text and the line that follows each, without comments."""
    blocks = "\n".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL)).splitlines()
    following = [*blocks[1:], ""]
    return [
        (re.sub(r"\s{2,}#.*", "", line).strip(), after)
        for line, after in zip(blocks, following, strict=True)
        if line.startswith(("$ ", "agent$ "))
    ]


def test_readme_shows_commands_of_the_first_hour() -> None:
    section = README.read_text().split("\n## In use\n")[1].split("\n## ")[0]
    shown_there = {line for line, _ in prompts(section)}
    assert shown_there <= {line for line, _ in prompts(FIRST_HOUR.read_text())}


def test_commands_of_the_first_hour_run_in_their_order(
    server: TestServer, repository: Path
) -> None:
    seen = set()
    for line, after in prompts(FIRST_HOUR.read_text()):
        prompt, _, words = line.partition("$ ")
        seen.add(words)
        if prompt == "agent":
            told = at_the_agent(server, words)
            assert shown(after) in told, (words, told)
        elif words in AT_A_TERMINAL:
            at_a_terminal(server, words)
        elif words not in ELSEWHERE:
            by_a_person(server, repository, words)
    named = {*ELSEWHERE, *AT_A_TERMINAL}
    assert named <= seen, "a command of the lists is no longer on the page"


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


def at_a_terminal(server: TestServer, words: str) -> None:
    """Run one command at a terminal, with the ids that this server gave."""
    shown_first, typed = AT_A_TERMINAL[words]
    argv = [with_its_id(server, word) for word in shlex.split(words)[1:]]
    environ = {"ATOLL_HOME": str(server.home), "ATOLL_URL": server.url}
    with person_tty({**environ, "ATOLL_TOKEN": server.token}, *argv) as person:
        person.expect(shown_first)
        if typed == b"WORDS\r":
            person.expect(b"Words")
            typed = bytes(person.seen).partition(shown_first)[2].splitlines()[0] + b"\r"
        person.type(typed)
        assert person.ends() in (0, 130), (words, bytes(person.seen))
        assert person.restored


def with_its_id(server: TestServer, word: str) -> str:
    """Return the word with the id for which the page has an ellipsis."""
    if word.startswith("ap_"):
        return server.run("approvals").stdout.split()[0]
    if word.startswith("app-fix:rec_"):
        listed = json.loads(server.run("record", "app-fix", "--list", "--json").stdout)
        return f"app-fix:{listed['recordings'][0]['recording_id']}"
    return word


def by_a_person(server: TestServer, repository: Path, words: str) -> None:
    """Run one command in the repository; it must succeed."""
    argv = [word for word in shlex.split(words)[1:] if word not in WITHOUT_AGENT]
    if argv[0] == "new":
        argv.append("--detach")
    done = server.run(*argv, cwd=repository, input=VALUE)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
