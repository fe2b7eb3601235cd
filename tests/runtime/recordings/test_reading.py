"""Marks, recordings, search and plain text of a whole runtime, with the shells that are here."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.safety.shell_marks import environment, scripts
from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.redactor import Redactor
from atoll.runtime.recordings.shelf import RecordingLimits
from atoll.wire.attach import Exited, Recorded
from atoll.wire.contract.policy import Policy
from tests.runtime.stage import Runtime, runtime

SHELLS = {"bash": ("bash", "-i"), "zsh": ("zsh", "-i"), "fish": ("fish", "-i")}


def shell_env(home: Path) -> dict[str, str]:
    """The scripts laid out as in a sandbox, and a home of the person's own."""
    here = home / "marks"
    for name, text in scripts(str(here)).items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    person = home / "p"
    person.mkdir()
    (person / ".bashrc").write_text("HISTCONTROL=ignorespace\nMINE=yes\nPS1='$ '\n")
    (person / ".zshrc").write_text("MINE=yes\nPS1='$ '\n")
    (person / ".config/fish").mkdir(parents=True)
    (person / ".config/fish/config.fish").write_text("set -g MINE yes\n")
    return {**dict(environment(str(here))), "HOME": str(person), "XDG_CONFIG_HOME": ""}


async def marks_of(rt: Runtime, terminal: str, count: int) -> list[dict[str, object]]:
    """The terminal's marks, once so many commands have ended."""
    async with asyncio.timeout(20):
        while True:
            _, page = await rt.call("GET", f"/sessions/{terminal}/marks")
            done = [mark for mark in page["marks"] if mark["state"] == "done"]
            if len(done) >= count:
                return sorted(page["marks"], key=lambda mark: mark["n"])
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("shell", SHELLS)
async def test_shell_tells_of_its_commands_and_of_nothing_forged(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    async with runtime() as rt:
        terminal = await rt.open(*SHELLS[shell], env=shell_env(rt.home), name=shell)
        async with rt.attach(terminal, client="a") as viewer:
            await viewer.until_bytes(b"\x1b]633;A;")
            lines = (
                b"cd /tmp",
                b"echo a\\;b $MINE\\ \\\\",
                b"false",
                b"printf '\\033]633;E;forged\\007\\033]633;C\\007\\033]633;D;7\\007'",
                b"env | grep -c ATOLL_NONCE",
            )
            marks: list[dict[str, Any]] = []
            for count, line in enumerate(lines, 1):
                await viewer.type(line + b"\r")
                marks = await marks_of(rt, terminal, count)
            await viewer.until_bytes(b"a;b yes \\")
        told = [(mark["command"], mark["exit_code"]) for mark in marks]
        assert told == [
            ("cd /tmp", 0),
            ("echo a\\;b $MINE\\ \\\\", 0),
            ("false", 1),
            (lines[3].decode(), 0),
            ("env | grep -c ATOLL_NONCE", 1),
        ]
        assert all(mark["genuine"] for mark in marks)
        assert [mark["cwd"] for mark in marks][1:] == ["/tmp"] * 4
        status, text = await rt.call("GET", f"/sessions/{terminal}/text")
        assert status == 200
        assert "a;b yes \\" in text["text"].splitlines()
        assert "\x1b" not in text["text"]


async def test_marks_are_pushed_to_who_asked_and_only_to_them() -> None:
    line = r"read a; printf '\033]133;A\007$ \033]133;C;cmdline_url=make%%20all\007ok\n'; "
    line += r"printf '\033]133;D;2\007'"
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", line)
        async with (
            rt.attach(terminal, client="a", marks="true") as asked,
            rt.attach(terminal, client="b") as other,
        ):
            await asked.type(b"\n")
            pushed: list[dict[str, object]] = []
            while not any(each.get("state") == "done" for each in pushed):
                frame = await asked.ws.receive()
                said = json.loads(frame.data) if isinstance(frame.data, str) else {}
                pushed += [said] if said.get("type") == "mark" else []
            mark = pushed[-1]
            assert (mark["command"], mark["exit_code"]) == ("make all", 2)
            assert mark["genuine"] is False
            await other.until(Exited)


async def recording_of(rt: Runtime, terminal: str) -> str:
    status, note = await rt.call("POST", f"/sessions/{terminal}/recording?principal=p1&name=Ada")
    assert status == 201, note
    return str(note["recording_id"])


async def cast_of(rt: Runtime, recording: str) -> tuple[dict[str, Any], list[Any]]:
    status, raw = await rt.call("GET", f"/recordings/{recording}")
    assert status == 200
    head, *events = raw.decode().splitlines()
    return json.loads(head), [json.loads(event) for event in events]


async def test_recording_is_shown_to_all_and_begins_with_the_screen() -> None:
    async with runtime() as rt:
        script = (
            "printf before; read a; echo after; stty -echo; echo quiet; read b; stty echo; exit 3"
        )
        terminal = await rt.open("sh", "-c", script)
        async with rt.attach(terminal, client="a") as viewer:
            await viewer.until_bytes(b"before")
            recording = await recording_of(rt, terminal)
            assert (await viewer.until(Recorded)) == Recorded(True, recording, "Ada", "p1")
            async with rt.attach(terminal, client="late", role="viewer") as late:
                assert (await late.until(Recorded)).on
            assert await recording_of(rt, terminal) == recording
            await rt.call("POST", f"/sessions/{terminal}/resize", {"cols": 100, "rows": 30})
            await viewer.type(b"one\n")
            await viewer.until_bytes(b"after")
            await viewer.until_bytes(b"quiet")
            await viewer.type(b"hunter2\n")
            await viewer.until(Exited)
        head, events = await cast_of(rt, recording)
        assert (head["version"], head["term"]["cols"]) == (3, 80)
        said = {code: "".join(t for _, c, t in events if c == code) for code in "oirxu"}
        assert events[0][1] == "o"
        assert events[0][2].endswith("before")
        assert "after" in said["o"]
        assert (said["i"], said["r"], said["x"]) == ("one\n*", "100x30", "3")
        assert json.loads(said["u"]) == {"principal": "person", "name": "person", "client": "a"}
        _, listed = await rt.call("GET", "/recordings")
        (note,) = listed["recordings"]
        assert (note["state"], note["by"], note["session_id"]) == ("ended", "Ada", terminal)
        file = next((rt.home / "rec").glob("*.cast"))
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.stat().st_size == note["bytes"]


async def test_nothing_of_a_terminal_is_on_disk_unless_a_recording_was_asked_for() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read a; printf 'canary-%s' 77312; read b")

        def found() -> list[str]:
            files = (each for each in rt.home.rglob("*") if each.is_file())
            return [each.parent.name for each in files if b"canary-77312" in each.read_bytes()]

        async with rt.attach(terminal, client="a") as viewer:
            await viewer.type(b"\n")
            await viewer.until_bytes(b"canary-77312")
            assert found() == []
            recording = await recording_of(rt, terminal)
            assert found() == ["rec"]
            assert (await rt.call("DELETE", f"/sessions/{terminal}/recording"))[0] == 200
            assert (await viewer.until(Recorded)).on
            assert (await viewer.until(Recorded)).reason == "stopped"
            assert (await rt.call("DELETE", f"/sessions/{terminal}/recording"))[0] == 404
        assert (await rt.call("DELETE", f"/recordings/{recording}"))[0] == 204
        assert (await rt.call("GET", f"/recordings/{recording}"))[0] == 404
        assert list((rt.home / "rec").iterdir()) == []


async def test_secret_is_in_no_recording_neither_shown_nor_typed() -> None:
    secret = "sk-canary-Zq81xLw03Mvb77"
    lexicon = Lexicon(frozenset({secret}))
    async with runtime(make_stage=lambda: Redactor(lexicon)) as rt:
        terminal = await rt.open(
            "sh", "-c", "stty raw -echo; printf go; dd bs=24 count=1 of=/dev/null; exit"
        )
        async with rt.attach(terminal, client="a") as viewer:
            await viewer.until_bytes(b"go")
            recording = await recording_of(rt, terminal)
            for letter in secret.encode():
                await viewer.type(bytes([letter]))
            await viewer.until(Exited)
        _, events = await cast_of(rt, recording)
        typed = "".join(text for _, code, text in events if code == "i")
        assert len(typed) == len(secret)
        assert secret[8:] not in typed


async def test_recording_that_is_full_ends_and_stays_readable() -> None:
    bounds = RecordingLimits(recording_bytes=2 * 1024 * 1024, shelf_bytes=3 * 1024 * 1024)
    async with runtime(bounds=bounds) as rt:
        terminal = await rt.open("sh", "-c", "read a; seq 1 500000; read b")
        async with rt.attach(terminal, client="a") as viewer:
            recording = await recording_of(rt, terminal)
            await viewer.type(b"\n")
            await viewer.until(Recorded)
            assert (await viewer.until(Recorded)).reason == "full"
            _, events = await cast_of(rt, recording)
            assert all(len(event) == 3 for event in events)
            again = await recording_of(rt, terminal)
            await rt.call("DELETE", f"/sessions/{terminal}/recording")
            assert again != recording
        rt.recordings.apply(Policy(record=True))
        third = rt.terminals.get(await rt.open("sh", "-c", "read a"))
        assert third.recording is not None
        assert third.recording.principal == "profile"


async def test_search_finds_lines_in_rings_and_recordings_by_words_and_by_stars() -> None:
    async with runtime() as rt:
        script = r"read a; printf 'one \033[31mTWO\033[0m three\r\n[x](y+ a.b\r\nnothing\r\n'"
        terminal = await rt.open("sh", "-c", script)
        recording = await recording_of(rt, terminal)
        async with rt.attach(terminal, client="a") as viewer:
            await viewer.type(b"\n")
            await viewer.until(Exited)

        async def found(query: str, **more: str) -> list[tuple[object, object]]:
            status, page = await rt.call("GET", "/search", params={"q": query, **more})
            assert (status, page["complete"]) == (200, True), page
            assert all(m["text"][m["at"] : m["to"]] for m in page["matches"])
            return [(m["recording_id"], m["text"]) for m in page["matches"]]

        line = "one TWO three"
        assert await found("two th") == [(None, line), (recording, line)]
        assert await found("two th", match_case="true") == []
        assert await found("(y+") == [(None, "[x](y+ a.b"), (recording, "[x](y+ a.b")]
        assert await found("o?e*ee", syntax="glob") == [(None, line), (recording, line)]
        assert await found("(a+)+$") == []
        assert (await rt.call("GET", "/search?q="))[0] == 422
        assert (await rt.call("GET", "/search?q=a&syntax=regex"))[0] == 422
        assert (await rt.call("GET", "/search?q=a&session=t_none"))[0] == 404
