"""A shell over SSH is a terminal of the sandbox: on the page, under turns, with its exit."""

import json
import os
import signal
from typing import Any

from websockets.sync.client import connect

from tests.e2e.ssh.client import SshClient
from tests.peers.api import Api, until


def newest(calls: Api, box: str) -> str:
    """The terminal that was opened last."""
    terminals = calls.call("GET", f"/v1/sandboxes/{box}/terminals")["terminals"]
    running = [each for each in terminals if each["state"] == "running"]
    return str(max(running, key=lambda each: each["started_at"])["terminal_id"])


def test_a_shell_types_resizes_and_exits(ada: SshClient, box: str) -> None:
    with ada.terminal(box) as shell:
        shell.type(b"echo here-$((40+2)) $TERM; stty size\r")
        shell.await_text(b"here-42")
        shell.await_text(b"24 80")
        shell.type(b"sh -c 'echo begun-$((3+3)); exec sleep 1000'\r")
        shell.await_text(b"begun-6")
        shell.type(b"\x03")
        shell.type(b"exit 7\r")
        assert shell.await_end() == 7


def test_a_command_at_a_terminal_ends_as_it_ends(ada: SshClient, box: str) -> None:
    with ada.terminal(box, "tty; exit 3") as shell:
        shell.await_text(b"/dev/pts/")
        assert shell.await_end() == 3


def test_others_watch_it_and_one_drives(ada: SshClient, box: str, calls: Api) -> None:
    """Two clients at one terminal: what one types the other sees, and `attach` joins it."""
    with ada.terminal(box) as first:
        first.type(b"echo first-$((1+1))\r")
        first.await_text(b"first-2")
        terminal = newest(calls, box)
        with ada.terminal(box, "attach", terminal) as second:
            second.await_text(b"first-2")
            first.type(b"echo both-$((2+2))\r")
            second.await_text(b"both-4")
            # One person's two clients: the second asks for control by typing the key for it.
            second.type(b"\x1d")
            first.await_text(b" drives")
            second.type(b"echo third-$((3+3))\r")
            first.await_text(b"third-6")
            second.type(b"exit\r")
            assert second.await_end() == 0
        assert first.await_end() == 0


def test_a_terminal_lives_on_when_its_client_is_killed(
    ada: SshClient, box: str, calls: Api
) -> None:
    with ada.terminal(box) as shell:
        shell.type(b"stty -echo; echo kept-$((5+5)); sleep 3000\r")
        shell.await_text(b"kept-10")
    terminal = newest(calls, box)
    with ada.terminal(box, "attach", terminal) as again:
        again.await_text(b"kept-10")
    calls.call("DELETE", f"/v1/sandboxes/{box}/terminals/{terminal}")


def test_it_survives_a_kill_of_the_control_plane(ada: SshClient, box: str, calls: Api) -> None:
    """What is open does not notice; a new login waits for the next control plane."""
    with ada.terminal(box) as shell:
        shell.type(b"echo before-$((6+6))\r")
        shell.await_text(b"before-12")
        ada.server.kill()
        shell.type(b"echo during-$((7+7))\r")
        shell.await_text(b"during-14")
        with ada.terminal(box, "echo waited-$((8+8))") as waiting:
            ada.server.start(port=None)
            waiting.await_text(b"waited-16")
            assert waiting.await_end() == 0
        shell.type(b"exit\r")
        assert shell.await_end() == 0
    calls.client.base_url = ada.server.url


def test_a_killed_gateway_is_back_and_its_terminals_live(
    ada: SshClient, box: str, calls: Api
) -> None:
    with ada.terminal(box) as shell:
        shell.type(b"echo alive-$((9+9))\r")
        shell.await_text(b"alive-18")
        old = ada.gateway_pid
        os.kill(old, signal.SIGKILL)
        shell.await_end()
    until(lambda: ada.gateway_pid, lambda pid: pid != old)
    terminal = newest(calls, box)
    with ada.terminal(box, "attach", terminal) as again:
        again.await_text(b"alive-18")
        again.type(b"exit\r")
        assert again.await_end() == 0


def test_what_is_typed_over_ssh_shows_on_the_page(ada: SshClient, box: str, calls: Api) -> None:
    """A page attaches as any client of the terminal, and reads who is there."""
    with ada.terminal(box) as shell:
        shell.type(b"echo shown-$((10+10))\r")
        shell.await_text(b"shown-20")
        terminal = newest(calls, box)
        url = calls.attach_url(box, terminal).replace("http", "ws", 1)
        seen = b""
        states: list[dict[str, Any]] = []
        with connect(url, additional_headers=calls.headers) as page:
            while b"shown-20" not in seen or not states:
                frame = page.recv(timeout=30)
                if isinstance(frame, bytes):
                    seen += frame
                elif (said := json.loads(frame))["type"] == "control_state":
                    states.append(said)
        assert len(states[-1]["watchers"]) == 2
        assert states[-1]["driver"]["client"].startswith("ssh-")
        shell.type(b"exit\r")
        assert shell.await_end() == 0
