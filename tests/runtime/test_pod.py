"""The runtime as a pod's entry point: TCP, a token, another uid."""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.claims import claim_uid

UID = claim_uid()
TOKEN = "pod-token-0123456789-0123456789-abcdef"


#: An agent as the zygote is told of one: it says what it was started with.
ECHO = {"name": "echo", "argv": ["sh", "-c", "echo started-by-name; exec cat"]}


@contextmanager
def started(folder: Path, *more: str, path: str | None = None) -> Iterator[httpx.Client]:
    """A pod's runtime, and a client that bears its token."""
    workspace = Path(tempfile.mkdtemp(prefix="atpod", dir="/tmp"))
    uid: list[str] = []
    if os.geteuid() == 0:
        os.chown(workspace, UID, UID)
        workspace.chmod(0o700)
        uid = ["--uid", str(UID)]
    argv = [sys.executable, "-m", "atoll.wiring.pod", "--host", "127.0.0.1", "--port", "0"]
    places = ["--workspace", str(workspace), "--journal", str(folder / "journal")]
    process = subprocess.Popen(
        [*argv, *places, "--repo-link", str(folder / "repo"), *uid, *more],
        env={**os.environ, "ATOLL_RUNTIME_TOKEN": TOKEN, "PATH": path or os.environ["PATH"]},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        found = re.search(r":(\d+)$", process.stdout.readline().strip())
        assert found
        headers = {"Authorization": f"Bearer {TOKEN}"}
        base_url = f"http://127.0.0.1:{found[1]}"
        with httpx.Client(base_url=base_url, headers=headers, timeout=60) as client:
            yield client
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()
        subprocess.run(["rm", "-rf", str(workspace)], check=False)


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[httpx.Client]:
    with started(tmp_path) as client:
        yield client


def _shown(pod: httpx.Client, session: str, words: str) -> str:
    """A terminal's text once it holds `words`."""
    deadline = time.monotonic() + 60
    while words not in (text := pod.get(f"/sessions/{session}/text").text):
        assert time.monotonic() < deadline, text
        time.sleep(0.05)
    return text


def test_pod_starts_the_agents_of_its_file_by_name(tmp_path: Path) -> None:
    told = tmp_path / "agents.json"
    told.write_text(json.dumps([ECHO]))
    with started(tmp_path, "--agents", str(told)) as pod:
        opened = pod.post("/sessions", json={"agent": "echo"})
        assert opened.status_code == 201, opened.text
        assert "started-by-name" in _shown(pod, opened.json()["session_id"], "started-by-name")
        refused = pod.post("/sessions", json={"agent": "codex"})
        assert (refused.status_code, refused.json()["field"]) == (422, "agent")
        assert "it has: echo" in refused.json()["detail"]


def test_pod_without_a_file_knows_every_agent_of_the_catalogue(tmp_path: Path) -> None:
    # Not below pytest's own folder, which every run that begins closes to other users.
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        # A stand-in for the real program, in the pod's own PATH.
        programs = Path(folder)
        (programs / "codex").write_text("#!/bin/sh\necho codex-was-started; exec cat\n")
        for path in (programs / "codex", programs):
            path.chmod(0o755)
        with started(tmp_path, path=f"{programs}:{os.environ['PATH']}") as pod:
            opened = pod.post("/sessions", json={"agent": "codex"})
            assert opened.status_code == 201, opened.text
            _shown(pod, opened.json()["session_id"], "codex-was-started")


def test_pod_links_repo_to_its_workspace(tmp_path: Path) -> None:
    with started(tmp_path) as pod:
        pod.put("/files/content?path=here", content=b"x").raise_for_status()
        link = tmp_path / "repo"
        assert link.is_symlink() and (link / "here").read_bytes() == b"x"


@pytest.mark.parametrize("text", [None, "{}", '[{"name": "x"}]', '[{"name": 1, "argv": []}]', "["])
def test_pod_whose_agents_cannot_be_read_refuses_to_start(tmp_path: Path, text: str | None) -> None:
    told = tmp_path / "agents.json"
    if text is not None:
        told.write_text(text)
    argv = [sys.executable, "-m", "atoll.wiring.pod", "--journal", str(tmp_path / "journal")]
    done = subprocess.run(
        [*argv, "--workspace", str(tmp_path), "--agents", str(told)],
        env={**os.environ, "ATOLL_RUNTIME_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"the agents in {told} cannot be read" in done.stderr


def test_pod_serves_the_contract_with_its_token_and_keeps_it_from_processes(
    pod: httpx.Client,
) -> None:
    assert pod.get("/health").json()["sandbox_id"] == "sb_pod"
    answer = pod.post("/execs", json={"shell": "id -u; env; pwd"})
    told = answer.json()
    assert told["exit_code"] == 0, told
    said = base64.b64decode(told["stdout"]).decode()
    assert TOKEN not in said
    if os.geteuid() == 0:
        assert said.startswith(f"{UID}\n")
    opened = pod.post("/sessions", json={"argv": ["cat"]})
    assert opened.status_code == 201
    assert pod.get(f"/sessions/{opened.json()['session_id']}").json()["state"] == "running"


@pytest.mark.parametrize("bearer", ["", "Bearer wrong", f"Basic {TOKEN}"])
def test_pod_without_the_right_token_says_nothing(pod: httpx.Client, bearer: str) -> None:
    answer = pod.get("/health", headers={"Authorization": bearer})
    assert answer.status_code == 401
    assert "sb_pod" not in answer.text


def test_pod_without_a_token_refuses_to_start(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "atoll.wiring.pod", "--journal", str(tmp_path)]
    env = {name: value for name, value in os.environ.items() if name != "ATOLL_RUNTIME_TOKEN"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ATOLL_RUNTIME_TOKEN" in done.stderr


def test_pods_runtime_is_confined_and_what_it_starts_is_not(pod: httpx.Client) -> None:
    pid = pod.get("/health").json()["pid"]
    status = Path(f"/proc/{pid}/status").read_text()
    assert re.search(r"^Seccomp:\s2$", status, re.M)
    assert re.search(r"^NoNewPrivs:\s1$", status, re.M)
    done = pod.post("/execs", json={"shell": "grep Seccomp: /proc/self/status"}).json()
    assert base64.b64decode(done["stdout"]).decode().split() == ["Seccomp:", "0"]
