import asyncio
import json
import os
import signal
from base64 import b64decode, b64encode
from typing import Any, TypeAlias

import aiohttp
import pytest

from atoll.runtime.execs.discards import MAX_PIPES, Discards
from tests.runtime.stage import Runtime, runtime

Record: TypeAlias = dict[str, Any]


async def run(rt: Runtime, **body: object) -> Record:
    status, shown = await rt.call("POST", "/execs", body)
    assert status == 200, shown
    record: Record = shown
    return record


def out(record: Record) -> tuple[bytes, bytes]:
    return b64decode(record["stdout"]), b64decode(record["stderr"])


async def lines(rt: Runtime, path: str) -> list[Record]:
    async with rt.client.get("http://runtime" + path) as reply:
        assert reply.content_type == "application/x-ndjson"
        return [json.loads(line) async for line in reply.content]


def joined(chunks: list[Record], stream: str) -> bytes:
    data = b""
    for chunk in chunks:
        if chunk.get("stream") == stream:
            assert chunk["offset"] == len(data)
            data += b64decode(chunk["data"])
    return data


async def test_exec_keeps_streams_apart_and_reports_the_code() -> None:
    async with runtime() as rt:
        record = await run(rt, argv=["sh", "-c", "echo out; echo err >&2; exit 7"])
        assert out(record) == (b"out\n", b"err\n")
        assert (record["state"], record["exit_code"], record["signal"]) == ("exited", 7, None)
        assert (record["stdout_bytes"], record["truncated"], record["timed_out"]) == (
            4,
            False,
            False,
        )


async def test_exec_of_a_shell_line_with_cwd_env_and_stdin() -> None:
    async with runtime() as rt:
        record = await run(
            rt,
            shell="pwd; echo $X; cat",
            cwd="/usr",
            env={"X": "é"},
            stdin=b64encode(b"\xff\0in").decode(),
        )
        assert out(record)[0] == b"/usr\n\xc3\xa9\n\xff\0in"


async def test_exec_with_a_clean_environment_has_no_variable_of_the_sandbox() -> None:
    async with runtime(env=(("PATH", "/nowhere"), ("LD_PRELOAD", "x"), ("HOME", "/h"))) as rt:
        record = await run(rt, argv=["/bin/sh", "-c", "env"], env={"X": "1"}, clean_env=True)
        seen = dict(line.split("=", 1) for line in out(record)[0].decode().splitlines())
        assert seen["PATH"].startswith("/usr/local/sbin:") and seen["PATH"].endswith(":/nowhere")
        assert (seen["HOME"], seen["X"], seen.get("LD_PRELOAD")) == ("/h", "1", None)


async def test_exec_without_stdin_reads_an_empty_one() -> None:
    async with runtime() as rt:
        assert out(await run(rt, argv=["cat"])) == (b"", b"")


async def test_exec_killed_by_a_signal_names_it() -> None:
    async with runtime() as rt:
        record = await run(rt, shell="kill -USR1 $$")
        assert (record["exit_code"], record["signal"]) == (None, "USR1")


async def test_exec_past_its_time_has_its_tree_killed() -> None:
    async with runtime() as rt:
        record = await asyncio.wait_for(
            run(rt, shell="echo before; setsid sleep 100 & sleep 100", timeout=0.3), 10
        )
        assert (record["timed_out"], record["signal"]) == (True, "KILL")
        assert out(record)[0] == b"before\n"


async def test_exec_beyond_the_cap_is_cut_counted_and_not_blocked() -> None:
    async with runtime() as rt:
        record = await run(rt, shell="head -c 3000000 /dev/zero; echo e >&2", max_output_bytes=1000)
        assert (len(out(record)[0]), record["stdout_bytes"]) == (1000, 3_000_000)
        assert (record["truncated"], record["exit_code"], out(record)[1]) == (True, 0, b"e\n")


async def test_exec_whose_child_holds_the_pipes_ends_with_its_leader() -> None:
    async with runtime() as rt:
        record = await asyncio.wait_for(run(rt, shell="sleep 30 & echo done"), 8)
        assert out(record)[0] == b"done\n"
        assert (await rt.call("DELETE", f"/execs/{record['exec_id']}"))[0] == 204


