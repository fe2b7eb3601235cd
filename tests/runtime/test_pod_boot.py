"""A pod's boot file: env, agents, doors and token by descriptor, and nothing of it elsewhere."""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.claims import claim_uid
from tests.runtime.test_pod import ECHO

TOKEN = "boot-token-0123456789-0123456789-abcdef"
UID = claim_uid()


def handed(boot: object) -> int:
    """A descriptor with the boot file."""
    fd = os.memfd_create("boot")
    os.write(fd, boot if isinstance(boot, bytes) else json.dumps(boot).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def launched(place: Path, boot: object, *more: str) -> "subprocess.Popen[str]":
    fd = handed(boot)
    argv = [sys.executable, "-m", "atoll.wiring.pod", "--host", "127.0.0.1", "--port", "0"]
    argv += ["--workspace", str(place / "work"), "--journal", str(place / "journal")]
    argv += ["--repo-link", str(place / "repo"), "--boot-fd", str(fd), *more]
    try:
        return subprocess.Popen(
            argv, pass_fds=(fd,), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(fd)


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="atpb", dir="/tmp") as name:
        top = Path(name)
        for folder in (top, top / "work", top / "home"):
            folder.mkdir(exist_ok=True)
            if os.geteuid() == 0:
                os.chown(folder, UID, UID)
        yield top


@contextmanager
def started(place: Path, **boot: Any) -> Iterator[httpx.Client]:
    uid = ["--uid", str(UID)] if os.geteuid() == 0 else []
    boot = {"token": TOKEN, "same_uid": not uid, **boot}
    process = launched(place, boot, *uid)
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        found = re.search(r":(\d+)$", line)
        assert found, line
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with httpx.Client(
            base_url=f"http://127.0.0.1:{found[1]}", headers=headers, timeout=60
        ) as client:
            yield client
    finally:
        process.terminate()
        process.communicate(timeout=30)


def run(pod: httpx.Client, line: str) -> str:
    answer = pod.post("/execs", json={"shell": line})
    assert answer.status_code in (200, 201), answer.text
    return base64.b64decode(answer.json()["stdout"]).decode()


def test_boot_file_carries_env_agents_doors_and_a_wall(place: Path) -> None:
    shown = place / "shown"
    shown.mkdir()
    (shown / "file").write_text("from outside")
    boot = {
        "wall": "bwrap",
        "env": [["FROM_BOOT", "yes"]],
        "agents": [ECHO],
        "home": str(place / "home"),
        "mounts": [{"source": str(shown), "target": "/opt/atoll/shown"}],
    }
    with started(place, **boot) as pod:
        assert run(pod, "echo $FROM_BOOT $HTTPS_PROXY; pwd; cat /opt/atoll/shown/file") == (
            "yes http://127.0.0.1:3128\n/workspace\nfrom outside"
        )
        assert pod.post("/sessions", json={"agent": "echo"}).status_code == 201
        # The doors are there and refuse: no policy was given yet.
        said = run(pod, "curl -sS -m 20 -o /dev/null -w '%{http_code}' 127.0.0.1:8082/x 2>&1")
        assert said.isdigit() and int(said) >= 400, said
        assert run(pod, "ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :") == "1\n"
        assert TOKEN not in run(pod, "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null")
        assert run(pod, f"ls -d {place} /work /root/.ssh 2>/dev/null; true") == ""
        assert run(pod, "touch /opt/x /usr/x 2>/dev/null; echo x > kept; ls") == "kept\n"
    assert (place / "work" / "kept").read_text() == "x\n"


def test_two_pods_on_one_machine_have_doors_of_their_own(place: Path) -> None:
    other = place / "other"
    for folder in (other, other / "work"):
        folder.mkdir()
        if os.geteuid() == 0:
            os.chown(folder, UID, UID)
    with started(place, wall="bwrap") as one, started(other, wall="bwrap") as two:
        assert run(one, "echo one > /tmp/x; cat /tmp/x") == "one\n"
        assert run(two, "cat /tmp/x 2>/dev/null; echo two") == "two\n"


@pytest.mark.parametrize(
    ("boot", "words"),
    [
        ({"token": TOKEN}, "own uid"),
        ({"token": "short", "same_uid": True}, "fewer than"),
        ({"token": TOKEN, "more": 1}, "boot file is wrong"),
        ({"token": TOKEN, "same_uid": True, "mounts": [{"source": "/", "target": "/x"}]}, "bwrap"),
        (b"{", "boot file is wrong"),
        (b"\xff\xfe", "boot file is wrong"),
        (b"[" * 100_000, "boot file is wrong"),
        (b'"' + b"x" * (5 * 1024 * 1024) + b'"', "larger than"),
    ],
)
def test_boot_file_that_is_wrong_starts_nothing(place: Path, boot: object, words: str) -> None:
    out, said = launched(place, boot).communicate(timeout=60)
    assert words in said and "Traceback" not in said
    assert TOKEN not in said + out
