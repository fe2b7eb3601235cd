"""The list of threats, row by row: each is named in `attempts.toml` with tests that are there, and
what is not stopped is said in `docs/trust/security.md`. And attempts that have no other home."""

import os
import re
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from atoll.domain.terminals.search_pattern import read_pattern
from tests.peers.api import Api, until
from tests.places import TESTS
from tests.security.conftest import Walled

ROWS = tomllib.loads((TESTS / "security" / "attempts.toml").read_text())
NUMBERED = sorted(ROWS, key=int)
NUMBERS = (
    *(701, 702, 703, 704, 705),
    *(1, 2, 4, 6, 7, 11, 12, 14, 17, 19, 21, 22, 24, 26, 27, 29, 31, 32, 34, 37, 39, 41, 42),
    *(46, 47, 52, 54, 56, 57, 59, 61, 62, 64, 67, 68, 69, 72, 74, 76, 77, 78, 79, 81, 82, 84),
    *(86, 87, 89, 91, 92, 94, 96, 97, 99, 100, 101, 102, 104, 105, 106, 107, 109, 110, 111),
    *(112, 117, 119, 120, 121, 122, 124, 126, 127, 129, 130, 131, 132, 136, 137, 141),
    *(301, 302, 303),
    *(311, 312, 313, 314),
    *(401, 402, 403, 404, 405),
    *(601, 602, 603, 604, 605, 606, 607),
    *range(801, 819),
    *(830, 831),
    *(860, 861, 862),
    *range(871, 878),
    881,
    891,
    895,
    *(901, 902, 903, 905, 906, 907),
    *(930, 931),
    *(951, 952, 953),
    *(962, 963, 964, 965),
    *(996, 997, 998),
    999,
)
"""Of the list of threats Atoll is built against; some numbers are not taken. From 301 on: attempts
at pools of the whole machine; from 311 on: at the person's browser, checkout and disk; from 401 on:
at cores, the shared disk and Atoll's own folders; from 501 on: at the doors and the API; from 601
on: at the Docker wall; from 801 on: at promises that no number above stands for; from 901 on: at
tokens and logins."""

DOORS = (501, 502, 503, 504, 505, 506, 507, 508, 509)


def test_every_threat_of_the_list_has_its_row() -> None:
    assert sorted(map(int, ROWS)) == sorted((*NUMBERS, *DOORS))


@pytest.mark.parametrize("number", NUMBERED)
def test_row_names_tests_that_are_there(number: str) -> None:
    row = ROWS[number]
    assert row.keys() <= {"tried", "promises", "attempts", "tests", "why"}
    assert row["tests"], "a row without a test has not been tried"
    for node in row["tests"]:
        path, _colons, name = node.partition("::")
        assert re.search(rf"^\s*(async )?def {name}\(", (TESTS / path).read_text(), re.M), node


def test_what_is_not_stopped_is_said_in_the_document() -> None:
    text = (TESTS.parent / "docs" / "trust" / "security.md").read_text()
    for number, row in ROWS.items():
        if "why" in row:
            assert f"| {number} | {row['tried']} | {row['why']} |" in text


def test_search_pattern_is_never_an_expression() -> None:
    """Threat 120: whoever searches chooses the pattern, what runs inside the text."""
    for glob in (False, True):
        pattern = read_pattern("(a+)+$", glob=glob, match_case=True)
        assert pattern.find("a" * 100_000 + "b") is None
        assert pattern.find("so (a+)+$ it is") == (3, 9)


STEERING = {
    "LD_PRELOAD": "/workspace/steer.so",
    "BASH_ENV": "/workspace/steer.sh",
    "GIT_SSH_COMMAND": "/workspace/steer.sh",
    "GIT_CONFIG_GLOBAL": "/workspace/steer.cfg",
    "PYTHONSTARTUP": "/workspace/steer.py",
    "HTTPS_PROXY": "http://127.0.0.1:1/steer",
}


