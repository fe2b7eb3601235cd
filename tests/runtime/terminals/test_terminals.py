import asyncio
import contextlib
import hashlib
import os
from base64 import b64decode
from collections.abc import Callable

import pytest
from aiohttp import WSMsgType

from atoll.ports.runtime_boot import Agent
from atoll.runtime.spawners.waiting import MAX_WAITING_BYTES
from atoll.runtime.stage import PassThrough
from atoll.runtime.terminals import terminals
from atoll.wire.attach import (
    Ack,
    Exited,
    Heartbeat,
    InputRefused,
    InputTaken,
    Refused,
    Resync,
    Sized,
    Titled,
)
from atoll.wire.contract.policy import Policy
from atoll.wire.contract.terminals import RING_BYTES
from atoll.wire.words.terminals import Shade
from tests.runtime.stage import Watcher, abort, runtime

SEQ = "".join(f"{n}\r\n" for n in range(1, 200_001)).encode()


async def follow(viewer: Watcher, stop_at: int | None = None) -> Exited | None:
    """Read and acknowledge like a good client, to the end or until `stop_at` bytes."""
    acked = viewer.offset
    while stop_at is None or viewer.offset < stop_at:
        got = await viewer.step()
        if isinstance(got, Exited):
            return got
        assert got is not None
        if viewer.offset - acked >= viewer.start.ack_every:
            acked = viewer.offset
            await viewer.say(Ack(acked))
    return None


async def test_terminal_that_prints_and_exits_shows_bytes_then_exit_then_close() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "printf hello; exit 3")
        async with rt.attach(terminal, client="a") as viewer:
            end = await viewer.until(Exited)
            assert (end.code, end.signal, end.offset) == (3, None, 5)
            assert bytes(viewer.seen) == b"hello"
            await viewer.to_end()
            assert viewer.ws.close_code == 1000
        status, record = await rt.call("GET", f"/sessions/{terminal}")
        assert (status, record["state"], record["exit"]) == (200, "exited", {"code": 3})


async def test_oldest_ended_terminal_goes_when_too_many_could_be_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminals, "MAX_ENDED", 2)
    async with runtime() as rt:
        ended = []
        for _ in range(3):
            ended.append(await rt.open("true"))
            async with rt.attach(ended[-1], client="a") as viewer:
                await viewer.to_end()
        async with asyncio.timeout(20):
            listed = (await rt.call("GET", "/sessions"))[1]["sessions"]
            while len(listed) > 2:
                listed = (await rt.call("GET", "/sessions"))[1]["sessions"]
        assert [one["session_id"] for one in listed] == ended[1:]


async def test_typing_reaches_the_program_and_its_echo_comes_back() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh")
        async with rt.attach(terminal, client="a") as viewer:
            await viewer.type(b"echo $((40+2)) $TERM $COLORTERM; exit\n")
            await viewer.until_bytes(b"42 xterm-256color truecolor")
            assert (await viewer.until(Exited)).code == 0


async def test_client_whose_connections_are_killed_resumes_byte_exact() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read go; exec seq 1 200000")
        seen, since, end = b"", 0, None
        for round_ in range(20):
            async with rt.attach(terminal, client="a", since=since) as viewer:
                assert (viewer.start.offset, viewer.start.preamble) == (since, "")
                if round_ == 0:
                    await viewer.type(b"\n")
                end = await follow(viewer, since + 100_000)
                seen, since = seen + bytes(viewer.seen), viewer.offset
                abort(viewer.ws)
            if end is not None:
                break
        assert end is not None
        assert end.offset == len(seen)
        assert seen[:2] == b"\r\n"
        assert first_difference(seen[2:], SEQ) is None


def first_difference(found: bytes, meant: bytes) -> tuple[int, bytes, bytes] | None:
    """Where two texts part, and what stands there in each; None where they are the same."""
    if found == meant:
        return None
    parted = (n for n, (one, other) in enumerate(zip(found, meant, strict=False)) if one != other)
    at = next(parted, min(len(found), len(meant)))
    return at, found[at : at + 100], meant[at : at + 100]


