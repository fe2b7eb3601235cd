"""`atoll agent check`: what works of a version, line by line, and what could not be tried."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from atoll.testing.server import atoll_command
from tests.places import ROOT

pytestmark = [pytest.mark.agents, pytest.mark.timeout(600)]


def check(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "ATOLL_HOME": str(home)}
    argv = [atoll_command(), "agent", "check", *words]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


def test_check_of_nothing_that_is_known_ends_with_two(tmp_path: Path) -> None:
    done = check(tmp_path, "nobody")
    assert done.returncode == 2 and "no agent is called 'nobody'" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["codex", "claude-code", "opencode", "qwen-code", "gemini-cli"])
def test_check_says_line_by_line_that_all_of_it_works(tmp_path: Path, agent: str) -> None:
    (tmp_path / "agents").mkdir()
    subprocess.run(
        ["cp", "-al", str(ROOT / ".venv" / "agents" / agent), str(tmp_path / "agents" / agent)],
        check=False,
    )
    done = check(tmp_path, agent, "--json", "--pin")
    told = json.loads(done.stdout)
    assert [one for one in told["checks"] if one["works"] is False] == []
    assert (done.returncode, told["works"]) == (0, True)
    assert (tmp_path / "agents" / agent / "pinned").read_text().strip() == told["version"]