def test_variables_that_steer_programs_steer_only_those_inside(walled: Walled) -> None:
    """Threat 121: no process outside ever has them, init has them not either."""
    api = walled.api
    box = api.create(profile="attacked", env=STEERING)["sandbox_id"]
    try:
        assert "steer.sh" in api.run(box, "echo $GIT_SSH_COMMAND")
        api.run(box, "sleep 60 >/dev/null 2>&1 &")
        inside = namespace(api.box(box).runtime_pid)
        outside = [pid for pid in pids() if namespace(pid) == inside]
        assert outside, "the runtime's own, at least"
        assert not [pid for pid in outside if b"/workspace/steer" in environ(pid)]
        assert "0" in api.run(box, "grep -c steer /proc/1/environ 2>/dev/null || echo 0")
    finally:
        api.act(box, "destroy")
    for name in ("A=B", "X\n", "", "1X", "A B", "ß"):
        assert refused(api, {name: "x"}), name
    assert refused(api, {"NUL": "a\0b"})


OPEN_AGAIN = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.open(path, os.O_RDWR | os.O_NONBLOCK)
        print("opened", path)
    except OSError:
        pass
"""


def test_pipes_of_a_command_are_opened_by_nobody_else(walled: Walled) -> None:
    """Threat 2: anybody who had the name of such a pipe could open it, for its mode is 0666. Its
    only names lie below /proc, of processes that the kernel shows to their own uid alone."""
    api = walled.api
    first, second = (api.create(profile="attacked")["sandbox_id"] for _ in range(2))
    # Other runs on this machine have such a command, too.
    over = f"over-{os.getpid()}-"
    waits = f"touch began; n=0; until [ -e {over} ] || [ $n = 2000 ]; do"
    waits += " n=$((n + 1)); sleep 0.05; done"
    try:
        with ThreadPoolExecutor(1) as pool:
            command = pool.submit(api.run, first, f"{waits}; echo done")
            until(lambda: "began" in api.run(first, "ls"), bool)
            # Its first process: those that it forks end at once.
            inside = [min(pid for pid in pids() if over.encode() in words(pid))]
            names = [f"/proc/{pid}/fd/{end}" for pid in inside for end in (1, 2)]
            pipes = {target(Path(name)) for name in names}
            assert pipes and all(one.startswith("pipe:") for one in pipes)
            names += [
                str(one)
                for one in Path(f"/proc/{api.box(first).runtime_pid}/fd").iterdir()
                if target(one) in pipes
            ]
            if os.geteuid() == 0:
                assert {Path(name).stat().st_mode & 0o777 for name in names} == {0o666}
                own = {owner(api.box(first).runtime_pid), *map(owner, inside)}
                others = {65534, owner(api.box(second).runtime_pid), api.box(second).host_uid}
                for uid in others - own:
                    again = ["/usr/bin/python3", "-c", OPEN_AGAIN, *names]
                    tried = subprocess.run(
                        again, user=uid, group=uid, extra_groups=(), capture_output=True, text=True
                    )
                    assert (tried.returncode, tried.stdout) == (0, ""), tried
            seen = api.run(second, "ls -l /proc/[0-9]*/fd 2> /dev/null; true")
            assert "pipe:" in seen and not [one for one in pipes if one in seen]
            api.run(first, f"touch {over}")
            assert command.result(60) == "done\n"
    finally:
        for one in (first, second):
            api.act(one, "destroy")


def words(pid: int) -> bytes:
    """The command line of a process that runs in another pid namespace than ours."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
    return command if namespace(pid) not in ("", namespace(os.getpid())) else b""


def target(link: Path) -> str:
    """What a descriptor is; empty for one that is closed by now."""
    try:
        return str(link.readlink())
    except OSError:
        return ""


def owner(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def refused(api: Api, env: dict[str, str]) -> bool:
    answer = api.client.post("/v1/sandboxes", json={"profile": "attacked", "env": env})
    return answer.status_code == 422


def pids() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]


def namespace(pid: int) -> str:
    """The pid namespace of a process: inside a sandbox it is another."""
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