async def test_client_that_never_attached_in_time_still_reads_the_whole_end() -> None:
    async with runtime() as rt:
        terminal = await rt.open("seq", "1", "2000")
        await rt.terminals.get(terminal).pty._ended.wait()
        async with rt.attach(terminal, since=0) as viewer:
            await follow(viewer)
            assert bytes(viewer.seen) == "".join(f"{n}\r\n" for n in range(1, 2001)).encode()


async def test_slow_observer_of_a_flood_is_resynced_while_the_driver_is_exact() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read go; seq 1 200000; printf END")
        async with (
            rt.attach(terminal, client="driver") as driver,
            rt.attach(terminal, client="observer") as observer,
        ):
            await driver.type(b"\n")
            end = await follow(driver)
            assert end is not None
            assert bytes(driver.seen[2:]) == SEQ + b"END"
            # The observer read nothing meanwhile: its sockets are full, the ring has moved on.
            lost = await observer.until(Resync)
            assert lost.start < lost.to <= end.offset
            observer.offset = lost.to
            observer.seen.clear()
            assert (await observer.until(Exited)).offset == observer.offset
            assert (SEQ + b"END").endswith(bytes(observer.seen))


async def test_driver_that_stops_acknowledging_pauses_the_program_and_goes_on_exact() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read go; exec seq 1 200000")
        async with rt.attach(terminal, client="a") as viewer:
            await viewer.type(b"\n")
            while viewer.offset < 1000:
                await viewer.step()
            acked = viewer.offset
            await viewer.say(Ack(acked))
            scrollback = rt.terminals.get(terminal).scrollback
            await until_still(lambda: scrollback.end)
            # High water, what one turn of reading may bring, and what is under way over a link.
            most = (192 + 32) * 1024 + scrollback._ring.capacity - RING_BYTES
            assert 192 * 1024 <= scrollback.end - acked <= most
            while viewer.offset < scrollback.ready:
                await viewer.step()
            await viewer.say(Ack(viewer.offset))
            await follow(viewer)
            assert bytes(viewer.seen[2:]) == SEQ


async def test_driver_that_never_acknowledges_never_pauses_the_program() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read go; exec seq 1 200000")
        async with rt.attach(terminal, client="a") as viewer:
            await viewer.type(b"\n")
            await asyncio.wait_for(rt.terminals.get(terminal).pty._ended.wait(), 20)
            await viewer.until(Exited)


async def test_driver_gone_in_a_flood_finds_every_byte_within_the_grace() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read go; exec seq 1 200000")
        async with rt.attach(terminal, client="a") as viewer:
            await viewer.type(b"\n")
            await follow(viewer, 200_000)
            seen, since = bytes(viewer.seen), viewer.offset
            abort(viewer.ws)
        async with rt.attach(terminal, client="watcher"):
            scrollback = rt.terminals.get(terminal).scrollback
            await until_still(lambda: scrollback.end)
            async with rt.attach(terminal, client="a", since=since) as viewer:
                assert (viewer.start.offset, viewer.start.driver) == (since, "a")
                await follow(viewer)
                assert seen[2:] + bytes(viewer.seen) == SEQ


async def until_still(value: Callable[[], int]) -> None:
    """Until a value has not changed for 50 turns of 10 ms: output has stopped."""
    last, calm = value(), 0
    while calm < 50:
        await asyncio.sleep(0.01)
        calm = calm + 1 if value() == last else 0
        last = value()


