"""The requests of the runtime contract, and how their answers are read."""

from typing import Any

import msgspec
import pytest

from atoll.wire.contract import (
    agents,
    execs,
    files,
    journal,
    policy,
    ports,
    recordings,
    screens,
    terminals,
    workers,
)
from atoll.wire.contract.call import PathId, RuntimeCall

HERE = (("path", "a"),)

CALLS: list[tuple[RuntimeCall[Any], str]] = [
    (execs.run_exec(execs.ExecBody(shell="ls")), 'POST /execs {"shell":"ls"}'),
    (execs.answer_exec(execs.ExecBody(shell="ls")), 'POST /execs {"shell":"ls"}'),
    (execs.stream_exec(execs.ExecBody(argv=["ls"])), 'POST /execs {"argv":["ls"]}'),
    (
        execs.stream_exec(execs.ExecBody(argv=["ls"]), "adm:ada"),
        'POST /execs?actor=adm:ada {"argv":["ls"]}',
    ),
    (execs.list_execs(), "GET /execs"),
    (execs.get_exec(PathId("e_1")), "GET /execs/e_1"),
    (execs.show_exec(PathId("e_1")), "GET /execs/e_1"),
    (execs.follow_exec(PathId("e_1"), (("stdout", "5"),)), "GET /execs/e_1/output?stdout=5"),
    (execs.feed_exec(PathId("e_1"), b"x", close=True), "POST /execs/e_1/stdin?close=true x"),
    (execs.feed_exec(PathId("e_1"), b"x", close=False), "POST /execs/e_1/stdin x"),
    (
        execs.signal_exec(PathId("e_1"), execs.SignalBody(signal="INT")),
        'POST /execs/e_1/signal {"signal":"INT"}',
    ),
    (execs.forget_exec(PathId("e_1")), "DELETE /execs/e_1"),
    (execs.list_left_running(), "GET /processes"),
    (execs.end_left_running(), "DELETE /processes"),
    (files.list_files(HERE), "GET /files?path=a"),
    (files.stat_file(HERE), "GET /files/stat?path=a"),
    (files.total_files(HERE), "GET /files/total?path=a"),
    (files.read_file(HERE), "GET /files/content?path=a"),
    (files.write_file(HERE, b"x"), "PUT /files/content?path=a x"),
    (files.remove_file(HERE), "DELETE /files?path=a"),
    (files.make_directory(files.MkdirBody(path="a")), 'POST /files/mkdir {"path":"a"}'),
    (
        files.move_file(files.MoveBody(source="a", to="b")),
        'POST /files/move {"from":"a","to":"b"}',
    ),
    (files.pack_files(HERE), "GET /files/archive?path=a"),
    (files.search_files(HERE), "GET /files/search?path=a"),
    (ports.list_ports(), "GET /ports"),
    (files.unpack_files(HERE, b"x"), "PUT /files/archive?path=a x"),
    (files.watch_files(HERE), "GET /files/watch?path=a"),
    (
        journal.read_journal(3, limit=5, away_seconds=9),
        "GET /journal?after=3&limit=5&away=9",
    ),
    (
        journal.read_journal(3, limit=5, away_seconds=9, wait_seconds=2),
        "GET /journal?after=3&limit=5&away=9&wait=2",
    ),
    (journal.acknowledge(3), 'POST /journal/ack {"n":3}'),
    (journal.check_health(), "GET /health"),
    (journal.rest_if_idle(journal.RestBody(unused_seconds=60)), 'POST /rest {"unused_seconds":60}'),
    (screens.take_screens(), "GET /screens"),
    (journal.decide_ask("a_1", "deny"), 'POST /asks/a_1 {"decision":"deny"}'),
    (policy.put_policy(policy.Policy(revision=2)), "PUT /policy"),
    (policy.get_policy(), "GET /policy"),
    (agents.agent_settings("t_1"), "GET /agents/t_1/settings"),
    (
        agents.change_agent("t_1", agents.SettingsBody(model="m"), (("principal", "p"),)),
        'PATCH /agents/t_1/settings?principal=p {"model":"m"}',
    ),
    (terminals.list_terminals(), "GET /sessions"),
    (
        terminals.open_terminal(terminals.OpenBody(), principal="p"),
        "POST /sessions?principal=p {}",
    ),
    (terminals.get_terminal("t_1"), "GET /sessions/t_1"),
    (terminals.close_terminal("t_1"), "DELETE /sessions/t_1"),
    (terminals.close_terminal("t_1", grace_seconds=2.0), "DELETE /sessions/t_1?grace=2"),
    (
        terminals.change_terminal("t_1", terminals.ChangeBody(name="n")),
        'PATCH /sessions/t_1 {"name":"n"}',
    ),
    (
        terminals.resize_terminal("t_1", terminals.ResizeBody(cols=1, rows=2)),
        'POST /sessions/t_1/resize {"cols":1,"rows":2}',
    ),
    (
        terminals.signal_terminal("t_1", execs.SignalBody(signal="INT")),
        'POST /sessions/t_1/signal {"signal":"INT"}',
    ),
    (
        terminals.say_farewell(terminals.FarewellBody(reason="r", guest_reason="g")),
        'POST /farewell {"reason":"r","guest_reason":"g"}',
    ),
    (terminals.tell_everybody(terminals.NoticeBody(text="t")), 'POST /notice {"text":"t"}'),
    (
        agents.open_agent(agents.OpenAgentBody(agent="codex"), principal="p"),
        'POST /agents?principal=p {"agent":"codex"}',
    ),
    (
        agents.open_agent(agents.OpenAgentBody(agent="codex"), principal=None),
        'POST /agents {"agent":"codex"}',
    ),
    (agents.list_agents(), "GET /agents"),
    (agents.get_agent("g_1"), "GET /agents/g_1"),
    (
        agents.act_on_agent("g_1", agents.ActionBody(action="pause"), (("role", "owner"),)),
        'POST /sessions/g_1/agent?role=owner {"action":"pause"}',
    ),
    (
        agents.ask_agent("g_1", agents.AskBody(prompt="x"), ()),
        'POST /sessions/g_1/ask {"prompt":"x"}',
    ),
    (
        agents.wake_agent(agents.WakeBody(wake_id="w", prompt="p", title="t", text="x")),
        'POST /wakes {"wake_id":"w","prompt":"p","title":"t","text":"x"}',
    ),
    (agents.get_card("g_1", "c_1"), "GET /sessions/g_1/cards/c_1"),
    (agents.list_cards("g_1", since=4), "GET /sessions/g_1/cards?since=4"),
    (
        agents.answer_card("g_1", "c_1", agents.AnswerBody(option="yes"), ()),
        'POST /sessions/g_1/cards/c_1/answer {"option":"yes"}',
    ),
    (
        recordings.list_marks(PathId("t_1"), since=4),
        "GET /sessions/t_1/marks?since=4",
    ),
    (recordings.read_text(PathId("t_1"), since=4), "GET /sessions/t_1/text?since=4"),
    (
        recordings.start_recording(PathId("t_1"), principal="p", name="n"),
        "POST /sessions/t_1/recording?principal=p&name=n",
    ),
    (recordings.stop_recording(PathId("t_1")), "DELETE /sessions/t_1/recording"),
    (recordings.list_recordings(), "GET /recordings"),
    (recordings.read_recording(PathId("r_1")), "GET /recordings/r_1"),
    (recordings.remove_recording(PathId("r_1")), "DELETE /recordings/r_1"),
    (recordings.search_output((("q", "x"),)), "GET /search?q=x"),
    (
        workers.open_worker(workers.OpenWorkerBody(worker_id="w1", agent_id="g_1")),
        'POST /workers {"worker_id":"w1","agent_id":"g_1"}',
    ),
    (workers.get_worker(PathId("w1")), "GET /workers/w1"),
    (
        workers.request_worker(
            PathId("w1"),
            workers.WorkerRequestBody(request_id="r", method="a/b", params={"n": 1.0}),
        ),
        'POST /workers/w1/requests {"request_id":"r","method":"a/b","params":{"n":1.0}}',
    ),
    (
        workers.read_spool(PathId("w1"), after=3, limit=5),
        "GET /workers/w1/spool?after=3&limit=5",
    ),
    (
        workers.read_spool(PathId("w1"), after=3, limit=5, wait_seconds=2),
        "GET /workers/w1/spool?after=3&limit=5&wait=2",
    ),
    (workers.follow_deltas(PathId("w1")), "GET /workers/w1/live"),
    (workers.acknowledge_spool(PathId("w1"), 3), 'POST /workers/w1/spool/ack {"n":3}'),
]


