"""`atoll new` beyond its first words: presets, several repositories, folders, and questions."""

import base64
import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from atoll.domain.repository.requirement import MARKS
from tests.surfaces.cli.commands.terminals.test_attach import person_tty
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, sandbox


def asked(server: Scripted) -> Any:
    """The last request, without the fields that each has."""
    request = dict(server.requests("POST", "/v1/sandboxes")[-1].json)
    del request["consumer"]
    return request


def test_new_with_folders_asks_for_them(cli: Cli, server: Scripted) -> None:
    ran = cli("new", "o/r", "--wd", "a/b", "--sparse", "a", "--sparse", "docs", "--detach")
    assert ran.code == 0
    request = asked(server)
    assert request["cwd"] == "a/b"
    assert request["repos"] == [{"repo_url": "https://github.com/o/r", "sparse": ["a", "docs"]}]


def test_new_sparse_without_a_repository_is_a_usage_error(cli: Cli, server: Scripted) -> None:
    assert cli("new", "--sparse", "a", "--detach").code == 2
    assert server.seen == []


def test_new_with_several_repositories_gives_them_the_first_ones_branch(
    cli: Cli, server: Scripted
) -> None:
    words = ("--repo", "o/lib", "--repo", "o/docs#gh:main", "--detach")
    assert cli("new", "o/app", "fix", *words).code == 0
    assert asked(server)["repos"] == [
        {"repo_url": "https://github.com/o/app", "branch": "fix"},
        {"repo_url": "https://github.com/o/lib", "branch": "fix"},
        {"repo_url": "https://github.com/o/docs", "branch": "gh", "from_branch": "main"},
    ]


def test_new_preset_is_kept_private_and_overridden_by_what_is_said(
    cli: Cli, server: Scripted, environ: dict[str, str]
) -> None:
    words = ("--agent", "codex", "--ttl", "2h", "--env", "TOKEN=s3cret", "--wd", "src")
    assert cli("new", "o/r", *words, "--save-as", "work", "--detach").code == 0
    kept = Path(environ["ATOLL_HOME"]) / "presets.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert cli("new", "--preset", "work", "--agent", "aider", "--detach").code == 0
    assert asked(server) == {
        "profile": "shell",
        "agent": "aider",
        "ttl": "2h",
        "env": {"TOKEN": "s3cret"},
        "cwd": "src",
        "repos": [{"repo_url": "https://github.com/o/r"}],
    }


def test_new_last_asks_for_the_same_again(cli: Cli, server: Scripted) -> None:
    assert cli("new", "--last", "--detach").code == 3
    assert cli("new", "o/r", "fix", "--profile", "python", "--detach").code == 0
    first = asked(server)
    assert cli("new", "--last", "--detach").code == 0
    assert asked(server) == first
    assert cli("new", "--detach").code == 0
    assert cli("new", "--last", "--detach").code == 0
    assert asked(server) == {"profile": "shell"}


def test_new_unknown_preset_names_those_there_are(cli: Cli, server: Scripted) -> None:
    cli("new", "o/r", "--save-as", "work", "--detach")
    ran = cli("new", "--preset", "wrok", "--detach")
    assert ran.code == 3
    assert "work" in ran.err
    assert cli("new", "--preset", "work", "--last", "--detach").code == 2


@pytest.mark.parametrize("name", ["", "../x", "A", "x" * 41, "a b"])
def test_new_preset_of_an_odd_name_is_refused(cli: Cli, server: Scripted, name: str) -> None:
    assert cli("new", "o/r", "--save-as", name, "--detach").code == 2
    assert not server.requests("POST", "/v1/sandboxes")


def test_new_preset_of_a_checkout_works_from_any_folder(
    cli: Cli, server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout(tmp_path / "tree")
    monkeypatch.chdir(tmp_path / "tree")
    cli("new", ".", "--repo", "./sub#b", "--save-as", "here", "--detach")
    presets = json.loads((tmp_path / "presets.json").read_bytes())["presets"]
    assert presets["here"]["repo"] == str(tmp_path / "tree")
    assert presets["here"]["also"] == [f"{tmp_path / 'tree' / 'sub'}#b"]


def checkout(folder: Path) -> None:
    git = ["git", "-C", str(folder), "-c", "user.name=T", "-c", "user.email=t@e.invalid"]
    folder.mkdir()
    subprocess.run([*git, "init", "-qb", "main"], check=True)
    (folder / "sub").mkdir()
    (folder / "sub" / "a").touch()
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "a"], check=True)