async def test_exec_leaves_running_what_its_program_left_and_throws_its_output_away() -> None:
    async with runtime() as rt:
        left = "(while sleep 0.05; do echo noise || exit; echo x >> alive; done) & echo done"
        record = await asyncio.wait_for(run(rt, shell=left), 30)
        assert out(record)[0].startswith(b"done\n")
        assert (await rt.call("DELETE", f"/execs/{record['exec_id']}"))[0] == 204
        # A closed pipe would end it at its next line.
        await run(rt, shell="n=$(wc -l <alive); until [ $(wc -l <alive) -gt $((n+5)) ]; do :; done")
        health = (await rt.call("GET", "/health"))[1]
        assert health["execs"] == 0
        listed = (await rt.call("GET", "/processes"))[1]
        assert not listed["more"]
        assert any(each["command"].startswith("/bin/sh -c (while") for each in listed["processes"])
        assert (await rt.call("DELETE", "/processes"))[0] == 204
        nothing = {"processes": [], "more": False, "runtime": None}
        assert (await rt.call("GET", "/processes"))[1] == nothing


async def test_exec_with_reap_ends_all_that_its_program_started() -> None:
    async with runtime() as rt:
        record = await run(rt, shell="setsid sleep 1000 & echo done", reap=True)
        assert out(record)[0] == b"done\n"
        assert (await rt.call("GET", "/processes"))[1]["processes"] == []


async def test_timeout_of_one_exec_spares_what_another_left() -> None:
    async with runtime() as rt:
        await run(rt, shell="setsid sleep 1234 >/dev/null 2>&1 &")
        record = await run(rt, shell="setsid sleep 4321 & sleep 1000", timeout=0.3)
        assert record["timed_out"]
        listed = (await rt.call("GET", "/processes"))[1]["processes"]
        assert [each["command"] for each in listed] == ["sleep 1234"]


async def test_output_of_what_was_left_is_let_go_beyond_a_number_of_pipes() -> None:
    discards = Discards()
    pairs = [os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) for _ in range(MAX_PIPES + 1)]
    for ours, _ in pairs:
        discards.take(ours)
    assert len(discards) == MAX_PIPES
    with pytest.raises(BrokenPipeError):
        os.write(pairs[0][1], b"x")
    assert os.write(pairs[1][1], b"x") == 1
    for _, theirs in pairs:
        os.close(theirs)
    async with asyncio.timeout(20):
        for left in iter(discards.__len__, 0):
            assert left <= MAX_PIPES
            await asyncio.sleep(0.01)


async def test_unrecorded_exec_leaves_no_entry_and_is_no_activity() -> None:
    async with runtime() as rt:
        before = (await rt.call("GET", "/journal"))[1]["last"]
        record = await run(rt, argv=["true"], unrecorded=True)
        assert record["exit_code"] == 0
        assert (await rt.call("GET", "/journal"))[1]["last"] == before
        await run(rt, argv=["true"])
        assert (await rt.call("GET", "/journal"))[1]["last"] == before + 2


async def test_unrecorded_exec_is_forgotten_once_its_output_was_streamed() -> None:
    async with runtime() as rt:
        headers = {"Accept": "application/x-ndjson"}
        for unrecorded, kept in ((True, 0), (False, 1)):
            body = {"argv": ["echo", "x"], "unrecorded": unrecorded}
            async with rt.client.post("http://runtime/execs", json=body, headers=headers) as reply:
                assert joined([json.loads(one) async for one in reply.content], "stdout") == b"x\n"
            assert len((await rt.call("GET", "/execs"))[1]["execs"]) == kept


async def test_unrecorded_exec_ends_with_its_reader() -> None:
    async with runtime() as rt:
        headers = {"Accept": "application/x-ndjson"}
        line = "while :; do echo x; sleep 0.02; done"
        body = {"shell": line, "unrecorded": True}
        async with rt.client.post("http://runtime/execs", json=body, headers=headers) as reply:
            await reply.content.readline()
            assert len((await rt.call("GET", "/execs"))[1]["execs"]) == 1
            reply.close()
        async with asyncio.timeout(20):
            # Each call is a turn of the runtime's loop, which ends the exec.
            while (await rt.call("GET", "/execs"))[1]["execs"]:
                pass


