"""Routes of review threads: shared by the people of a sandbox, hostile ones among them."""

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.peers.contract import AGENT
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/sandboxes/{sandbox}/threads": {
        "text": "test_thread_is_shared_by_the_people_of_the_sandbox",
        "repo": "test_thread_is_of_a_repository_that_is_there",
        "path": "test_threads_are_sent_once_as_one_prompt",
        "side": "test_threads_are_sent_once_as_one_prompt",
        "line": "test_threads_are_sent_once_as_one_prompt",
        "lines": "test_threads_are_sent_once_as_one_prompt",
    },
    "PATCH /v1/sandboxes/{sandbox}/threads/{thread}": {
        "resolved": "test_settled_thread_is_not_sent_until_it_is_opened_again",
    },
    "POST /v1/sandboxes/{sandbox}/threads/{thread}/remarks": {
        "text": "test_thread_is_shared_by_the_people_of_the_sandbox",
    },
    "PATCH /v1/sandboxes/{sandbox}/threads/{thread}/remarks/{remark}": {
        "text": "test_remark_is_changed_by_its_author_alone",
    },
    "POST /v1/sandboxes/{sandbox}/threads/send": {
        "agent_id": "test_threads_are_sent_once_as_one_prompt",
        "threads": "test_threads_are_sent_once_as_one_prompt",
    },
}
PLACE = {"path": "src/a.py", "side": "new", "line": 3, "lines": ["x = 1"]}


async def shared(team: Team, **more: Any) -> str:
    """Return the path of a sandbox of ada's that the others see."""
    body = {"name": "box", "scope": "shared", **more}
    made = await team.call("ada", "POST", "/v1/sandboxes?wait=ready", json=body)
    assert made.status_code == 201, made.text
    return f"/v1/sandboxes/{made.json()['sandbox_id']}"


async def opened(team: Team, name: str, base: str, **more: Any) -> dict[str, Any]:
    body = {"text": "Why?", **PLACE, **more}
    answer = await team.call(name, "POST", f"{base}/threads", json=body)
    assert answer.status_code == 201, answer.text
    view: dict[str, Any] = answer.json()
    return view


async def events(team: Team, base: str) -> list[tuple[str, str]]:
    """The events of threads of a sandbox, each with who caused it."""
    stream = f"sandbox:{base.rpartition('/')[2]}"
    log = await team.call("ada", "GET", f"/v1/events?stream={stream}&limit=1000")
    assert "Why" not in log.text
    return [
        (one["event_type"], one["actor"]["id"])
        for one in log.json()["events"]
        if one["event_type"].startswith("thread.")
    ]