async def test_since_that_fell_off_gets_start_and_then_resync() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "printf '\\033[?2004h'; seq 1 30000; exec cat",
                                 ring_bytes=65536)  # fmt: skip
        scrollback = rt.terminals.get(terminal).scrollback
        printed = len("\x1b[?2004h") + sum(len(f"{number}\r\n") for number in range(1, 30001))
        while scrollback.end < printed:  # noqa: ASYNC110  it is pure, and wakes nobody
            await asyncio.sleep(0.01)
        async with rt.attach(terminal, since=10) as viewer:
            assert (viewer.start.offset, viewer.start.preamble) == (10, "")
            lost = await viewer.until(Resync)
            assert lost.start == 10
            assert scrollback.start <= lost.to <= scrollback.start + 4096
            assert b64decode(lost.preamble) == b"\x1bc\x1b[?25h\x1b[?2004h"


async def test_since_beyond_the_end_gets_a_resync_to_what_is_there() -> None:
    """As of a client that saw another terminal of this name, before a backup was restored."""
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "printf here; exec cat")
        async with rt.attach(terminal, since=1_000_000) as viewer:
            lost = await viewer.until(Resync)
            assert (lost.start, lost.to) == (1_000_000, 0)
            assert b64decode(lost.preamble).startswith(b"\x1bc")
            await viewer.until_bytes(b"here")


async def test_same_client_attaching_again_supersedes_its_older_connection() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with (
            rt.attach(terminal, client="a") as older,
            rt.attach(terminal, client="a") as newer,
        ):
            await older.to_end()
            assert older.ws.close_code == 4000
            await newer.type(b"still here\n")
            await newer.until_bytes(b"still here")
            assert newer.start.driver == "a"


async def test_answer_of_an_observers_emulator_is_not_typed_and_does_not_drive() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "stty raw -echo; printf ready; exec cat -v")
        async with (
            rt.attach(terminal, client="a") as first,
            rt.attach(terminal, client="b") as second,
        ):
            await first.until_bytes(b"ready")
            await second.type(b"\x1b[1;1R")
            await first.type(b"\x1b[2;2R!")
            await first.until_bytes(b"^[[2;2R!")
            assert b"1;1R" not in first.seen
            assert rt.terminals.get(terminal).driver == "a"


async def test_question_with_nobody_there_is_answered_and_never_replayed() -> None:
    async with runtime() as rt:
        script = "stty raw -echo; printf 'Q\\033[6n'; dd bs=1 count=6 2>/dev/null | od -c"
        terminal = await rt.open("sh", "-c", script)
        await rt.terminals.get(terminal).pty._ended.wait()
        async with rt.attach(terminal, since=0) as viewer:
            await viewer.until(Exited)
            assert b"033   [   1   ;   1   R" in viewer.seen
            assert viewer.seen.startswith(b"Q\0\0\0\0")


async def test_program_that_nobody_looks_at_learns_the_colours_of_its_owners_page() -> None:
    async with runtime() as rt:
        rt.terminals.apply(Policy(revision=1, shade=Shade.LIGHT))
        script = (
            "stty raw -echo; printf 'Q\\033]11;?\\007'; dd bs=1 count=25 2>/dev/null | od -c;"
            "printf '\\033[?2031h'; printf Ready; dd bs=1 count=9 2>/dev/null | od -c"
        )
        terminal = await rt.open("sh", "-c", script)
        shown = rt.terminals.get(terminal).pty
        async with rt.attach(terminal, since=0, read_only=True) as looker:
            await looker.until_bytes(b"Ready")
        rt.terminals.apply(Policy(revision=2, shade=Shade.LIGHT))
        rt.terminals.apply(Policy(revision=3, shade=Shade.DARK))
        await shown._ended.wait()
        async with rt.attach(terminal, since=0) as viewer:
            await viewer.until(Exited)
            assert b"r   g   b   :   f   f   f   f" in viewer.seen
            assert b"?   9   9   7   ;   1   n" in viewer.seen


async def test_question_reaches_the_attached_driver_and_no_observer() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read go; printf 'Q\\033[c!'; exec cat")
        async with (
            rt.attach(terminal, client="a") as first,
            rt.attach(terminal, client="b") as second,
        ):
            await first.type(b"\n")
            await first.until_bytes(b"Q\x1b[c!")
            await second.until_bytes(b"Q\0\0\0!")


