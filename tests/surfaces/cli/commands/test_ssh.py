"""SSH keys at the command line: which file is sent, and what is shown."""

from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli.commands.people.test_token import answers
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

LINE = "ssh-ed25519 AAAA ada@laptop\n"


def key(**more: Any) -> dict[str, Any]:
    shown = {
        "key_id": "key_1",
        "name": "ada@laptop",
        "kind": "ssh-ed25519",
        "fingerprint": "SHA256:a",
        "added_at": "2026-01-01T00:00:00Z",
        "used_at": None,
    }
    return {**shown, **more}


def test_add_sends_the_file_or_the_key_of_the_home(
    cli: Cli, server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(server, "POST /v1/ssh/keys", key(), 201)
    monkeypatch.setenv("HOME", str(tmp_path))
    none = cli("ssh", "key", "add")
    assert none.code != 0 and "ssh-keygen -t ed25519" in none.err
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/id_ed25519.pub").write_text(LINE)
    assert cli("ssh", "key", "add").out == "key_1  SHA256:a  ada@laptop\n"
    (tmp_path / "other.pub").write_text("ssh-rsa BBBB\n")
    assert cli("ssh", "key", "add", str(tmp_path / "other.pub"), "--name", "old").code == 0
    sent = [seen.json for seen in server.requests("POST", "/v1/ssh/keys")]
    assert sent == [{"key": LINE}, {"key": "ssh-rsa BBBB\n", "name": "old"}]


def test_list_escapes_names_and_rm_takes_a_name(cli: Cli, server: Scripted) -> None:
    answers(server, "GET /v1/ssh/keys", {"keys": [key(name="a\x1b[2Jb"), key(key_id="key_2")]})
    listed = cli("ssh", "key", "list")
    assert listed.code == 0 and "\x1b[2J" not in listed.out and "never" in listed.out
    answers(server, "DELETE /v1/ssh/keys/key_2", None, 204)
    assert cli("ssh", "key", "rm", "ada@laptop", "--yes").code == 0
    assert len(server.requests("DELETE", "/v1/ssh/keys/key_2")) == 1
    answers(server, "GET /v1/ssh/keys", {"keys": []})
    assert "atoll ssh key add" in cli("ssh", "key", "list").err
