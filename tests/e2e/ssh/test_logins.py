"""Who may log in: by a key of theirs to a sandbox of theirs; everybody else is refused alike."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.ssh.client import SshClient
from tests.peers.api import Api, until

REFUSED = b"Permission denied (publickey)."


@pytest.fixture(scope="module")
def stranger(ada: SshClient, tmp_path_factory: pytest.TempPathFactory) -> SshClient:
    """Somebody whose key nobody added."""
    return SshClient.made(ada.server, Path(tmp_path_factory.mktemp("stranger")))


def test_unknown_keys_and_unknown_names_look_alike(
    ada: SshClient, stranger: SshClient, box: str
) -> None:
    """The same words, and the same least time, whatever the cause."""
    for client, name in ((stranger, box), (stranger, "nothing"), (ada, "nothing")):
        began = time.monotonic()
        refused = client.run(name, "true")
        assert refused.returncode == 255
        assert REFUSED in refused.stderr, (name, refused.stderr)
        assert time.monotonic() - began >= 0.4


@pytest.mark.parametrize(
    "name", ["box;id", "box\n", "-oProxyCommand=id", "b" * 1000, "../box", "box\u202e", "*"]
)
def test_names_that_no_sandbox_has_are_refused(ada: SshClient, name: str) -> None:
    words = [*ada.words(), "-l", name, "gateway", "true"]
    refused = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert refused.returncode == 255
    assert b"uid=" not in refused.stdout + refused.stderr


def test_a_removed_key_ends_its_connections(
    ada: SshClient, box: str, calls: Api, tmp_path: Path
) -> None:
    second = SshClient.made(ada.server, tmp_path, "second")
    added = calls.call("POST", "/v1/ssh/keys", json={"key": second.public, "name": "old"})
    with second.terminal(box) as shell:
        shell.type(b"echo in-$((20+1))\r")
        shell.await_text(b"in-21")
        began = time.monotonic()
        calls.call("DELETE", f"/v1/ssh/keys/{added['key_id']}")
        assert shell.await_end() == 255
        assert time.monotonic() - began < 30
    assert REFUSED in second.run(box, "true").stderr


def test_the_log_says_who_came_from_where(ada: SshClient, box: str, calls: Api) -> None:
    with ada.terminal(box, "true") as shell:
        shell.await_end()
    sandbox = calls.sandbox(box)["sandbox_id"]

    def of_ssh() -> list[dict[str, object]]:
        return [each for each in calls.events(sandbox) if each["event_type"].startswith("ssh.")]

    found = until(of_ssh, lambda seen: any(each["event_type"] == "ssh.closed" for each in seen))
    opened = next(each for each in found if each["event_type"] == "ssh.opened")
    assert opened["payload"]["from"] == "127.0.0.1"  # type: ignore[index]
    assert str(opened["payload"]["fingerprint"]).startswith("SHA256:")  # type: ignore[index]


def test_a_sandbox_that_sleeps_wakes_at_a_login(ada: SshClient, calls: Api) -> None:
    made = calls.create(name="sleeper")
    calls.call("POST", f"/v1/sandboxes/{made['sandbox_id']}/sleep")
    until(lambda: calls.sandbox("sleeper"), lambda seen: seen["state"] == "stopped")
    with ada.terminal("sleeper", "echo woke-$((30+1))") as shell:
        shell.await_text(b"woke-31")
        assert shell.await_end() == 0
    calls.act(made["sandbox_id"], "destroy")


def test_a_create_says_how_to_log_in(ada: SshClient, box: str, calls: Api) -> None:
    told = calls.sandbox(box)
    ssh = told["reachability"]["ssh"]
    assert (ssh["host"], ssh["port"], ssh["user"]) == ("127.0.0.1", ada.port, told["sandbox_id"])
    assert ssh["command"] == f"ssh -p {ada.port} {told['sandbox_id']}@127.0.0.1"
    assert ssh["fingerprint"].startswith("SHA256:")
    assert ada.run(ssh["user"], "echo in").stdout == b"in\n"


def test_atoll_ssh_needs_no_port(ada: SshClient, box: str, tmp_path: Path) -> None:
    """`atoll ssh NAME` goes through the server, by a certificate of its own."""
    told = ada.server.run(
        "ssh",
        box,
        "echo through; exit 4",
        env={**os.environ, "HOME": str(tmp_path), "ATOLL_HOME": str(ada.server.home)},
    )
    assert (told.stdout, told.returncode) == ("through\n", 4), told.stderr