async def test_title_is_told_without_control_characters() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "read go; printf '\\033]2;a\\001b\\007'; exec cat")
        async with rt.attach(terminal) as viewer:
            await viewer.type(b"\n")
            assert (await viewer.until(Titled)).title == "ab"
            assert (await rt.call("GET", f"/sessions/{terminal}"))[1]["title"] == "ab"


async def test_background_job_holding_the_terminal_delays_the_end_by_the_grace_only() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "trap '' HUP; sleep 30 & printf done")
        async with rt.attach(terminal) as viewer:
            end = await asyncio.wait_for(viewer.until(Exited), 8)
            assert (end.code, bytes(viewer.seen)) == (0, b"done")
        assert (await rt.call("DELETE", f"/sessions/{terminal}"))[0] == 204


async def test_delete_ends_a_tree_that_ignores_hangup_and_is_idempotent() -> None:
    async with runtime() as rt:
        terminal = await rt.open(
            "sh", "-c", "trap '' HUP TERM; setsid sleep 100 & echo deaf; while :; do sleep 1; done"
        )
        async with rt.attach(terminal) as viewer:
            await viewer.until_bytes(b"deaf")
            assert (await rt.call("DELETE", f"/sessions/{terminal}?grace=0.2"))[0] == 204
            assert (await viewer.until(Exited)).signal == "KILL"
        assert (await rt.call("DELETE", f"/sessions/{terminal}"))[0] == 204
        assert (await rt.call("DELETE", "/sessions/t_never"))[0] == 404


async def test_signal_int_goes_to_the_foreground_and_term_to_the_tree() -> None:
    async with runtime() as rt:
        terminal = await rt.open(
            "sh",
            "-c",
            "trap 'echo shell-int' INT; (trap - INT; echo inside; exec sleep 100);"
            " echo after; exec cat",
        )
        async with rt.attach(terminal) as viewer:
            await rt.call("POST", f"/sessions/{terminal}/resize", {"cols": 90, "rows": 9})
            await viewer.until(Sized)
            await viewer.until_bytes(b"inside")
            assert (await rt.call("POST", f"/sessions/{terminal}/signal", {"signal": "INT"}))[
                0
            ] == 204
            await viewer.until_bytes(b"after")
            assert (await rt.call("POST", f"/sessions/{terminal}/signal", {"signal": "SIGTERM"}))[
                0
            ] == 204
            assert (await viewer.until(Exited)).signal == "TERM"


async def test_full_screen_program_is_made_to_repaint_after_a_replay_from_its_middle() -> None:
    script = (
        "printf '\\033[?1049h'; trap 'echo WINCH' WINCH; seq 1 40000; echo READY;"
        " while :; do read x; done"
    )
    async with runtime() as rt:
        terminal = await rt.open("bash", "-c", script, ring_bytes=65536)
        scrollback = rt.terminals.get(terminal).scrollback
        await until_still(lambda: scrollback.end)
        async with rt.attach(terminal) as viewer:
            assert viewer.start.preamble
            await viewer.type(b"\n")
            await asyncio.wait_for(viewer.until_bytes(b"WINCH"), 5)
        assert rt.terminals.get(terminal).pty.size.rows == 24


async def test_program_that_reads_nothing_has_its_input_refused_beyond_the_bound() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "stty raw -echo; printf ready; exec sleep 100")
        async with rt.attach(terminal) as viewer:
            await viewer.until_bytes(b"ready")
            for _ in range(8):
                await viewer.type(b"y" * 60_000)
            assert (await viewer.until(InputRefused)).reason == "input_full"


