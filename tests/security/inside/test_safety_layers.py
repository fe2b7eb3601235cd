"""The six safety layers in a real sandbox: what each does, and what it is not relied on for."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.boxed import inside, make_box

PROFILE = """
id: profile.guarded
version: "1.0.0"
extension: ext.namespaces
safety:
  shell: true
  operator: [[git, push]]
  sudo: [[echo, a b], [apt-get, install, -y, jq]]
"""
SHIMS = "/opt/atoll/agents/.safety"


@pytest.fixture(scope="module")
def atoll() -> Iterator[TestServer]:
    with test_server() as server:
        make_box(server, PROFILE, "plain")
        yield server


class _Unix(HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("runtime")
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


class Person:
    """Decides at the runtime, as the control plane does for a person."""

    def __init__(self, atoll: TestServer) -> None:
        listed = json.loads(atoll.run("info", "box", "--json").stdout)
        self._socket = atoll.home / "run" / "b" / listed["sandbox_id"] / "rt.sock"

    def call(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        with contextlib.closing(_Unix(self._socket)) as link:
            link.request(method, path, body)
            answer = link.getresponse()
            return answer.status, answer.read()

    def waiting(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.call("GET", "/asks")[1])["asks"]
        return found

    def decides(self, decision: str) -> dict[str, object]:
        """Answers the first ask that comes; returns it."""
        give_up = time.monotonic() + 30
        while not (asks := self.waiting()):
            assert time.monotonic() < give_up
        body = json.dumps({"decision": decision})
        assert self.call("POST", f"/asks/{asks[0]['ask_id']}", body)[0] == 204
        return asks[0]


def test_layer_1_shell_warns_and_anything_passes_it_by(atoll: TestServer) -> None:
    lines = ("rm -rf /", "git push --force", "chmod -R 777 /workspace", "git reset --hard")
    asked = "; ".join(f"{line}; echo $?" for line in lines)
    for shell in (["bash", "-c", asked], ["sh", "-c", f'echo "{asked}" | bash -i']):
        _, out, said = inside(atoll, *shell)
        assert said.count("was not run") == len(lines), said
        assert out.split() == ["1"] * len(lines) or shell[0] == "sh"
    ways = ("/bin/rm", "command rm", "env rm", "python3 -c 'import shutil;shutil.rmtree(\"d\")'")
    passed = "; ".join(f"mkdir -p d/e; {way} -rf d; ls -d d" for way in ways)
    assert inside(atoll, "bash", "-c", f"cd /tmp; {passed}")[1] == ""


@pytest.mark.parametrize(("decision", "code", "out"), [("allow", 7, "/tmp\n"), ("deny", 1, "")])
def test_layer_3_runs_what_was_shown_once_a_person_says_yes(
    atoll: TestServer, decision: str, code: int, out: str
) -> None:
    ended: list[tuple[int, str, str]] = []
    command = "cd /tmp; operator-approve -- sh -c 'pwd; exit 7'"
    asker = threading.Thread(target=lambda: ended.append(inside(atoll, "sh", "-c", command)))
    asker.start()
    asked = Person(atoll).decides(decision)
    asker.join()
    assert asked["subject"] == {"argv": ["sh", "-c", "pwd; exit 7"], "cwd": "/tmp"}
    assert ended[0][:2] == (code, out)


def test_layer_3_asks_by_itself_for_the_profiles_commands_only(atoll: TestServer) -> None:
    assert inside(atoll, "git", "--version")[0] == 0
    ended: list[tuple[int, str, str]] = []
    push = ("git", "-C", "/workspace", "push", "origin")
    asker = threading.Thread(target=lambda: ended.append(inside(atoll, *push)))
    asker.start()
    assert Person(atoll).decides("deny")["subject"] == {"argv": [*push], "cwd": "/workspace"}
    asker.join()
    assert ended[0][0] == 1
    assert "a person denied it" in ended[0][2]


def test_layer_3_cannot_be_answered_from_inside(atoll: TestServer) -> None:
    script = """