async def test_exec_in_the_background_is_fed_followed_and_reattached_by_offset() -> None:
    async with runtime() as rt:
        status, started = await rt.call("POST", "/execs", {"argv": ["cat"], "background": True})
        assert (status, started["state"]) == (201, "running")
        place = f"/execs/{started['exec_id']}"
        big = b"x" * 2_000_000
        async with asyncio.TaskGroup() as group:
            following = group.create_task(lines(rt, place + "/output"))
            assert (await rt.call("POST", place + "/stdin", b"first "))[0] == 204
            assert (await rt.call("POST", place + "/stdin?close=true", big))[0] == 204
        seen = following.result()
        assert joined(seen, "stdout") == b"first " + big
        assert seen[-1]["exit"]["exit_code"] == 0
        assert "stdout" not in seen[-1]["exit"]
        again = await lines(rt, place + "/output?stdout=2000000")
        assert b64decode(again[0]["data"]) == b"x" * 6
        assert again[0]["offset"] == 2_000_000
        ahead = await lines(rt, place + "/output?stdout=2000007&stderr=1")
        assert (ahead[0]["offset"], joined(ahead, "stdout")) == (0, b"first " + big)
        status, problem = await rt.call("POST", place + "/stdin", b"late")
        assert (status, problem["code"]) == (409, "input_closed")


async def test_exec_with_ndjson_streams_as_it_comes() -> None:
    async with runtime() as rt:
        body = {"shell": "echo one; read x < go; echo two >&2"}
        await run(rt, argv=["mkfifo", "go"])
        headers = {"Accept": "application/x-ndjson"}
        async with rt.client.post("http://runtime/execs", json=body, headers=headers) as reply:
            first = json.loads(await reply.content.readline())
            assert (first["stream"], b64decode(first["data"])) == ("stdout", b"one\n")
            await run(rt, shell="echo > go")
            rest = [json.loads(line) async for line in reply.content]
            assert b64decode(rest[0]["data"]) == b"two\n"
            assert reply.headers["Location"] == f"/execs/{rest[1]['exit']['exec_id']}"


async def test_exec_signalled_ends_and_stays_readable_until_deleted() -> None:
    async with runtime() as rt:
        _, started = await rt.call("POST", "/execs", {"argv": ["sleep", "100"], "background": True})
        place = f"/execs/{started['exec_id']}"
        assert (await rt.call("POST", place + "/signal", {"signal": "TERM"}))[0] == 204
        assert (await lines(rt, place + "/output"))[-1]["exit"]["signal"] == "TERM"
        listed = (await rt.call("GET", "/execs"))[1]["execs"]
        assert [each["exec_id"] for each in listed] == [started["exec_id"]]
        assert "stdout" not in listed[0]
        assert (await rt.call("GET", place))[1]["stdout"] == ""
        assert (await rt.call("DELETE", place))[0] == 204
        assert (await rt.call("GET", place))[0] == 404


async def test_exec_deleted_while_running_is_killed() -> None:
    async with runtime() as rt:
        _, started = await rt.call("POST", "/execs", {"argv": ["sleep", "100"], "background": True})
        assert (await rt.call("DELETE", f"/execs/{started['exec_id']}"))[0] == 204
        assert rt.execs.running == 0


async def test_finished_execs_beyond_a_hundred_are_forgotten_oldest_first() -> None:
    async with runtime() as rt:
        first, *_, last = [await run(rt, argv=["true"]) for _ in range(101)]
        assert (await rt.call("GET", f"/execs/{first['exec_id']}"))[0] == 404
        assert (await rt.call("GET", f"/execs/{last['exec_id']}"))[0] == 200
        assert len(rt.execs.all()) == 100


async def test_execs_beyond_the_limit_are_refused_until_one_ends() -> None:
    async with runtime() as rt:
        body = {"argv": ["sleep", "100"], "background": True}
        answers = await asyncio.gather(*(rt.call("POST", "/execs", body) for _ in range(70)))
        assert sorted(status for status, _ in answers) == [201] * 64 + [429] * 6


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "argv"),
        ({"argv": ["true"], "shell": "true"}, "argv"),
        ({"shell": "true\0"}, "argv"),
        ({"argv": [""]}, "argv"),
        ({"argv": ["x"] * 5000}, "argv"),
        ({"argv": ["x" * 200_000]}, "argv"),
        ({"argv": ["/no/such/program"]}, "argv"),
        ({"argv": ["true"], "cwd": "/no/such"}, "cwd"),
        ({"argv": ["true"], "timeout": 0}, "timeout"),
        ({"argv": ["true"], "timeout": 1e12}, "timeout"),
        ({"argv": ["true"], "max_output_bytes": 2**40}, "max_output_bytes"),
        ({"argv": ["true"], "stdin": "not base64!"}, "stdin"),
        ({"argv": ["true"], "env": {"A=B": "x"}}, "env"),
        ({"argv": ["true"], "env": {"A": "x\0"}}, "env"),
        ({"argv": ["true"], "privileged": True}, "privileged"),
    ],
)
async def test_exec_with_a_bad_wish_is_invalid_and_names_the_field(
    body: object, field: str
) -> None:
    async with runtime() as rt:
        status, problem = await rt.call("POST", "/execs", body)
        assert (status, problem["code"].split("_")[0]) in ((422, "invalid"), (422, "no")), problem
        assert problem["field"] == field
        assert rt.execs.all() == []


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"argv":["\\ud800"]}',
        b"[" * 100_000,
        b'{"argv":[1]}',
        b'{"timeout":1e999,"argv":["true"]}',
    ],
)
async def test_hostile_json_is_a_problem_and_never_a_traceback(raw: bytes) -> None:
    async with runtime() as rt:
        for path in ("/execs", "/journal/ack"):
            status, problem = await rt.call("POST", path, raw)
            assert status == 422, problem
            assert "Traceback" not in problem["detail"]
        assert (await rt.call("GET", "/health"))[0] == 200