@pytest.mark.parametrize(
    "text",
    ["", "null", "{}", '{"type":"ack","offset":-1}', '{"type":"ack","offset":999999}', "x" * 5000],
)
async def test_bad_frame_is_answered_and_the_connection_stays(text: str) -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        async with rt.attach(terminal) as viewer:
            await viewer.ws.send_str(text)
            assert (await viewer.until(Refused)).code in ("bad_frame", "bad_ack")
            await viewer.type(b"alive\n")
            await viewer.until_bytes(b"alive")


async def test_attach_to_no_terminal_is_closed_4404() -> None:
    async with (
        runtime() as rt,
        rt.client.ws_connect("http://runtime/sessions/t_none/attach") as ws,
    ):
        await ws.receive()
        assert ws.close_code == 4404


@pytest.mark.parametrize(
    "query", ["since=-1", "since=x", "client=a%20b", "cols=ten", "client=" + "a" * 65]
)
async def test_attach_with_a_bad_query_is_a_problem_before_the_upgrade(query: str) -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        upgrade = {
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        }  # fmt: skip
        status, problem = await rt.call(
            "GET", f"/sessions/{terminal}/attach?{query}", headers=upgrade
        )
        assert (status, problem["code"]) == (422, "invalid")
        assert (await rt.call("GET", f"/sessions/{terminal}/attach"))[0] == 422


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"argv": []}, "argv"),
        ({"argv": "sh"}, "argv"),
        ({"argv": ["a\0b"]}, "argv"),
        ({"argv": ["/no/such"]}, None),
        ({"argv": ["sh"], "cwd": "relative"}, "cwd"),
        ({"argv": ["sh"], "cwd": "/no/such"}, None),
        ({"argv": ["sh"], "env": {"1X": "y"}}, "env"),
        ({"argv": ["sh"], "env": {"X": 1}}, "env[...]"),
        ({"argv": ["sh"], "ring_bytes": 1}, "ring_bytes"),
        ({"argv": ["sh"], "cols": "80"}, "cols"),
        ({"argv": ["sh"], "name": "a\nb"}, "name"),
        ({"argv": ["sh"], "agent": "x"}, "agent"),
        ({"agent": "nobody"}, "agent"),
        ({"color": 1}, "color"),
    ],
)
async def test_open_with_a_bad_wish_is_invalid_and_names_the_field(
    body: object, field: str | None
) -> None:
    async with runtime() as rt:
        status, problem = await rt.call("POST", "/sessions", body)
        assert (status, problem["status"]) == (422, 422), problem
        assert problem["detail"]
        if field is not None:
            assert problem["field"] == field
        assert rt.terminals.all() == []


async def test_open_without_argv_is_the_shell_and_with_agent_its_program() -> None:
    agent = Agent("helper", ("sh", "-c", "echo $WHO $MORE"), (("WHO", "agent"),))
    async with runtime(agents=(agent,)) as rt:
        assert (await rt.call("POST", "/sessions", {}))[1]["argv"] == ["/bin/sh"]
        status, record = await rt.call(
            "POST", "/sessions", {"agent": "helper", "env": {"MORE": "er"}}
        )
        assert (status, record["name"]) == (201, "helper")
        async with rt.attach(record["session_id"]) as viewer:
            await viewer.until(Exited)
            assert b"agent er" in viewer.seen
        assert len((await rt.call("GET", "/sessions"))[1]["sessions"]) == 2


async def test_stage_before_the_ring_changes_what_everybody_sees() -> None:
    class Upper(PassThrough):
        def feed(self, data: bytes) -> bytes:
            return data.upper()

        def flush(self) -> bytes:
            return b"<held>"

    async with runtime(make_stage=Upper) as rt:
        terminal = await rt.open("sh", "-c", "printf secret")
        async with rt.attach(terminal) as viewer:
            await viewer.until(Exited)
            assert bytes(viewer.seen) == b"SECRET<held>"