def test_new_says_which_tools_the_repository_wants(cli: Cli, server: Scripted) -> None:
    numbers = {program: n for n, (_, program) in reversed(list(enumerate(MARKS)))}
    said = f"{numbers['node']} there\n{numbers['cargo']} absent\n\x1b[2J\n".encode()
    told = {"exit_code": 0, "stdout": base64.b64encode(said).decode(), "stderr": ""}
    repo = {"repo_url": "https://github.com/o/r", "path": "/workspace"}
    server.answers["POST /v1/sandboxes"] = lambda _: web.json_response(
        server.add("box", repos=[repo])
    )
    server.answers["POST /v1/sandboxes/sb_box/exec"] = lambda _: web.json_response(told)
    ran = cli("new", "o/r", "--detach")
    assert (ran.code, ran.out) == (0, "box\n")
    assert (
        "/workspace seems to need node (package.json), cargo (Cargo.toml: not in this sandbox)"
        in (ran.err)
    )


def test_attach_at_a_terminal_asks_which_of_several(
    server: Scripted, environ: dict[str, str]
) -> None:
    server.add("one")
    server.add("two")
    with person_tty(environ, "attach") as tty:
        seen = tty.expect(b"Which one [1]: ")
        number = 1 + [b"one" in row for row in seen.splitlines()].index(True)
        tty.type(b"%d\n" % number)
        server.tape.attached.get(timeout=30)
        assert any("/v1/sandboxes/sb_one/terminals" in one.path for one in server.seen)


def test_destroy_at_a_terminal_asks_which(
    cli: Cli, server: Scripted, environ: dict[str, str]
) -> None:
    assert cli("destroy", "--yes").code == 2
    for name in ("one", "two", "three"):
        server.add(name)
    with person_tty(environ, "destroy", "--yes") as tty:
        tty.expect(b"numbers): ")
        tty.type(b"4 1\n")
        tty.expect(b"from 1 to 3")
        tty.type(b"1 3\n")
        assert tty.ends() == 0
    assert len([one for one in server.seen if one.path.endswith("/destroy")]) == 2


def test_new_at_a_terminal_with_nothing_to_choose_asks_nothing(
    server: Scripted, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with person_tty(environ, "new"):
        server.tape.attached.get(timeout=30)
    assert "repos" not in asked(server)


def test_new_at_a_terminal_asks_for_this_folders_repository(
    server: Scripted, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout(tmp_path / "tree")
    monkeypatch.chdir(tmp_path / "tree")
    with person_tty(environ, "new") as tty:
        tty.expect(b"What to work on [1]: ")
        tty.type(b"2\n")
        server.tape.attached.get(timeout=30)
    assert "repos" not in asked(server)


GRANTS: list[tuple[int, str, int]] = [
    (202, "2100-01-01T00:00:00.000Z", 1),
    (202, "2026-01-01T00:00:00.000Z", 0),
    (409, "", 0),
    (422, "", 0),
    (503, "", 1),
]


@pytest.mark.parametrize(("status", "created_at", "kept"), GRANTS)
def test_grant_of_a_mount_stays_with_a_sandbox_that_has_it(
    cli: Cli,
    server: Scripted,
    environ: dict[str, str],
    tmp_path: Path,
    status: int,
    created_at: str,
    kept: int,
) -> None:
    running = tmp_path / "run" / "control.json"
    running.parent.mkdir()
    running.write_text(json.dumps({"url": environ.pop("ATOLL_URL")}))
    (tmp_path / "data").mkdir()
    refusal = {"status": status, "code": "x", "title": "x", "detail": "No."}
    answer = sandbox("box", created_at=created_at) if created_at else refusal
    server.answers["POST /v1/sandboxes"] = lambda _: web.json_response(answer, status=status)
    ran = cli("new", "--mount", f"{tmp_path / 'data'}:/data", "--no-wait")
    assert (ran.code == 0) is bool(created_at), ran.err
    assert len(list((tmp_path / "grants").iterdir())) == kept