import json, socket, sys
seen = []
for port in (3128, 8082):
    for line in ("GET /asks", "POST /asks/ask_00000000000000000000", "POST /atoll/decide"):
        with socket.create_connection(("127.0.0.1", port), 5) as door:
            body = '{"decision":"allow"}'
            door.sendall(f"{line} HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n"
                         f"Content-Length: {len(body)}\\r\\n\\r\\n{body}".encode())
            seen.append(int(door.recv(4096).split()[1]))
print(json.dumps(seen))
"""
    code, out, said = inside(atoll, "python3", "-c", script)
    assert code == 0, said
    assert all(status >= 400 for status in json.loads(out))


def test_layer_4_takes_exact_words_and_gives_no_privilege(atoll: TestServer) -> None:
    assert inside(atoll, "sudo", "echo", "a b")[:2] == (0, "a b\n")
    others = (
        ("echo", "a", "b"), ("echo", "a b", "c"), ("echo", "a b;id"), ("echo", "a b\nid"),
        ("echo", "*"), ("/bin/echo", "a b"), ("-n", "echo", "a b"), ("-u", "root", "id"),
        ("apt-get", "install", "-y", "--option=x", "jq"), ("apt-get", "install", "-y", "jq vim"),
        ("sh",),
    )  # fmt: skip
    script = "import json,subprocess,sys\nfor words in json.loads(sys.argv[1]):\n  "
    script += "print(subprocess.run(['sudo', *words]).returncode)"
    _, out, said = inside(atoll, "python3", "-c", script, json.dumps(others))
    assert out.split() == ["1"] * len(others)
    assert said.count("not word for word") == len(others)
    code, _, said = inside(atoll, "sudo", "apt-get", "install", "-y", "jq")
    # The root is read-only for everybody, which apt puts down to who one is.
    assert (code, "are you root?" in said) == (100, True)


def test_layer_4_shims_and_their_path_cannot_be_changed(atoll: TestServer) -> None:
    lines = (
        f"echo x > {SHIMS}/bin/sudo",
        f"rm {SHIMS}/bin/git",
        f"mv {SHIMS} /tmp/x",
        "echo 'agent ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/x",
        "echo x > /etc/profile.d/x.sh",
        f"mount -o remount,rw {SHIMS}",
        "LD_PRELOAD=/tmp/x.so sudo sh -c true",
    )
    tried = "; ".join(f"({line}) 2>/dev/null && echo passed" for line in lines)
    assert inside(atoll, "sh", "-c", tried)[1] == ""


def test_layer_6_deleting_everything_harms_nothing_of_the_system(atoll: TestServer) -> None:
    before = inside(atoll, "sh", "-c", "ls /usr/bin | wc -l")[1]
    inside(atoll, "/bin/rm", "-rf", "--no-preserve-root", "/usr/bin", "/etc", "/opt")
    assert inside(atoll, "sh", "-c", "ls /usr/bin | wc -l")[1] == before
    assert inside(atoll, "cat", "/etc/passwd")[0] == 0
    assert Path("/usr/bin/env").exists()


def test_doctor_tells_the_layers_of_each_sandbox(atoll: TestServer) -> None:
    told = json.loads(atoll.run("doctor", "box", "--json").stdout)["layers"]
    assert [(one["number"], one["in_force"]) for one in told] == [
        (1, True), (2, True), (3, True), (4, True), (5, True), (6, True),
    ]  # fmt: skip
    assert [one["number"] for one in told if one["bypassable"]] == [1, 3]
    wall = json.loads(atoll.run("doctor", "box", "--json").stdout)["wall"]
    assert [(one["name"], one["in_force"]) for one in wall] == [
        ("wall", True), ("system calls", True),
    ]  # fmt: skip
    plain = json.loads(atoll.run("doctor", "plain", "--json").stdout)["layers"]
    assert [one["number"] for one in plain if not one["in_force"]] == [1, 3, 4]
    assert (
        inside(atoll, "sh", "-c", "command -v sudo operator-approve", name="plain")[1].count(
            ".safety"
        )
        == 0
    )
