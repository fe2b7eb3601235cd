"""`atoll open --edit`: what a person typed is written back, or stays and is named."""

import signal
import tempfile
from pathlib import Path

import pytest
from aiohttp import web

from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, problem

PUT = "PUT /v1/sandboxes/box/files/content"
GET = "GET /v1/sandboxes/box/files/content"


@pytest.fixture
def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies are made."""
    folder = tmp_path / "drafts"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(autouse=True)
def notes(server: Scripted, environ: dict[str, str], tmp_path: Path, drafts: Path) -> None:
    server.add("box")
    server.files["notes"] = b"one\n"
    environ["EDITOR"] = str(tmp_path / "editor")
    edit_by(tmp_path, 'echo two >> "$1"')


def edit_by(folder: Path, script: str) -> None:
    """Have this editor."""
    editor = folder / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)


def drafts_left(drafts: Path) -> list[Path]:
    """What lies here after all is over."""
    return [path for path in drafts.rglob("*") if path.is_file()]


def test_edit_is_written_back_with_the_mode_that_the_file_has(
    cli: Cli, server: Scripted, drafts: Path
) -> None:
    ran = cli("open", "box", "notes", "--edit")
    assert (ran.code, ran.out) == (0, "wrote notes\n")
    assert server.files["notes"] == b"one\ntwo\n"
    assert "mode" not in server.requests("PUT", PUT.partition(" ")[2])[0].query
    assert list(drafts.iterdir()) == []


def test_edit_that_changes_nothing_leaves_nothing(
    cli: Cli, tmp_path: Path, drafts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.surfaces.cli.commands.terminals.open.QUICK_SECONDS", 0)
    for script, code in (("exit 0", 0), ("exit 1", 1)):
        edit_by(tmp_path, script)
        assert cli("open", "box", "notes", "--edit").code == code
        assert list(drafts.iterdir()) == []


def test_copy_of_an_editor_that_ended_at_once_stays_and_is_named(
    cli: Cli, tmp_path: Path, drafts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As VS Code does, whose window saves it later."""
    monkeypatch.setattr("atoll.surfaces.cli.commands.terminals.open.QUICK_SECONDS", 60)
    edit_by(tmp_path, "exit 0")
    ran = cli("open", "box", "notes", "--edit")
    (copy,) = drafts_left(drafts)
    assert (ran.code, copy.read_text()) == (0, "one\n")
    assert "code --wait" in ran.err and f"atoll cp {copy} box:notes" in ran.err


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (403, "outside_workspace"),
        (403, "read_only"),
        (404, "not_found"),
        (409, "not_running"),
        (413, "no_space"),
        (422, "is_a_directory"),
        (502, "unavailable"),
    ],
)
def test_edit_that_the_server_refuses_stays_and_is_named(
    cli: Cli, server: Scripted, drafts: Path, status: int, code: str
) -> None:
    server.answers[PUT] = lambda _: problem(status, code, "cannot write 'notes': no.")
    ran = cli("open", "box", "notes", "--edit")
    assert ran.code != 0
    (copy,) = drafts_left(drafts)
    assert copy.read_text() == "one\ntwo\n"
    assert f"cannot write 'notes': no; your version is {copy}" in ran.err


@pytest.mark.parametrize("script", ["exit 1", "kill -9 $$"])
def test_edit_by_an_editor_that_fails_stays_and_is_named(
    cli: Cli, server: Scripted, tmp_path: Path, drafts: Path, script: str
) -> None:
    edit_by(tmp_path, f'echo two >> "$1"; {script}')
    ran = cli("open", "box", "notes", "--edit")
    (copy,) = drafts_left(drafts)
    assert (ran.code, copy.read_text()) == (1, "one\ntwo\n")
    assert "nothing was written back; your version is" in ran.err and str(copy) in ran.err
    assert server.files["notes"] == b"one\n"


def test_edit_that_an_editor_left_in_a_file_of_its_own_stays(
    cli: Cli, tmp_path: Path, drafts: Path
) -> None:
    edit_by(tmp_path, 'echo unsaved > "$(dirname "$1")/.notes.swp"; kill -9 $$')
    ran = cli("open", "box", "notes", "--edit")
    assert ran.code == 1 and "your version is" in ran.err
    assert sorted(path.name for path in drafts_left(drafts)) == [".notes.swp", "notes"]


def test_edit_of_what_changed_or_went_meanwhile_stays(
    cli: Cli, server: Scripted, drafts: Path
) -> None:
    later = iter([web.Response(body=b"theirs"), problem(404, "no_such_file", "it is gone")])
    for said in ("changed inside meanwhile", "it is gone"):
        now = [web.Response(body=b"one\n"), next(later)]
        server.answers[GET] = lambda _, now=now: now.pop(0)  # type: ignore[misc]
        ran = cli("open", "box", "notes", "--edit")
        (copy,) = drafts_left(drafts)
        assert ran.code != 0 and said in ran.err and str(copy) in ran.err
        assert copy.read_text() == "one\ntwo\n"
        copy.unlink()
    assert server.requests("PUT", PUT.partition(" ")[2]) == []


def test_edit_that_ctrl_c_ends_stays_and_is_named(
    cli: Cli, drafts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("atoll.surfaces.cli.commands.terminals.open._write_back", interrupt)
    ran = cli("open", "box", "notes", "--edit")
    (copy,) = drafts_left(drafts)
    assert copy.read_text() == "one\ntwo\n"
    assert ran.code != 0 and f"your version is {copy}" in ran.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_edit_that_a_signal_ends_stays_and_is_named(
    cli: Cli,
    server: Scripted,
    tmp_path: Path,
    drafts: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    monkeypatch.setattr("atoll.surfaces.cli.commands.terminals.open.EDITOR_SECONDS", 60)
    edit_by(
        tmp_path,
        f"""trap 'echo two >> "$1"; exit' {number}; kill -{number} $PPID"""
        "\nwhile :; do sleep 0.02; done",
    )
    # `nohup` ignores it, and a shell traps nothing that was ignored when it began.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        ran = cli("open", "box", "notes", "--edit")
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)
    (copy,) = drafts_left(drafts)
    assert copy.read_text() == "one\ntwo\n", "the editor had the time to save"
    assert (ran.code, server.files["notes"]) == (128 + number, b"one\n")
    assert f"your version is {copy}" in ran.err


@pytest.mark.parametrize(
    ("editor", "said"),
    [("  ", "vi"), ("'unclosed", "cannot be read"), ("/no/such", "cannot be run")],
)
def test_editor_that_cannot_be_run_is_said_and_leaves_nothing(
    cli: Cli, environ: dict[str, str], drafts: Path, editor: str, said: str
) -> None:
    environ.update(EDITOR=editor, PATH="/nowhere")
    ran = cli("open", "box", "notes", "--edit")
    assert ran.code != 0 and said in ran.err
    assert list(drafts.iterdir()) == []
