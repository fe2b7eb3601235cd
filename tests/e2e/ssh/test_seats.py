"""A program of the whole screen over SSH, beside a page: one drives, and control is given both
ways."""

import json
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.e2e.ssh.client import SshClient
from tests.e2e.ssh.test_shells import newest
from tests.peers.api import Api

CONTROL_KEY = b"\x1d"


def state_of(page: ClientConnection, wanted: str) -> dict[str, Any]:
    """Read until a client whose id begins so drives."""
    while True:
        frame = page.recv(timeout=30)
        if isinstance(frame, str) and (said := json.loads(frame))["type"] == "control_state":
            driver = said.get("driver") or {}
            if str(driver.get("client", "")).startswith(wanted):
                return dict(said)


def test_vim_over_ssh_is_driven_by_one_at_a_time(ada: SshClient, box: str, calls: Api) -> None:
    if not calls.run(box, "command -v vim || true").strip():
        pytest.skip("no vim here")
    with ada.terminal(box, "vim -u NONE -i NONE note") as shell:
        shell.await_text(b"~")
        terminal = newest(calls, box)
        url = calls.attach_url(box, terminal).replace("http", "ws", 1) + "?client=page-1"
        with connect(url, additional_headers=calls.headers) as page:
            state_of(page, "ssh-")
            page.send(b"ipage-typed")
            page.send(json.dumps({"type": "request_control"}))
            state_of(page, "page-1")
            page.send(b"iby-page")
            shell.await_text(b"by-page")
            shell.type(CONTROL_KEY)
            state_of(page, "ssh-")
        shell.type(b" by-ssh\x1b:wq\r")
        assert shell.await_end() == 0
    assert calls.run(box, "cat note") == "by-page by-ssh\n"
