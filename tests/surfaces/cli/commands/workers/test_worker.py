"""`atoll worker`: created, asked, answered, followed over cuts, and stopped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from atoll.client.desktop.calls import HostedLease
from atoll.client.desktop.folders import WorkerFolder
from atoll.surfaces.cli.console.exits import CONFLICT, FAILED, OK, UNAVAILABLE, USAGE
from atoll.surfaces.cli.overview import worker_stream
from tests.surfaces.cli.conftest import Cli
from tests.surfaces.cli.scripted import Scripted, Seen, problem

PLACE = "/v1/workers/docs"
STOPPING = {"worker_id": "docs", "status": "stopping", "markers": None}
Agent = dict[str, Any]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_stream, "PAUSE_SECONDS", 0.0)


def worker(**changed: Any) -> dict[str, Any]:
    shown = {
        "worker_id": "docs",
        "agent": "codex",
        "backend": "namespaces",
        "extension": "ext.namespaces",
        "permissions": "ask",
        "teardown": {"policy": "retain", "retain_for": "7d"},
        "status": "running",
        "reason": None,
        "latest_seq": 2,
        "sandbox": {
            "id": "sb_one",
            "region": None,
            "host": "local",
            "isolation": {"level": "container", "mechanism": "bubblewrap", "degraded": []},
        },
        "heartbeat_state": "fresh",
        "heartbeat_age_ms": 310,
        "pending": {"request_ids": ["r7"]},
        "held_by_person": False,
        "created_at": "2026-01-01T00:00:00Z",
    }
    return {**shown, **changed}


def event(seq: int, kind: str, **said: Any) -> dict[str, Any]:
    at = "2026-01-01T00:00:00Z"
    member = kind.removeprefix("worker.").replace(".", "_")
    return {
        "worker_id": "docs",
        "seq": seq,
        "event_type": kind,
        "at": at,
        "payload": {member: said},
    }


def said(seq: int, method: str, question: str | None = None, **params: Any) -> dict[str, Any]:
    asks = {} if question is None else {"server_request_id": question}
    return event(seq, "worker.event", method=method, params=json.dumps(params), **asks)


def streaming(server: Scripted, *parts: list[dict[str, Any]] | web.StreamResponse) -> list[str]:
    """Answer each connection by the next part; the last one is the worker's end or an error."""
    cursors: list[str] = []
    rest = list(parts)

    def answer(seen: Seen) -> web.StreamResponse:
        cursors.append(seen.query["cursor"])
        part = rest.pop(0)
        if isinstance(part, web.StreamResponse):
            return part
        frames = [f"id: {one['seq']}\nevent: x\ndata: {json.dumps(one)}\n\n" for one in part]
        body = "retry: 1000\nid: 0\n\n: still here\n\n" + "".join(frames)
        return web.Response(text=body, content_type="text/event-stream")

    server.answers[f"GET {PLACE}/stream"] = answer
    return cursors