async def test_body_over_the_limit_is_too_large() -> None:
    async with runtime() as rt:
        status, problem = await rt.call("POST", "/execs", b'"' + b"x" * (17 * 1024 * 1024))
        assert (status, problem["code"]) == (413, "too_large")


@pytest.mark.parametrize("query", ["stdout=-1", "stderr=x", "stdout=99999999999999999999"])
async def test_output_with_a_bad_offset_is_invalid(query: str) -> None:
    async with runtime() as rt:
        record = await run(rt, argv=["true"])
        assert (await rt.call("GET", f"/execs/{record['exec_id']}/output?{query}"))[0] == 422


async def test_journal_notes_the_actor_that_came_with_an_exec() -> None:
    async with runtime() as rt:
        assert (await rt.call("POST", "/execs?actor=adm:ada", {"argv": ["true"]}))[0] == 200
        _, page = await rt.call("GET", "/journal")
        assert [entry["payload"]["actor"] for entry in page["entries"]] == ["adm:ada", "adm:ada"]


async def test_journal_tells_of_execs_without_arguments_or_environment() -> None:
    async with runtime() as rt:
        await run(rt, argv=["sh", "-c", "exit 3 # classified"], env={"SECRET": "hush"})
        _, page = await rt.call("GET", "/journal")
        assert [entry["kind"] for entry in page["entries"]] == ["exec.started", "exec.exited"]
        assert page["entries"][1]["payload"]["exit"] == {"code": 3}
        assert "classified" not in str(page)
        assert "hush" not in str(page)


async def test_exec_is_not_confirmed_once_the_end_of_the_sandbox_was_announced() -> None:
    """Its entry would come after the journal was read for the last time."""
    async with runtime() as rt:
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(rt.call("POST", "/execs", {"argv": ["sleep", "9"]}))
            started = {"argv": ["sleep", "9"], "background": True}
            under_way = (await rt.call("POST", "/execs", started))[1]
            while rt.execs.running < 2:  # noqa: ASYNC110 - no event is sent to outside
                await asyncio.sleep(0.01)
            _, page = await rt.call("GET", "/journal")
            bye = {"reason": "it ends", "guest_reason": "it ends"}
            assert (await rt.call("POST", "/farewell", bye))[0] == 204
            refused = await rt.call("POST", "/execs", {"argv": ["true"]})
            for one in rt.execs.all():
                await one.signal(signal.SIGKILL)
        for status, problem in (refused, waiting.result()):
            assert (status, problem["code"]) == (409, "not_running")
        with pytest.raises(aiohttp.ClientError):
            await lines(rt, f"/execs/{under_way['exec_id']}/output")
        status, _ = await rt.call("POST", "/sessions", {"argv": ["true"]})
        assert status == 409
        kinds = [one["kind"] for one in page["entries"]]
        assert kinds.count("exec.started") == 2


async def test_own_scripts_have_a_place_beside_programs_that_fill_the_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("atoll.runtime.execs.execs.MAX_RUNNING", 1)
    async with runtime() as rt:
        status, _ = await rt.call("POST", "/execs", {"argv": ["cat"], "background": True})
        assert status == 201
        assert (await rt.call("POST", "/execs", {"argv": ["true"]}))[0] == 429
        assert (await run(rt, argv=["/bin/true"], clean_env=True))["exit_code"] == 0
