"""The command line of a powerful person in a home whose control plane is hostile."""

import json
import os
from pathlib import Path

import pytest

from atoll.client.server import find_server
from atoll.domain.errors import AtollError

CANARY = "canary-of-the-person"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    note = {"url": "http://127.0.0.1:9", "pid": 1}
    (tmp_path / "run" / "control.json").write_text(json.dumps(note))
    (tmp_path / "token").write_text("t" * 43 + "\n")
    (tmp_path / "token").chmod(0o600)
    return tmp_path


def test_token_that_is_a_plain_private_file_is_used(home: Path) -> None:
    assert find_server({"ATOLL_HOME": str(home)}).token == "t" * 43


@pytest.mark.parametrize("trap", ["link", "hard link", "pipe", "folder", "open", "bytes"])
def test_token_that_is_something_else_is_never_sent(home: Path, trap: str) -> None:
    secret, token = home / "secret", home / "token"
    secret.write_text(CANARY)
    secret.chmod(0o600)
    token.unlink()
    match trap:
        case "link":
            token.symlink_to(secret)
        case "hard link":
            os.link(secret, token)
        case "pipe":
            os.mkfifo(token, 0o600)
        case "folder":
            token.mkdir(mode=0o700)
        case "open":
            token.write_text(CANARY)
            token.chmod(0o644)
        case _:
            token.write_bytes(b"\xff" + CANARY.encode())
            token.chmod(0o600)
    with pytest.raises(AtollError) as refused:
        find_server({"ATOLL_HOME": str(home)})
    assert CANARY not in refused.value.message


@pytest.mark.parametrize("trap", ["link", "pipe"])
def test_address_that_is_something_else_is_not_waited_for(home: Path, trap: str) -> None:
    note = home / "run" / "control.json"
    note.unlink()
    if trap == "pipe":
        os.mkfifo(note)
    else:
        note.symlink_to("/dev/zero")
    with pytest.raises(AtollError):
        find_server({"ATOLL_HOME": str(home)})