@pytest.mark.parametrize(("call", "expected"), CALLS)
def test_request_is_spelled_as_the_contract_has_it(call: RuntimeCall[Any], expected: str) -> None:
    query = "&".join("=".join(pair) for pair in call.query)
    line = f"{call.method} {call.path}" + (f"?{query}" if query else "")
    if isinstance(call.body, bytes) and call.path != "/policy":
        line += f" {call.body.decode()}"
    assert line == expected


def test_headers_ask_for_lines_and_for_a_part() -> None:
    streamed = execs.stream_exec(execs.ExecBody(argv=["ls"]))
    assert streamed.headers == (("Accept", "application/x-ndjson"),)
    assert files.read_file(HERE, byte_range="bytes=1-").headers == (("Range", "bytes=1-"),)


def test_answers_are_read_as_their_kind() -> None:
    entry = files.FileEntry("a", "a", "file", 1, "0644", "2026-01-01T00:00:00Z")
    written = files.write_file(HERE, b"x")
    assert written.read(201, msgspec.json.encode(entry)) == files.Written(entry, new=True)
    assert written.read(200, msgspec.json.encode(entry)) == files.Written(entry, new=False)
    assert execs.list_execs().read(200, b'{"execs":[]}') == execs.ExecList(())
    assert files.pack_files(HERE).read(200, b"tar") == b"tar"
    assert execs.forget_exec(PathId("e_1")).read(204, b"") is None


def test_end_of_a_process_is_one_word() -> None:
    assert terminals.End(signal="KILL").words() == {"signal": "KILL"}
    assert terminals.End(code=3).words() == {"code": 3}
    assert terminals.End().words() == {"code": 0}


def test_answer_names_the_question_by_the_name_of_the_runtime() -> None:
    answer = {"server_request_id": "q1", "result": {}}
    body = workers.request_body("r", "serverRequest/respond", answer, wait_ms=5, traceparent="00-a")
    assert body.params == {"requestId": "q1", "result": {}}
    assert (body.request_id, body.wait_ms, body.traceparent) == ("r", 5, "00-a")
    assert workers.request_body("r", "thread/list", {"limit": 1}).params == {"limit": 1}
