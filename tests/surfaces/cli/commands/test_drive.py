"""`atoll drive`: what is sent, and names of others without control characters."""

from typing import Any

from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted

FILE: dict[str, Any] = {
    "id": "1XyZ", "name": "Pl\x1b[2Jan", "folder": False, "media_type": "x", "size": None,
    "modified_at": None, "forms": ["md", "pdf"], "importable": True,
}  # fmt: skip
ENTRY = {
    "name": "a", "path": "docs/a.md", "type": "file", "size": 4300, "mode": "0644",
    "mtime": "2026-01-02T00:00:00Z",
}  # fmt: skip


def answer(server: Scripted, route: str, value: object, status: int = 200) -> None:
    server.answers[route] = lambda _seen: web.json_response(value, status=status)


def test_connect_says_where_and_disconnect_what_is_left(cli: Cli, server: Scripted) -> None:
    drive = {"available": True, "account": None, "connected_at": None}
    answer(server, "GET /v1/drive", drive)
    assert "/#/secrets" in cli("drive", "connect").out
    answer(server, "GET /v1/drive", drive | {"account": "a\x1b[2J@b"})
    assert (
        cli("drive", "connect").out.startswith("connected: a")
        and "\x1b" not in cli("drive", "connect").out
    )
    answer(server, "GET /v1/drive", drive | {"available": False})
    ran = cli("drive", "connect")
    assert ran.code != 0 and "drive_client_id" in ran.err
    answer(server, "DELETE /v1/drive/connection", {"revoked": False})
    ran = cli("drive", "disconnect")
    assert ran.out == "disconnected\n" and "end the consent" in ran.err


def test_list_follows_pages_and_shows_ids(cli: Cli, server: Scripted) -> None:
    pages = iter(({"files": [FILE], "next": "n"}, {"files": [FILE | {"size": 3}], "next": None}))
    server.answers["GET /v1/drive/files"] = lambda _seen: web.json_response(next(pages))
    ran = cli("drive", "ls", "1AbC")
    assert ran.code == 0, ran.err
    assert ran.out.count("1XyZ") == 2 and "md/pdf" in ran.out and "\x1b" not in ran.out


def test_files_come_and_go_as_asked(cli: Cli, server: Scripted) -> None:
    server.add("box")
    answer(server, "POST /v1/sandboxes/box/drive/import", ENTRY, 201)
    answer(server, "POST /v1/sandboxes/box/drive/export", FILE, 201)
    ran = cli("drive", "import", "box", "1XyZ", "docs/", "--as", "md", "--replace")
    assert ran.out == "docs/a.md (4.2 KiB)\n", ran.err
    ran = cli("drive", "export", "box", "r.pdf", "--name", "R", "--file", "1Q", "--with-secrets")
    assert ran.out.endswith("is at Drive: 1XyZ\n") and "\x1b" not in ran.out
    (brought,) = server.requests("POST", "/v1/sandboxes/box/drive/import")
    assert brought.json == {"file": "1XyZ", "path": "docs/", "replace": True, "form": "md"}
    (sent,) = server.requests("POST", "/v1/sandboxes/box/drive/export")
    assert sent.json == {
        "path": "r.pdf", "folder": "root", "name": "R", "file": "1Q", "secrets": "allow",
    }  # fmt: skip
