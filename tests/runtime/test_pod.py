"""The runtime as a pod's entry point: TCP, a token, another uid."""

import base64
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

TOKEN = "pod-token-0123456789-0123456789-abcdef"


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[httpx.Client]:
    workspace = Path(tempfile.mkdtemp(prefix="atpod", dir="/tmp"))
    uid: list[str] = []
    if os.geteuid() == 0:
        os.chown(workspace, 12345, 12345)
        workspace.chmod(0o700)
        uid = ["--uid", "12345"]
    argv = [sys.executable, "-m", "atoll.wiring.pod", "--host", "127.0.0.1", "--port", "0"]
    process = subprocess.Popen(
        [*argv, "--workspace", str(workspace), "--journal", str(tmp_path / "journal"), *uid],
        env={**os.environ, "ATOLL_RUNTIME_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    found = re.search(r":(\d+)$", process.stdout.readline().strip())
    assert found
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{found[1]}", headers=headers) as client:
            yield client
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()
        subprocess.run(["rm", "-rf", str(workspace)], check=False)


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
        assert said.startswith("12345\n")
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