def talking(server: Scripted, agent: Agent) -> list[tuple[str, dict[str, Any]]]:
    """Answer requests by their method; a method that is not named has no answer yet."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def answer(seen: Seen) -> web.Response:
        wanted = seen.json["request"]
        asked.append((wanted["method"], wanted["params"]))
        head = {"worker_id": "docs", "request_id": wanted["request_id"]}
        outcome = agent.get(wanted["method"])
        return web.json_response({**head, **(outcome or {})}, status=200 if outcome else 202)

    server.answers[f"POST {PLACE}/requests"] = answer
    server.answers[f"GET {PLACE}/snapshot"] = lambda _: web.json_response(worker())
    return asked


def result(**members: Any) -> dict[str, Any]:
    return {"response": {"result": json.dumps(members)}}


ASKED = {
    "thread/loaded/list": result(data=["th1"]),
    "thread/list": result(data=[{"id": "th1"}]),
    "turn/start": result(turn={"id": "t1"}),
}
STOPPED = event(9, "worker.torn_down", policy="retain", removed=["sandbox:sb_one"], leftovers=[])


def ended(seq: int, status: str = "completed", turn: str = "t1", **more: Any) -> dict[str, Any]:
    turn_of: dict[str, Any] = {"id": turn, "status": status, **more}
    return said(seq, "turn/completed", threadId="th1", turn=turn_of)


def test_create_sends_what_was_named_and_waits_until_it_runs(cli: Cli, server: Scripted) -> None:
    server.add("box")
    made = {"reattached": False, "worker": worker(status="starting")}
    server.answers["POST /v1/workers"] = lambda _: web.json_response(made, status=201)
    states = iter(["starting", "running"])
    server.answers[f"GET {PLACE}/snapshot"] = lambda _: web.json_response(
        worker(status=next(states))
    )
    assert cli("worker", "create", "docs").out == "docs was created and is starting\n"
    # A field that is named must be as what stands, so a usual value is not.
    assert server.requests("POST", "/v1/workers")[0].json == {"worker_id": "docs"}
    more = ("--sandbox", "box", "--ask-first", "--retain-for", "90m", "--thread", "th1")
    assert cli("worker", "create", "docs", "--wait", *more).out == "docs runs in sb_one\n"
    sent = server.requests("POST", "/v1/workers")[1].json
    assert sent["workspace_ref"] == "sandbox:sb_box/workspace"
    assert (sent["permissions"], sent["thread_id"]) == ("ask", "th1")
    assert sent["teardown"] == {"policy": "retain", "retain_for": "90m"}


def test_create_sends_the_limits_of_the_choice(cli: Cli, server: Scripted) -> None:
    made = {"reattached": False, "worker": worker(status="starting")}
    server.answers["POST /v1/workers"] = lambda _: web.json_response(made, status=201)
    ran = cli(
        *("worker", "create", "docs", "--allow", "docker", "--allow", "ext.mine"),
        *("--strategy", "lowest-cost", "--region", "eu", "--max-cost", "0.12 EUR"),
        *("--max-ready", "900", "--min-success", "0.9", "--isolation", "container"),
        "--accept-open-network",
    )
    assert ran.code == OK
    assert server.requests("POST", "/v1/workers")[0].json["selection"] == {
        "allow": ["docker", "ext.mine"],
        "strategy": "lowest-cost",
        "region": "eu",
        "max_cost_per_hour": {"amount": "0.12", "currency": "EUR"},
        "max_ready_ms": 900,
        "min_success": 0.9,
        "require_isolation": "container",
        "accept_open_network": True,
    }
    assert cli("worker", "create", "docs", "--max-cost", "cheap").code == USAGE


def test_create_of_a_worker_that_fails_says_why(cli: Cli, server: Scripted) -> None:
    made = {"reattached": True, "worker": worker(status="starting")}
    failed = worker(status="failed", reason="No host has room.")
    server.answers["POST /v1/workers"] = lambda _: web.json_response(made)
    server.answers[f"GET {PLACE}/snapshot"] = lambda _: web.json_response(failed)
    ran = cli("worker", "create", "docs", "--repo", "https://git.example/o/r", "--wait", "--json")
    assert (ran.code, ran.out) == (FAILED, "")
    assert "worker docs is failed: No host has room" in ran.err
    assert server.requests("POST", "/v1/workers")[0].json["repos"] == [
        {"repo_url": "https://git.example/o/r"}
    ]


def test_list_shows_every_page_and_show_one_worker(cli: Cli, server: Scripted) -> None:
    def listed(seen: Seen) -> web.Response:
        first = "cursor" not in seen.query
        name = "docs" if first else "old\x1b[2J"
        rows = [worker(worker_id=name)]
        return web.json_response({"workers": rows, "next": "c1" if first else None})

    server.answers["GET /v1/workers"] = listed
    server.answers[f"GET {PLACE}/snapshot"] = lambda _: web.json_response(worker())
    lines = cli("worker", "list").out.splitlines()
    assert lines[0].split() == ["WORKER", "AGENT", "BACKEND", "STATUS", "HEARTBEAT"]
    assert lines[1].split() == ["docs", "codex", "namespaces", "running", "fresh"]
    assert lines[2].startswith("old\\x1b[2J")
    shown = cli("worker", "show", "docs").out.splitlines()
    assert "heartbeat:    fresh, 0.3 s ago" in shown
    assert "agent:        codex, which asks before it acts" in shown
    assert "backend:      namespaces on local" in shown
    assert "pending:      r7" in shown
    assert json.loads(cli("worker", "show", "docs", "--json").out) == worker()


def test_show_has_threads_questions_usage_and_artifacts(cli: Cli, server: Scripted) -> None:
    shown = worker(
        threads=[
            {"thread_id": "th1", "turn_id": "t1", "title": "Write\x1b[2J"},
            {"thread_id": "th2", "turn_id": None, "title": None},
        ],
        pending={
            "request_ids": [],
            "server_requests": [{"server_request_id": "4", "method": "item/x/requestApproval"}],
        },
        usage={"requests": 3, "input_tokens": 50, "output_tokens": 6, "cached_tokens": 20},
        artifacts=[{"name": "app.tgz", "size": 5120}],
    )
    server.answers[f"GET {PLACE}/snapshot"] = lambda _: web.json_response(shown)
    lines = cli("worker", "show", "docs").out.splitlines()
    assert "threads:      th1 'Write\\x1b[2J', at work, th2" in lines
    assert "asks:         4 (item/x/requestApproval)" in lines
    assert "usage:        3 calls of models, 50 tokens in (20 cached), 6 out" in lines
    assert "artifacts:    app.tgz (5120 bytes)" in lines


def test_erase_says_how_much_was_deleted(cli: Cli, server: Scripted) -> None:
    erased = {"removed": 340, "resume_after": 340}
    server.answers[f"DELETE {PLACE}/stream"] = lambda _: web.json_response(erased)
    assert cli("worker", "erase", "docs").out == "340 events of docs were deleted\n"
    assert json.loads(cli("worker", "erase", "docs", "--json").out) == erased


@pytest.mark.parametrize(("reattached", "told"), [(False, 1), (True, 0)])
def test_create_says_how_long_what_is_said_is_kept(
    cli: Cli, server: Scripted, reattached: bool, told: int
) -> None:
    made = {"reattached": reattached, "worker": worker(), "events_kept_for": "30d"}
    server.answers["POST /v1/workers"] = lambda _: web.json_response(made)
    ran = cli("worker", "create", "docs")
    assert ran.err.count("kept for 30d; `atoll worker erase docs` deletes it") == told


def test_ask_names_its_turn_and_waits_for_its_end(cli: Cli, server: Scripted) -> None:
    asked = talking(server, ASKED)
    ran = cli("worker", "ask", "docs", "Write it")
    assert ran.out == "turn t1 of thread th1: `atoll worker follow docs`\n"
    assert asked[-1][1]["input"] == [{"type": "text", "text": "Write it"}]
    of_turn = {"threadId": "th1", "turnId": "t1"}
    cursors = streaming(
        server,
        [
            said(3, "item/completed", item={"type": "agentMessage", "text": "Of another."}),
            ended(4, turn="t0"),
            said(5, "item/commandExecution/requestApproval", "4", **of_turn),
            said(
                6, "item/completed", **of_turn, item={"type": "commandExecution", "command": "ls"}
            ),
            said(
                7, "item/completed", **of_turn, item={"type": "agentMessage", "text": "Done.\x07"}
            ),
            ended(8),
        ],
    )
    ran = cli("worker", "ask", "docs", "Write it", "--wait")
    assert ran.out == "$ ls\nDone.\\x07\n"
    assert "it asks: `atoll worker answer docs 4`" in ran.err
    assert (ran.code, cursors) == (OK, ["2"])


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (ended(3, "failed", error={"message": "No key."}), "not completed: No key"),
        (ended(3, "interrupted"), "not completed: interrupted"),
        (event(3, "worker.stopped", status="stopped"), "docs ended before its turn did"),
    ],
)
def test_turn_that_does_not_complete_is_a_failure(
    cli: Cli, server: Scripted, last: dict[str, Any], why: str
) -> None:
    talking(server, ASKED)
    streaming(server, [last])
    ran = cli("worker", "ask", "docs", "Write it", "--wait", "--json")
    assert ran.code == FAILED and why in ran.err
    assert json.loads(ran.out) == {"thread_id": "th1", "turn_id": "t1"}


def test_request_prints_the_agents_answer_or_why_there_is_none(cli: Cli, server: Scripted) -> None:
    refused = {"code": "invalid_request", "message": "Unknown thread.", "retryable": False}
    asked = talking(
        server, {"thread/read": result(thread={"id": "x"}), "thread/fork": {"error": refused}}
    )
    ran = cli("worker", "request", "docs", "thread/read", '{"threadId": "x"}', "--id", "mine")
    assert json.loads(ran.out) == {"thread": {"id": "x"}}
    sent = server.requests("POST", f"{PLACE}/requests")[0].json
    assert sent["request"]["request_id"] == "mine" and sent["wait_ms"] == 30_000
    ran = cli("worker", "request", "docs", "thread/fork")
    assert ran.code == USAGE and "Unknown thread" in ran.err
    ran = cli("worker", "request", "docs", "thread/list", "--wait", "0")
    assert ran.code == UNAVAILABLE and "has no answer yet" in ran.err
    ran = cli("worker", "request", "docs", "thread/list", "--wait", "0", "--json")
    assert ran.code == OK and "request_id" in ran.out
    assert [params for _, params in asked] == [{"threadId": "x"}, {}, {}, {}]
    for wrong in ("{", "[]"):
        assert cli("worker", "request", "docs", "thread/read", wrong).code == USAGE
    assert len(asked) == 4


def test_answer_is_a_decision_or_an_object(cli: Cli, server: Scripted) -> None:
    asked = talking(server, {"serverRequest/respond": result()})
    assert cli("worker", "answer", "docs", "4", "--decision", "accept").out == "answered 4\n"
    cli("worker", "answer", "docs", "5", "--result", '{"answers": {}}')
    assert [params for _, params in asked] == [
        {"server_request_id": "4", "result": {"decision": "accept"}},
        {"server_request_id": "5", "result": {"answers": {}}},
    ]
    assert cli("worker", "answer", "docs", "4").code == USAGE
    both = ("--decision", "accept", "--result", "{}")
    assert cli("worker", "answer", "docs", "4", *both).code == USAGE
    assert len(asked) == 2


def test_follow_resumes_after_the_last_event_until_the_worker_is_removed(
    cli: Cli, server: Scripted
) -> None:
    cursors = streaming(
        server,
        [event(2, "worker.request.received", request_id="r1", method="turn/start")],
        problem(503, "unavailable", "restarting"),
        [
            said(3, "item/completed", item={"type": "agentMessage", "text": "Hi\x1b[2J"}),
            said(4, "item/fileChange/requestApproval", "7", reason="write"),
            event(5, "worker.lost", epoch=1, reason="silent"),
        ],
        [STOPPED],
    )
    ran = cli("worker", "follow", "docs", "--after", "1", "--utc")
    at = "2026-01-01 00:00:00 UTC"
    assert ran.out.splitlines() == [
        f"2  {at}  worker.request.received  r1 turn/start",
        f"3  {at}  item/completed  agentMessage Hi\\x1b[2J",
        f"4  {at}  item/fileChange/requestApproval  question 7  write",
        f"5  {at}  worker.lost  epoch=1 reason=silent",
        f'9  {at}  worker.torn_down  policy=retain removed=["sandbox:sb_one"]',
    ]
    assert cursors == ["1", "2", "2", "5"]
    assert (ran.code, ran.err.count("waiting for the server")) == (OK, 1)


def test_follow_ends_where_it_was_told_to(cli: Cli, server: Scripted) -> None:
    for name, ends in (("turn/completed", 4), ("worker.lost", 5)):
        streaming(server, [ended(4), event(5, "worker.lost")])
        ran = cli("worker", "follow", "docs", "--until", name, "--json")
        assert json.loads(ran.out.splitlines()[-1])["seq"] == ends


def piece(item: str, text: str) -> dict[str, Any]:
    params = json.dumps({"itemId": item, "delta": text})
    return {"worker_id": "docs", "method": "item/agentMessage/delta", "params": params}


def heard(server: Scripted, *said: dict[str, Any]) -> list[dict[str, str]]:
    """Answer with a stream of these events and pieces."""
    queries: list[dict[str, str]] = []

    def answer(seen: Seen) -> web.StreamResponse:
        queries.append(dict(seen.query))
        frames = [
            f"id: {one['seq']}\nevent: x\ndata: {json.dumps(one)}\n\n"
            if "seq" in one
            else f"event: worker.delta\ndata: {json.dumps(one)}\n\n"
            for one in said
        ]
        return web.Response(text="retry: 1000\nid: 0\n\n" + "".join(frames))

    server.answers[f"GET {PLACE}/stream"] = answer
    return queries


TALK = (
    piece("i1", "Hel"), piece("i1", "lo\x1b[2J\n"), piece("i1", "there"), piece("i2", "Other"),
    {"worker_id": "docs", "method": "x/delta", "params": "{"},
)  # fmt: skip


def test_live_follow_prints_pieces_of_one_item_together(cli: Cli, server: Scripted) -> None:
    completed = said(3, "item/completed", item={"type": "agentMessage", "text": "Hi"})
    heard(server, *TALK, completed, STOPPED)
    lines = cli("worker", "follow", "docs", "--live").out.splitlines()
    assert lines[:3] == ["Hello\\x1b[2J", "there", "Other"]
    assert "item/completed" in lines[3] and len(lines) == 5
    assert len(cli("worker", "follow", "docs").out.splitlines()) == 2
    shown = cli("worker", "follow", "docs", "--live", "--json").out.splitlines()
    assert json.loads(shown[0]) == TALK[0] and len(shown) == 7


def test_tail_ends_with_what_is_there(cli: Cli, server: Scripted) -> None:
    queries = heard(server, piece("i1", "Hel"), ended(4))
    ran = cli("worker", "follow", "docs", "--after", "3", "--tail-ms", "0")
    assert (ran.code, ran.out.count("turn/completed")) == (OK, 1)
    assert queries == [{"cursor": "3", "tail_ms": "0"}]
    assert cli("worker", "follow", "docs", "--tail-ms", "60001").code == USAGE


Refusal = Callable[[], web.StreamResponse]


@pytest.mark.parametrize(
    ("refusal", "code", "words"),
    [
        (
            lambda: problem(410, "stale_cursor", "Events up to 7 are no longer kept."),
            CONFLICT,
            "events up to 7 are no longer kept (`--after` takes that number)",
        ),
        (lambda: problem(409, "conflict", "Not now."), CONFLICT, "Not now"),
        (lambda: problem(404, "not_found", "There is no worker 'docs'."), 3, "no worker"),
    ],
)
def test_follow_that_cannot_go_on_says_why(
    cli: Cli, server: Scripted, refusal: Refusal, code: int, words: str
) -> None:
    streaming(server, [ended(3)], refusal())
    ran = cli("worker", "follow", "docs")
    assert ran.code == code
    assert words.lower() in ran.err.lower()
    assert ran.out.count("turn/completed") == 1


def test_stop_says_where_the_files_are(cli: Cli, server: Scripted) -> None:
    answers = iter([None, {"last_seq": 9, "workspace_ref": "sandbox:sb_one/workspace"}])

    def stop(_: Seen) -> web.Response:
        markers = next(answers)
        status = "stopping" if markers is None else "stopped"
        shown = {"worker_id": "docs", "status": status, "markers": markers}
        return web.json_response(shown, status=202)

    server.answers[f"POST {PLACE}/stop"] = stop
    assert cli("worker", "stop", "docs", "--reason", "done").out == "docs is stopping\n"
    said_again = cli("worker", "stop", "docs").out
    assert said_again == "docs is stopped, its files are sandbox:sb_one/workspace\n"
    assert server.requests("POST", f"{PLACE}/stop")[0].json == {"reason": "done"}


def test_take_says_where_the_terminal_is_and_give_back_ends_that(
    cli: Cli, server: Scripted
) -> None:
    taken = {"worker_id": "docs", "sandbox_id": "sb_one", "terminal_id": "t_1", "thread_id": "019b"}
    server.answers[f"POST {PLACE}/take"] = lambda _: web.json_response(taken)
    server.answers[f"POST {PLACE}/give-back"] = lambda _: web.json_response(worker())
    ran = cli("worker", "take", "docs", "--thread", "019b", "--detached")
    assert ran.out == "docs: `atoll attach sb_one --terminal t_1`\n"
    sent = server.requests("POST", f"{PLACE}/take")[0].json
    assert sent == {"thread_id": "019b", "desktop": None}
    assert json.loads(cli("worker", "take", "docs", "--json").out) == taken
    assert cli("worker", "give-back", "docs").out == "docs takes requests again\n"


def test_take_without_a_terminal_takes_nothing(cli: Cli, server: Scripted) -> None:
    ran = cli("worker", "take", "docs")
    assert (ran.code, server.seen) == (USAGE, [])
    assert "needs a terminal" in ran.err and "--detached" in ran.err


def test_backend_of_somebody_else_is_shown_by_its_id(cli: Cli, server: Scripted) -> None:
    mine = worker(backend="extension", extension="ext.mine")
    server.answers[f"GET {PLACE}/snapshot"] = lambda _: web.json_response(mine)
    page = {"workers": [mine], "next": None}
    server.answers["GET /v1/workers"] = lambda _: web.json_response(page)
    assert "backend:      ext.mine on local\n" in cli("worker", "show", "docs").out
    assert cli("worker", "list").out.splitlines()[1].split()[2] == "ext.mine"


def test_take_names_the_machine_only_where_the_worker_is_on_it(
    cli: Cli, server: Scripted, environ: dict[str, str], tmp_path: Path
) -> None:
    environ["XDG_DATA_HOME"] = str(tmp_path)
    for name in ("laptop", "old"):
        folder = WorkerFolder(tmp_path / "atoll" / "desktop" / name, "docs")
        folder.make()
        folder.keep(HostedLease("docs", 1, "atw_x"))
    there = {"worker_id": "docs", "sandbox_id": "dk_1.1", "terminal_id": "t_1", "thread_id": "t"}
    shown = worker()
    server.answers[f"POST {PLACE}/take"] = lambda _: web.json_response(there)
    server.answers[f"GET {PLACE}/snapshot"] = lambda _: web.json_response(shown)
    for host, desktop in (("laptop", "laptop"), ("tower", None)):
        shown["sandbox"] = {"id": "dk_1.1", "host": host}
        there["desktop"] = host
        ran = cli("worker", "take", "docs", "--detached")
        assert ran.out == "docs: `atoll worker take docs`\n"
        assert server.requests("POST", f"{PLACE}/take")[-1].json == {
            "thread_id": None,
            "desktop": desktop,
        }


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"leftovers": ["sandbox:sb_one"]}, "left something"),
        ({"again": '{"thread":{"id":"b"}}'}, "another answer"),
        ({"lost": True}, "another one when it is resumed"),
        ({"level": ""}, "does not say how sb_one is isolated"),
    ],
)
def test_check_fails_where_a_backend_does_not_hold_the_contract(
    cli: Cli, server: Scripted, changed: dict[str, Any], why: str
) -> None:
    """It stops its worker whatever fails."""
    names: list[str] = []
    sent: list[str] = []
    ended = event(4, "worker.torn_down", leftovers=changed.get("leftovers", []))

    def create(seen: Seen) -> web.Response:
        names.append(seen.json["worker_id"])
        place = f"/v1/workers/{names[0]}"
        wall = {"level": changed.get("level", "container"), "mechanism": "bwrap", "degraded": []}
        shown = worker(sandbox={"id": "sb_one", "isolation": wall})
        server.answers[f"GET {place}/snapshot"] = lambda _: web.json_response(shown)
        server.answers[f"POST {place}/requests"] = answer
        server.answers[f"POST {place}/stop"] = lambda _: web.json_response(STOPPING)
        server.answers[f"GET {place}/stream"] = follow
        return web.json_response({"reattached": False, "worker": shown}, status=201)

    def answer(seen: Seen) -> web.Response:
        sent.append(seen.json["request"]["request_id"])
        first = '{"thread":{"id":"a"}}'
        result = changed.get("again", first) if len(sent) > 1 else first
        return web.json_response({"request_id": sent[-1], "response": {"result": result}})

    def follow(seen: Seen) -> web.Response:
        events = [event(1, "worker.started"), event(2, "worker.request.received")]
        events += [event(3, "worker.response", request_id=one) for one in sent[:1]]
        after = int(seen.query["cursor"])
        shown = events[after + ("lost" in changed and after > 0) :]
        text = "".join(f"id: {one['seq']}\ndata: {json.dumps(one)}\n\n" for one in [*shown, ended])
        return web.Response(text=text, content_type="text/event-stream")

    server.answers["POST /v1/workers"] = create
    ran = cli("worker", "check", "--backend", "daytona")
    assert ran.code != OK and why in ran.err
    assert server.requests("POST", f"/v1/workers/{names[0]}/stop")
    assert server.requests("POST", "/v1/workers")[0].json["backend"] == "daytona"
