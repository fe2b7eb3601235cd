"""operator-approve, whole: asked inside, read and approved by a person at a terminal, run once."""

import json
import os
import pty
import re
import subprocess
import time
from typing import Any

import pytest

from atoll.testing.server import TestServer, atoll_command
from tests.peers.boxed import make_box

PROFILE = """
id: profile.asking
version: "1.0.0"
extension: ext.namespaces
safety: {operator: [[git, push]]}
"""
PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def atoll(server: TestServer) -> TestServer:
    make_box(server, PROFILE)
    return server


def environment(atoll: TestServer) -> dict[str, str]:
    return {**os.environ, "ATOLL_HOME": str(atoll.home), "NO_COLOR": "1"}


def asker(atoll: TestServer, line: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [atoll_command(), "exec", "box", "--", "sh", "-c", line],
        env=environment(atoll),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def asked(atoll: TestServer) -> dict[str, Any]:
    """The one question that is open, once it is there."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        found = json.loads(atoll.run("approvals", "--json").stdout)["approvals"]
        if found:
            first: dict[str, Any] = found[0]
            return first
    raise AssertionError("nothing was asked")


def person(atoll: TestServer, approval: str) -> tuple[int, str]:
    """`atoll approve` at a terminal, the words read back; exit code and all that was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(atoll_command(), ["atoll", "approve", approval], environment(atoll))
    shown, answered = "", False
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        shown += data.decode()
        words = re.search(r"type: (\S+)\s", shown)
        if words and "Words:" in shown and not answered:
            os.write(terminal, words[1].encode() + b"\n")
            answered = True
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


def test_approved_command_runs_once_where_it_was_asked(atoll: TestServer) -> None:
    with asker(atoll, "cd /tmp; operator-approve -- sh -c 'pwd; exit 5'") as waiting:
        question = asked(atoll)
        assert question["subject"] == {"argv": ["sh", "-c", "pwd; exit 5"], "cwd": "/tmp"}
        code, shown = person(atoll, question["approval_id"])
        assert (code, "pwd; exit 5" in shown) == (0, True)
        assert waiting.communicate(timeout=PATIENCE_SECONDS)[0] == "/tmp\n"
        assert waiting.returncode == 5


def test_denied_command_does_not_run(atoll: TestServer) -> None:
    with asker(atoll, "git -C /workspace push") as waiting:
        question = asked(atoll)
        done = atoll.run("deny", question["approval_id"])
        assert done.returncode == 0, done.stderr
        out, said = waiting.communicate(timeout=PATIENCE_SECONDS)
        assert (out, waiting.returncode) == ("", 1)
        assert "a person denied it" in said


def test_question_of_one_who_went_away_cannot_be_answered(atoll: TestServer) -> None:
    with asker(atoll, "touch /tmp/me; operator-approve -- touch /tmp/late") as waiting:
        question = asked(atoll)
        atoll.run("exec", "box", "--", "sh", "-c", "kill $(pgrep -f 'ask operator')")
        waiting.communicate(timeout=PATIENCE_SECONDS)

    code, shown = person(atoll, question["approval_id"])
    assert code != 0, shown
    assert atoll.run("exec", "box", "--", "ls", "/tmp/late").returncode != 0