async def test_renamed_terminal_has_its_new_name_everywhere() -> None:
    async with runtime() as rt:
        terminal = await rt.open("cat")
        path = f"/sessions/{terminal}"
        for _ in range(2):
            status, record = await rt.call("PATCH", path, {"name": "build"})
            assert (status, record["name"], record["renamed"]) == (200, "build", True)
        assert (await rt.call("GET", "/sessions"))[1]["sessions"][0]["name"] == "build"
        for bad in ("", "a\nb", "\u202e", "x" * 129, 7):
            assert (await rt.call("PATCH", path, {"name": bad}))[0] == 422
        assert (await rt.call("PATCH", "/sessions/t_0", {"name": "x"}))[0] == 404
        _, page = await rt.call("GET", "/journal")
        renamed = [e["payload"] for e in page["entries"] if e["kind"] == "terminal.renamed"]
        assert renamed == [{"id": terminal, "name": "build", "argv0": "cat"}]


async def test_journal_tells_of_a_terminal_without_arguments_or_output() -> None:
    async with runtime() as rt:
        terminal = await rt.open("sh", "-c", "echo classified")
        await rt.terminals.get(terminal).pty._ended.wait()
        await rt.call("DELETE", f"/sessions/{terminal}")
        _, page = await rt.call("GET", "/journal")
        assert [entry["kind"] for entry in page["entries"]] == [
            "terminal.opened", "terminal.exited", "terminal.closed",
        ]  # fmt: skip
        assert page["entries"][1]["payload"]["exit"] == {"code": 0}
        assert "classified" not in str(page)


async def test_viewer_that_gives_no_sign_of_life_is_closed_4408(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("atoll.runtime.terminals.attach.PING_SECONDS", 0.5)
    async with runtime() as rt:
        terminal = await rt.open("cat")
        url = f"http://runtime/sessions/{terminal}/attach"
        async with rt.client.ws_connect(url, autoping=False) as ws:
            frame = await ws.receive()
            while frame.type not in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING):
                frame = await ws.receive()
            assert ws.close_code == 4408
        async with rt.attach(terminal) as viewer:
            waiting = asyncio.timeout(2)
            with contextlib.suppress(TimeoutError):
                async with waiting:
                    await viewer.to_end()
            assert waiting.expired()


async def test_client_that_asks_for_heartbeats_sees_them_at_a_silent_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("atoll.runtime.terminals.attach.HEARTBEAT_SECONDS", 0.05)
    async with runtime() as rt:
        terminal = await rt.open("sleep", "100")
        async with rt.attach(terminal, heartbeat="true") as viewer:
            for _ in range(3):
                assert await viewer.until(Heartbeat) == Heartbeat(50)


async def test_input_is_reported_as_the_program_takes_it_and_never_ahead_of_it() -> None:
    size = 3 * MAX_WAITING_BYTES
    async with runtime() as rt, contextlib.AsyncExitStack() as defer:
        program = f"stty raw -echo; printf ready; read go < go; head -c {size} | sha256sum"
        fifo = rt.home / "w" / "go"
        os.mkfifo(fifo)
        terminal = await rt.open("sh", "-c", program)
        async with rt.attach(terminal) as viewer:
            await viewer.until_bytes(b"ready")
            data, sent, taken = os.urandom(size), 0, 0
            while sent - taken < viewer.start.input_window:
                await viewer.type(data[sent : sent + 8192])
                sent += 8192
            # The kernel holds a few KiB; nothing else has gone anywhere.
            # For both ways: it never waits for a program that is not there.
            go = os.open(fifo, os.O_RDWR)
            defer.callback(os.close, go)
            os.write(go, b"\n")
            while sent < size:
                taken = (await viewer.until(InputTaken)).bytes
                assert taken <= sent
                while sent < size and sent - taken < viewer.start.input_window:
                    await viewer.type(data[sent : sent + 8192])
                    sent += 8192
            await viewer.until_bytes(hashlib.sha256(data).hexdigest().encode())
            assert not [one for one in viewer.messages if isinstance(one, InputRefused)]
