"""The red team's attempts where there is no wall: each that a row names succeeds, else it would
prove nothing where it is held."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.redteam import outside
from atoll.testing.redteam.outside import Canaries
from atoll.testing.redteam.pack import archive
from atoll.testing.redteam.target import AttackResponse, AttackTarget
from tests.claims import claim_far_uid, whole_machine
from tests.security.redteam.test_redteam import ATTEMPTED

NOBODY = claim_far_uid()
OPEN_WORLD = Path(__file__).with_name("open_world.py")
NAMESPACES = ("--mount", "--net", "--pid", "--fork", "--ipc", "--uts", "--mount-proc")
HUNTS = {f"find a secret in {place}" for place in ("environments", "memory", "files")}
"""Succeed in `test_redteam.py::test_secret_that_was_let_in_is_found_in_every_place`."""

HARMFUL = {"make denied system calls"}
"""Root must not try them here; an ordinary user behind no wall does, and succeeds."""

BITES = {
    *("hold capabilities, or a way to privilege", "make denied system calls"),
    *("open sockets past the network namespace", "type into a terminal by ioctl"),
    *("leave without a door", "take the doors' ports"),
}
"""Attempts that succeed for anybody who is behind no wall."""


@pytest.fixture
def program() -> Iterator[Path]:
    """The program for inside, in a folder that anybody may enter."""
    with tempfile.TemporaryDirectory(prefix="at", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "inside.pyz")
        path.write_bytes(archive({"mode": "limited"}))
        yield path


def outcomes(argv: list[str], **more: Any) -> dict[str, dict[str, str]]:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stderr
    return {one["name"]: one for one in map(json.loads, done.stdout.splitlines())}


def test_attempts_of_anybody_succeed_without_a_wall(program: Path) -> None:
    drop = {"user": NOBODY, "group": NOBODY, "extra_groups": ()} if os.geteuid() == 0 else {}
    env = {"HOME": str(program.parent)}
    with whole_machine():
        told = outcomes(["/usr/bin/python3", str(program)], env=env, **drop)
    assert {name for name, one in told.items() if one["outcome"] == "succeeded"} >= BITES
    assert BITES >= HARMFUL
    doors = [one for one in told.values() if "nothing listens" in one["text"]]
    assert len(doors) >= 5 and all(one["outcome"] == "skipped" for one in doors)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_every_attempt_inside_that_a_row_names_succeeds_in_an_open_world(program: Path) -> None:
    argv = ["unshare", *NAMESPACES, sys.executable, str(OPEN_WORLD), str(program)]
    with whole_machine():
        told = outcomes(argv, timeout=100)
    named = {name for names in ATTEMPTED.values() for name in names}
    inside = named - HUNTS - HARMFUL - {name for _number, name, _act in outside.ATTEMPTS}
    failed = {name: told.get(name) for name in inside if not succeeded(told.get(name))}
    assert not failed
    assert len(inside) > 25


def succeeded(one: Mapping[str, str] | None) -> bool:
    return one is not None and one["outcome"] == "succeeded"


CANARIES = Canaries("RT_KEPT", "canary-kept-9Xw2", "RT_SHOWN", "canary-shown-4Tq7")
HOST = "atoll-redteam.example.com"
SAYS_YES = {
    "approvals": [{"approval_id": "ap_1", "digest": "d", "host": HOST}],
    "cols": 65535,
    "rows": 65535,
    "entries": [CANARIES.kept],
    "exit_code": 0,
    "stdout": base64.b64encode(b"y" * 70_000).decode(),
    "detail": "Traceback (most recent call last):",
    "terminal_id": "t_1",
}
ODD = b'{"name": "\x1b[31mred"}'
"""A list as it would be if names came out as they are."""


@dataclass(frozen=True, slots=True)
class Yielding(AttackTarget):
    """A server that grants everything to everybody, and tells all it knows."""

    url: str = "http://127.0.0.1:9"
    token: str = "t"
    sandbox: str = "sb_1"
    heard: list[bytes] = field(default_factory=list)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        seconds: float = 0,
    ) -> AttackResponse:
        self.responses.append(json.dumps(SAYS_YES).encode())
        return AttackResponse(200, ODD if "rt/odd" in path else self.responses[-1])

    def run(self, *argv: str, timeout: float = 0) -> str:
        return f"domain_not_approved {CANARIES.exposed}"

    def raw(self, said: bytes) -> AttackResponse:
        return AttackResponse(200, b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("name", "act"), [(name, act) for _number, name, act in outside.ATTEMPTS], ids=str
)
def test_attempt_over_the_api_succeeds_at_a_server_that_grants_all(
    name: str, act: outside.Try
) -> None:
    target = Yielding()
    target.ask("GET", "/v1/events")
    assert act(target, CANARIES), name