async def test_thread_is_shared_by_the_people_of_the_sandbox(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member", vic="viewer")
    base = await shared(team)
    first = await opened(team, "bob", base, text=" Why?\u202e ")
    answered = await team.call(
        "ada", "POST", f"{base}/threads/{first['thread_id']}/remarks", json={"text": "Because."}
    )
    seen = await team.call("vic", "GET", f"{base}/threads")
    assert answered.status_code == 201
    (thread,) = seen.json()["threads"]
    assert thread == answered.json()
    assert [(one["author_name"], one["text"]) for one in thread["remarks"]] == [
        ("Bob", "Why?\\u202e"),
        ("Ada", "Because."),
    ]
    assert thread["lines"] == ["x = 1"] and thread["unsent"]
    assert await events(team, base) == [("thread.opened", "bob"), ("thread.replied", "ada")]


async def test_viewer_reads_and_writes_nothing(atoll: World) -> None:
    team = await team_of(atoll, ada="member", vic="viewer")
    base = await shared(team)
    thread = await opened(team, "ada", base)
    at = f"{base}/threads/{thread['thread_id']}"
    remark = f"{at}/remarks/{thread['remarks'][0]['remark_id']}"
    sending = {"agent_id": "t_1", "threads": [thread["thread_id"]]}
    acts: list[tuple[str, str, Any]] = [
        ("POST", f"{base}/threads", {"text": "x"}),
        ("POST", f"{at}/remarks", {"text": "x"}),
        ("PATCH", at, {"resolved": True}),
        ("PATCH", remark, {"text": "x"}),
        ("DELETE", remark, None),
        ("POST", f"{base}/threads/send", sending),
    ]
    answers = [await team.call("vic", method, path, json=body) for method, path, body in acts]
    assert [answer.status_code for answer in answers] == [403] * len(acts)
    assert (await team.call("vic", "GET", f"{base}/threads")).json()["threads"] == [thread]


async def test_threads_of_a_sandbox_that_is_not_shared_are_not_found(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    base = await shared(team, scope="session")
    other = (
        await team.call("bob", "POST", "/v1/sandboxes?wait=ready", json={"name": "his"})
    ).json()
    own = f"/v1/sandboxes/{other['sandbox_id']}"
    thread = (await opened(team, "ada", base))["thread_id"]
    assert (await team.call("bob", "GET", f"{base}/threads")).status_code == 404
    # Nor is one found under a sandbox of one's own.
    answers = [
        await team.call("bob", "POST", f"{own}/threads/{thread}/remarks", json={"text": "x"}),
        await team.call("bob", "PATCH", f"{own}/threads/{thread}", json={"resolved": True}),
        await team.call("bob", "DELETE", f"{own}/threads/{thread}/remarks/rmk_1"),
        await team.call(
            "bob", "POST", f"{own}/threads/send", json={"agent_id": "t_1", "threads": [thread]}
        ),
    ]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert (await team.call("ada", "GET", f"{base}/threads")).json()["threads"][0]["unsent"]


async def test_remark_is_changed_by_its_author_alone(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member", eve="member", root="admin")
    base = await shared(team)
    thread = await opened(team, "bob", base)
    at = f"{base}/threads/{thread['thread_id']}/remarks/{thread['remarks'][0]['remark_id']}"
    tried = [
        await team.call(name, "PATCH", at, json={"text": "mine"}) for name in ("ada", "eve", "root")
    ]
    changed = await team.call("bob", "PATCH", at, json={"text": "How?"})
    refused = await team.call("eve", "DELETE", at)
    gone = await team.call("ada", "DELETE", at)
    assert [answer.status_code for answer in tried] == [403] * 3
    assert changed.json()["remarks"][0]["text"] == "How?"
    assert changed.json()["remarks"][0]["edited_at"] is not None
    assert (refused.status_code, gone.status_code) == (403, 204)
    assert (await team.call("bob", "GET", f"{base}/threads")).json()["threads"] == []
    assert (await team.call("bob", "PATCH", at, json={"text": "x"})).status_code == 404
    assert await events(team, base) == [
        ("thread.opened", "bob"),
        ("thread.changed", "bob"),
        ("thread.removed", "ada"),
    ]


async def test_one_remark_of_several_is_deleted(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    base = await shared(team)
    thread = await opened(team, "bob", base)
    at = f"{base}/threads/{thread['thread_id']}/remarks"
    await team.call("ada", "POST", at, json={"text": "Because."})
    gone = await team.call("bob", "DELETE", f"{at}/{thread['remarks'][0]['remark_id']}")
    (left,) = (await team.call("bob", "GET", f"{base}/threads")).json()["threads"]
    assert gone.status_code == 204
    assert [one["author"] for one in left["remarks"]] == ["ada"]


async def asked(atoll: World) -> list[str]:
    """The prompts that the agent received."""
    return [
        json.loads(body)["prompt"]
        for method, path, _, body in atoll.runtime.asked
        if (method, path) == ("POST", "/sessions/t_1/ask")
    ]


async def test_threads_are_sent_once_as_one_prompt(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    base = await shared(team)
    removed = {"path": "src/b.py", "side": "old", "line": 9, "lines": ["gone\x1b[2J"]}
    ids = [
        (await opened(team, "bob", base, text="Keep it.", **removed))["thread_id"],
        (await opened(team, "ada", base))["thread_id"],
    ]
    unsent = (await opened(team, "ada", base, text="Later."))["thread_id"]
    body = {"agent_id": "t_1", "threads": [*ids, ids[0]]}
    sent = await team.call("ada", "POST", f"{base}/threads/send", json=body)
    again = await team.call("bob", "POST", f"{base}/threads/send", json=body)
    assert sent.status_code == 200, sent.text
    marks = [(one["sent"]["by"], one["sent"]["agent"]) for one in sent.json()["threads"]]
    assert marks == [("ada", AGENT["agent"])] * 2
    assert (again.status_code, again.json()["code"]) == (409, "nothing_to_send")
    assert await asked(atoll) == [
        "Please address these 2 review comments on your changes.\n\n"
        "src/a.py:3\n> x = 1\nWhy?\n\n"
        "src/b.py:9 (a line that was removed)\n> gone\\x1b[2J\nKeep it."
    ]
    listed = (await team.call("bob", "GET", f"{base}/threads")).json()["threads"]
    assert [one["thread_id"] for one in listed if one["unsent"]] == [unsent]
    # What is said later is sent again.
    atoll.clock.at += timedelta(seconds=1)
    await team.call("bob", "POST", f"{base}/threads/{ids[1]}/remarks", json={"text": "Still."})
    await team.call("bob", "POST", f"{base}/threads/send", json=body)
    assert (await asked(atoll))[1:] == [
        "Please address this review comment on your changes.\n\n"
        "src/a.py:3\n> x = 1\nAda: Why?\nBob: Still."
    ]
    assert [kind for kind, _ in await events(team, base)].count("thread.sent") == 3


async def test_threads_that_no_agent_took_stay_unsent(atoll: World) -> None:
    team = await team_of(atoll, ada="member")
    base = await shared(team)
    thread = (await opened(team, "ada", base))["thread_id"]
    body = {"agent_id": "t_1", "threads": [thread]}
    atoll.runtime.scripted["POST", "/sessions/t_1/ask"] = (
        409,
        {"code": "conflict", "detail": "busy"},
    )
    busy = await team.call("ada", "POST", f"{base}/threads/send", json=body)
    nobody = await team.call(
        "ada", "POST", f"{base}/threads/send", json={**body, "agent_id": "t_9"}
    )
    assert (busy.status_code, nobody.status_code) == (409, 404)
    assert (await team.call("ada", "GET", f"{base}/threads")).json()["threads"][0]["unsent"]
    assert [kind for kind, _ in await events(team, base)] == ["thread.opened"]


async def test_prompt_that_is_too_long_is_refused(atoll: World) -> None:
    team = await team_of(atoll, ada="member")
    base = await shared(team)
    ids = [(await opened(team, "ada", base, text="x" * 16384))["thread_id"] for _ in range(17)]
    refused = await team.call(
        "ada", "POST", f"{base}/threads/send", json={"agent_id": "t_1", "threads": ids}
    )
    assert (refused.status_code, refused.json()["code"]) == (429, "limit_reached")
    listed = (await team.call("ada", "GET", f"{base}/threads")).json()["threads"]
    assert all(one["unsent"] for one in listed)
    assert await asked(atoll) == []


async def test_settled_thread_is_not_sent_until_it_is_opened_again(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    base = await shared(team)
    thread = (await opened(team, "ada", base))["thread_id"]
    at, body = f"{base}/threads/{thread}", {"agent_id": "t_1", "threads": [thread]}
    settled = await team.call("bob", "PATCH", at, json={"resolved": True})
    again = await team.call("ada", "PATCH", at, json={"resolved": True})
    refused = await team.call("ada", "POST", f"{base}/threads/send", json=body)
    reopened = await team.call("ada", "PATCH", at, json={"resolved": False})
    sent = await team.call("ada", "POST", f"{base}/threads/send", json=body)
    assert settled.json()["resolved"]["by_name"] == "Bob"
    assert again.json() == settled.json() and not settled.json()["unsent"]
    assert refused.json()["code"] == "nothing_to_send"
    assert reopened.json()["resolved"] is None
    assert sent.status_code == 200
    assert [kind for kind, _ in await events(team, base)] == [
        "thread.opened",
        "thread.resolved",
        "thread.reopened",
        "thread.sent",
    ]


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ({"path": "../a"}, "path"),
        ({"path": "/etc/passwd"}, "path"),
        ({"line": 0}, "line"),
        ({"lines": []}, "lines"),
        ({"lines": ["a\nb"]}, "lines"),
        ({"path": ""}, "line"),
        ({"text": " \n"}, "text"),
    ],
)
async def test_thread_is_about_a_place_that_can_be(
    atoll: World, place: dict[str, Any], field: str
) -> None:
    team = await team_of(atoll, ada="member")
    base = await shared(team)
    body = {"text": "Why?", **PLACE, **place}
    refused = await team.call("ada", "POST", f"{base}/threads", json=body)
    assert (refused.status_code, refused.json()["field"]) == (422, field)
    assert (await team.call("ada", "GET", f"{base}/threads")).json()["threads"] == []


async def test_thread_is_of_a_repository_that_is_there(atoll: World) -> None:
    team = await team_of(atoll, ada="member")
    base = await shared(team)
    refused = await team.call("ada", "POST", f"{base}/threads", json={"text": "x", "repo": 1})
    assert (refused.status_code, refused.json()["field"]) == (422, "repo")


async def test_threads_go_with_their_sandbox(atoll: World) -> None:
    team = await team_of(atoll, ada="member")
    base = await shared(team)
    await opened(team, "ada", base)
    gone = await team.call("ada", "DELETE", f"{base}?wait=true")
    late = await team.call("ada", "POST", f"{base}/threads", json={"text": "x"})
    assert gone.is_success
    assert late.status_code == 409
    async with atoll.ground.store.read() as rows:
        sandbox_id: Any = base.rpartition("/")[2]
        assert await rows.review_threads.of_sandbox(sandbox_id) == []


async def test_place_of_a_file_without_threads_asks_nothing_inside(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await client.post("/v1/sandboxes?wait=ready", json={"name": "box"})
        atoll.runtime.asked.clear()
        answer: httpx.Response = await client.get("/v1/sandboxes/box/changes/threads?path=a.py")
        none = await client.get("/v1/sandboxes/box/changes/threads")
        up = await client.get("/v1/sandboxes/box/changes/threads?path=../a")
    assert answer.json() == {"places": []}
    assert (none.status_code, up.status_code) == (422, 422)
    assert not [path for _, path, _, _ in atoll.runtime.asked if path == "/execs"]
