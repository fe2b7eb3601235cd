"""The wall of a person's own machine: which program is shown inside, and what of the home is."""

import os
from pathlib import Path

import pytest

from atoll.domain.errors import Failed
from atoll.ports.outside.local_wall import DesktopOptions
from atoll.wiring.launch import desktop_wall
from atoll.wiring.launch.desktop_wall import BARE, WALLED, codex_program


def program(place: Path) -> Path:
    place.parent.mkdir(parents=True)
    place.write_text("#!/bin/sh\n")
    place.chmod(0o755)
    return place


def test_script_of_npm_leads_to_the_program_itself(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules" / "@openai"
    script = program(modules / "codex" / "bin" / "codex.js")
    native = program(modules / "codex-linux-x64" / "vendor" / "x86_64-musl" / "bin" / "codex")
    link = tmp_path / "codex"
    link.symlink_to(script)
    assert codex_program(link) == native
    plain = program(tmp_path / "own" / "codex")
    assert codex_program(plain) == plain


def test_program_that_is_not_there_fails_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for named in (None, tmp_path / "none", tmp_path):
        with pytest.raises(Failed, match="--codex"):
            codex_program(named)


def test_walls_are_shown_as_weak_and_name_what_they_lack() -> None:
    assert BARE.weak and WALLED.weak
    assert [note.partition(":")[0] for note in BARE.degraded] == ["all"]
    assert {note.partition(":")[0] for note in WALLED.degraded} == {
        *("memory", "pids", "disk", "syscalls")
    }


def test_root_builds_no_wall_and_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex = program(tmp_path / "bin" / "codex")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Failed, match="as yourself"):
        desktop_wall.desktop_wall(DesktopOptions(program=codex))
    bare = desktop_wall.desktop_wall(DesktopOptions(bare=True, program=codex))
    assert bare.isolation is BARE


def test_of_the_home_only_the_login_is_writable_and_nothing_else_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / ".codex"
    own.mkdir()
    for name in ("auth.json", "config.toml", "history.jsonl"):
        (own / name).write_text("{}")
    monkeypatch.setenv("CODEX_HOME", str(own))
    codex = program(tmp_path / "bin" / "codex")
    boot = desktop_wall._boot(DesktopOptions(), codex, "t" * 40, tmp_path / "place")
    shown = {mount.target: mount.writable for mount in boot.mounts}
    assert shown == {
        "/opt/atoll/agents/codex/bin/codex": False,
        "/home/agent/.codex/auth.json": True,
        "/home/agent/.codex/config.toml": False,
    }
    assert (boot.wall, boot.own_logins, boot.upstreams) == ("bwrap", True, ())


def test_ports_of_the_machine_are_opened_one_by_one() -> None:
    assert desktop_wall._network(DesktopOptions()).mode == "full"
    some = desktop_wall._network(DesktopOptions(host_ports=(11434,)))
    assert (some.mode, some.host_ports) == ("host-only", (11434,))
    assert {rule.host for rule in some.rules} == set(desktop_wall.VENDOR_HOSTS)
