"""Workers of a whole runtime over a scripted app-server: receipts, the spool, backpressure."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.stage import runtime
from tests.runtime.workers.stage import claude, codex, seen, served

PATIENCE = 20
ASKING = '{"id": 7, "method": "item/commandExecution/requestApproval", "params": {"command": "ls"}}'


def kinds(page: Any) -> list[tuple[int, str, str]]:
    return [
        (one["n"], one["kind"], one.get("request_id") or one["data"]["method"])
        for one in page["entries"]
    ]


@pytest.mark.parametrize("agent", ["codex", "claude"])
async def test_conversation_that_a_machine_must_know_and_does_not_is_refused(
    tmp_path: Path, agent: str
) -> None:
    async with runtime(agents=(codex(tmp_path), claude(tmp_path))) as rt:
        body = {"agent": agent, "mode": "machine", "conversation": "lost", "must_know": True}
        status, problem = await rt.call("POST", "/agents", {**body, "prompt": "say it"})
        assert (status, problem["field"]) == (422, "conversation"), problem
        assert "knows no conversation lost" in problem["detail"]
        (ended,) = (await rt.call("GET", "/agents"))[1]["agents"]
        assert ended["agent_state"] == "stopped"
        assert seen(tmp_path, "turn/start") == []


async def test_conversation_that_a_machine_knows_goes_on_and_a_lost_one_may_begin_anew(
    tmp_path: Path,
) -> None:
    async with runtime(agents=(codex(tmp_path),)) as rt:
        known = {"agent": "codex", "mode": "machine", "conversation": "th", "must_know": True}
        for body in (known, {**known, "conversation": "lost", "must_know": False}):
            status, shown = await rt.call("POST", "/agents", {**body, "prompt": "say it"})
            assert (status, shown["agent_state"]) == (201, "running"), shown


async def test_repeated_request_is_sent_once_and_has_the_same_receipt(tmp_path: Path) -> None:
    async with served(tmp_path) as worker:
        first, second, third = await asyncio.gather(
            *[worker.request("r1", "test/ping", a=1, b=2) for _ in range(3)]
        )
        assert first == second == third
        assert first[0] == 200 and first[1]["receipt"]["kind"] == "response"
        assert first[1]["receipt"]["data"] == {"big": 9007199254740993, "one": 1.0}
        assert await worker.request("r1", "test/ping", b=2, a=1) == first
        status, problem = await worker.request("r1", "test/ping", a=2, b=2)
        assert (status, problem["code"]) == (409, "conflict")
        assert len(seen(tmp_path, "test/ping")) == 1


async def test_traceparent_goes_to_the_agent_and_is_no_part_of_the_request(tmp_path: Path) -> None:
    """A malformed one counts as absent."""
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    async with served(tmp_path) as worker:
        for number, trace in enumerate((parent, "00-nonsense", 'x" , "trace": {}', "")):
            body = {"request_id": f"r{number}", "method": "test/ping", "wait_ms": 20_000}
            for given in (trace, ""):
                status, _ = await worker.rt.call(
                    *("POST", "/workers/w1/requests", {**body, "traceparent": given})
                )
                assert status == 200
        found = [one.get("trace") for one in seen(tmp_path, "test/ping")]
        assert found == [{"traceparent": parent}, None, None, None]


async def test_request_is_pending_until_its_receipt(tmp_path: Path) -> None:
    async with served(tmp_path) as worker:
        assert await worker.request("r1", "test/hang", wait_ms=0) == (202, {"receipt": None})
        assert await worker.request("r1", "test/hang", wait_ms=50) == (202, {"receipt": None})
        answers = await asyncio.gather(
            worker.request("r1", "test/hang"), worker.request("r2", "test/end")
        )
        assert [(status, answered["receipt"]["data"]["code"]) for status, answered in answers] == [
            (200, "outcome_unknown")
        ] * 2
        status, problem = await worker.request("r3", "test/ping")
        assert (status, problem["code"]) == (503, "worker_unavailable")
        await worker.open()
        assert (await worker.request("r3", "test/ping"))[0] == 200
        assert len(seen(tmp_path, "test/hang")) == 1


async def test_errors_are_receipts_with_a_code(tmp_path: Path) -> None:
    async with served(tmp_path) as worker:
        codes = []
        for number, method in enumerate(("test/refuse", "initialize", "serverRequest/respond")):
            _, answered = await worker.request(f"r{number}", method)
            assert answered["receipt"]["kind"] == "error"
            codes.append(answered["receipt"]["data"]["code"])
        assert codes == ["invalid_request", "unsupported_method", "conflict"]


async def test_spool_keeps_events_and_receipts_as_the_agent_wrote_them(tmp_path: Path) -> None:
    odd = '{"method":"item/completed", "params":{"n":9007199254740993,"f":1.0, "t":"\\u0041"}}'
    lines = [odd, '{"method":"item/agentMessage/delta","params":{"delta":"x"}}', "no json"]
    async with served(tmp_path) as worker:
        await worker.request("r1", "test/say", lines=lines)
        async with worker.rt.client.get("http://runtime/workers/w1/spool") as reply:
            assert odd.encode() in await reply.read()
        page = await worker.page()
        assert kinds(page) == [(1, "event", "item/completed"), (2, "response", "r1")]
        page, _ = await asyncio.gather(
            worker.page(after=2, wait=20), worker.request("r2", "test/ping")
        )
        assert kinds(page) == [(3, "response", "r2")]
        await worker.acknowledge(2)
        assert kinds(await worker.page()) == [(3, "response", "r2")]
        assert (await worker.page(after=3))["entries"] == []
    async with served(tmp_path) as worker:
        await worker.request("r4", "test/ping")
        assert [one["n"] for one in (await worker.page())["entries"]] == [3, 4]


async def test_spool_that_is_empty_is_acknowledged_again_and_counts_on(tmp_path: Path) -> None:
    async with served(tmp_path) as worker:
        await worker.acknowledge(0)
        await worker.request("r1", "test/ping")
        for _ in range(2):
            await worker.acknowledge(1)
            assert kinds(await worker.page()) == []
    async with served(tmp_path) as worker:
        await worker.acknowledge(1)
        await worker.request("r2", "test/ping")
        assert kinds(await worker.page()) == [(2, "response", "r2")]


async def test_secrets_are_masked_before_they_are_stored(tmp_path: Path) -> None:
    secret = 'hunter"2-hunter2-hunter2'
    said = json.dumps({"method": "item/completed", "params": {"text": f"it is {secret}"}})
    async with served(tmp_path, secrets=(secret,)) as worker:
        await worker.request("r1", "test/say", lines=[said])
        (event, _) = (await worker.page())["entries"]
        assert event["data"]["params"]["text"].startswith("it is **")
    stored = b"".join(one.read_bytes() for one in (tmp_path / "workers").rglob("*.jsonl"))
    assert b"hunter" not in stored


async def test_question_is_answered_by_request_or_card_whichever_is_first(tmp_path: Path) -> None:
    async with served(tmp_path) as worker:
        await worker.request("r1", "test/say", lines=[ASKING])
        status, answered = await worker.request(
            "r2", "serverRequest/respond", requestId=7, result={"decision": "accept"}
        )
        assert (status, answered["receipt"]["data"]) == (200, {})
        path = f"/sessions/{worker.agent_id}/cards/approval:7/answer"
        assert (await worker.rt.call("POST", path, {"option": "accept"}))[0] == 409
        await worker.request("r3", "test/say", lines=[ASKING.replace("7", "8", 1)])
        path = path.replace("approval:7", "approval:8")
        assert (await worker.rt.call("POST", path, {"option": "accept"}))[0] == 200
        _, late = await worker.request("r4", "serverRequest/respond", requestId=8, result={})
        assert late["receipt"]["data"]["code"] == "conflict"


async def test_full_spool_holds_the_agent_up_and_drops_nothing(tmp_path: Path) -> None:
    lines = [f'{{"method":"item/completed","params":{{"n":{n}}}}}' for n in range(3000)]
    async with served(tmp_path, spool_bytes=16_384) as worker:
        await worker.request("r1", "test/say", lines=lines, wait_ms=0)
        heard: list[Any] = []
        full = 0
        async with asyncio.timeout(PATIENCE):
            while len(heard) < len(lines) + 1:
                after = heard[-1]["n"] if heard else 0
                page = await worker.page(after=after, wait=5)
                if page["full"]:
                    full += 1
                    status, refused = await worker.request("r9", "test/ping")
                    assert (status, refused["code"]) == (503, "worker_unavailable")
                heard += page["entries"]
                await worker.acknowledge(heard[-1]["n"])
        assert full > 3
        assert [one["n"] for one in heard] == list(range(1, len(lines) + 2))
        assert [one["data"]["params"]["n"] for one in heard[:-1]] == list(range(len(lines)))
        assert heard[-1]["request_id"] == "r1"


async def test_words_of_an_agent_that_ended_wait_for_room(tmp_path: Path) -> None:
    lines = [f'{{"method":"item/completed","params":{{"n":{n}}}}}' for n in range(500)]
    async with served(tmp_path, spool_bytes=4096) as worker:
        await worker.request("r1", "test/say", wait_ms=0, lines=lines)
        while not (page := await worker.page(wait=5))["full"]:
            pass
        stop = {"action": "stop", "gaps": [0, 0, 0, 0]}
        await worker.rt.call("POST", f"/sessions/{worker.agent_id}/agent", stop)
        heard = page["entries"]
        async with asyncio.timeout(PATIENCE):
            while heard[-1]["kind"] == "event":
                await worker.acknowledge(heard[-1]["n"])
                heard += (await worker.page(after=heard[-1]["n"], wait=5))["entries"]
        assert [one["n"] for one in heard] == list(range(1, len(heard) + 1))


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"worker_id": "../x", "agent_id": ""}, 422, "invalid"),
        ({"worker_id": "w2", "agent_id": ""}, 409, "conflict"),
        ({"worker_id": "w1", "agent_id": ""}, 201, None),
        ({"worker_id": "w1", "agent_id": "nobody"}, 404, "not_found"),
    ],
)
async def test_worker_is_opened_on_one_agent(
    tmp_path: Path, body: dict[str, str], status: int, code: str | None
) -> None:
    async with served(tmp_path) as worker:
        sent = {**body, "agent_id": body["agent_id"] or worker.agent_id}
        answered, shown = await worker.rt.call("POST", "/workers", sent)
        assert (answered, shown.get("code")) == (status, code)
        assert (await worker.rt.call("GET", "/workers/w1"))[0] == 200
        assert (await worker.rt.call("GET", "/workers/nobody"))[0] == 404


@pytest.mark.parametrize(
    ("request_id", "method", "wait_ms", "field"),
    [("", "a/b", 0, "request_id"), ("r", "a b", 0, "method"), ("r", "a/b", -1, "wait_ms")],
)
async def test_wrong_request_names_its_field(
    tmp_path: Path, request_id: str, method: str, wait_ms: int, field: str
) -> None:
    async with served(tmp_path) as worker:
        status, problem = await worker.request(request_id, method, wait_ms=wait_ms)
        assert (status, problem["field"]) == (422, field)


async def test_agent_of_a_worker_that_goes_on_serves_no_other(tmp_path: Path) -> None:
    async with served(tmp_path) as worker:
        _, other = await worker.rt.call("POST", "/agents", {"agent": "codex", "mode": "machine"})
        body = {"worker_id": "w1", "agent_id": other["id"]}
        assert (await worker.rt.call("POST", "/workers", body))[0] == 409
