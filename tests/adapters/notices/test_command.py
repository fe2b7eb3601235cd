"""The person's own command: what it gets, and how it is bounded."""

import asyncio
from pathlib import Path

import pytest

from atoll.adapters.notices import command as subject
from atoll.adapters.notices.command import NoticeCommand
from atoll.adapters.notices.settings import NoticeSettings
from atoll.domain.errors import Invalid


async def test_command_gets_its_words_and_no_shell_reads_them(tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = f'printf "%s|" "$0" "$@" > {told}'
    settings = NoticeSettings(f"sh -c '{script}' 'a b'")
    await NoticeCommand(settings.argv)("needs-you", "$(id);x")
    assert told.read_text() == "a b|needs-you|$(id);x|"


async def test_command_that_hangs_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject, "SECONDS", 0.2)
    async with asyncio.timeout(10):
        await NoticeCommand(("sh", "-c", "sleep 600 & sleep 600"))("done", "box")


async def test_command_that_is_not_there_is_logged_and_harms_nothing() -> None:
    await NoticeCommand(("/nowhere/notify",))("done", "box")


async def test_runs_at_a_time_are_bounded(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    go = tmp_path / "go"
    script = f"echo >> {ran}; while [ ! -e {go} ]; do sleep 0.01; done"
    run = NoticeCommand(("sh", "-c", script))
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        for _ in range(3 * subject.MAX_RUNNING):
            tasks.create_task(run("done", "box"))
        go_on = tasks.create_task(asyncio.to_thread(go.touch))
        await go_on
    assert len(ran.read_text().splitlines()) == subject.MAX_RUNNING


@pytest.mark.parametrize("text", ["'", "''x'", " ", "a\0b"])
def test_command_that_cannot_be_read_stops_the_start(text: str) -> None:
    with pytest.raises(Invalid, match="notify_command"):
        NoticeSettings(text)


def test_no_command_is_the_default() -> None:
    assert NoticeSettings().argv == ()
