"""The projection of agents over HTTP: as it is, and then as it changes."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import websockets

from atoll.domain.event import EventDraft, Json
from atoll.domain.event_retention import Removal
from atoll.domain.ids import PERSONAL_ORG, EventId, PrincipalId, SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.lifecycle.projections import catch_up
from tests.surfaces.http.world import World, client_of

STATUS: dict[str, Json] = {"agent": "codex", "mode": "tui", "since": "2026-01-01T00:00:00.000Z"}


async def _sandbox(atoll: World, name: str) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"name": name})
        return str(made.json()["sandbox_id"])


async def _report(atoll: World, sandbox: str, n: int, *, owner: str = LOCAL_PERSON.id) -> int:
    """Append that an agent works, and derive it. Returns the event's position."""
    payload: dict[str, Json] = {**STATUS, "sandbox_id": sandbox, "generation": 1}
    draft = EventDraft(
        EventId(f"ev_{sandbox}_{n}"),
        f"sandbox:{sandbox}",
        "agent.status",
        datetime(2026, 1, 1, tzinfo=UTC),
        PERSONAL_ORG,
        PrincipalId(owner),
        LOCAL_PERSON,
        None,
        {**payload, "n": n, "id": f"t_{n}", "status": "working"},
    )
    async with atoll.ground.store.begin() as rows:
        (event,) = await rows.events.append((draft,))
        await catch_up(rows)
    atoll.ground.bus.announce((draft.stream,))
    return event.position


def _socket(atoll: World, query: str = "", token: str | None = None) -> Any:
    address = atoll.url.replace("http", "ws", 1)
    headers = {"Authorization": f"Bearer {token or atoll.token}"}
    path = f"{address}/v1/projections/agents/stream{query}"
    return websockets.connect(path, additional_headers=headers)


async def _next(socket: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await socket.recv())
    return found


def _agents(update: dict[str, Any]) -> list[str]:
    return [one["id"] for one in update["agents"]]


async def test_socket_sends_all_agents_then_those_of_the_sandbox_that_changed(
    atoll: World,
) -> None:
    one, two = await _sandbox(atoll, "one"), await _sandbox(atoll, "two")
    await _report(atoll, one, 1)
    async with asyncio.timeout(10), _socket(atoll) as socket:
        first = await _next(socket)
        assert (first["sandbox_id"], _agents(first)) == (None, ["t_1"])
        assert first["agents"][0]["sandbox_name"] == "one"
        position = await _report(atoll, two, 2)
        then = await _next(socket)
        assert then == {**then, "sandbox_id": two, "position": position}
        assert _agents(then) == ["t_2"]
        async with client_of(atoll.url, atoll.token) as client:
            await client.post(f"/v1/sandboxes/{two}/stop")
            while (then := await _next(socket))["agents"][0]["status"]["status"] != "stopped":
                pass
            listed = (await client.get("/v1/agents")).json()["agents"]
        assert then["agents"] == [one for one in listed if one["sandbox_id"] == two]
    async with asyncio.timeout(10), _socket(atoll, f"?after={position - 1}") as socket:
        assert (await _next(socket))["sandbox_id"] == two


async def test_stream_resumes_after_the_last_id_or_begins_anew_where_the_log_has_a_gap(
    atoll: World,
) -> None:
    sandbox = await _sandbox(atoll, "one")
    position = await _report(atoll, sandbox, 1)

    async def first(after: int) -> tuple[str, list[str]]:
        headers = {"Last-Event-ID": str(after)}
        path = "/v1/projections/agents/stream"
        async with (
            asyncio.timeout(10),
            client_of(atoll.url, atoll.token) as client,
            client.stream("GET", path, headers=headers) as answer,
        ):
            kind = ""
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                kind = value if name == "event" else kind
                if name == "data":
                    return kind, _agents(json.loads(value))
        raise AssertionError

    assert await first(position - 1) == ("changed", ["t_1"])
    # A position that the log has not reached: it was set back.
    assert await first(position + 5000) == ("all", ["t_1"])
    async with atoll.ground.store.begin() as rows:
        at = datetime.now(UTC)
        assert await rows.events.remove(Removal(f"sandbox:{sandbox}", at, 1000, 100))
    assert await first(0) == ("all", ["t_1"])


async def test_what_is_somebody_elses_is_not_sent(atoll: World) -> None:
    mine, other = await _sandbox(atoll, "one"), await _sandbox(atoll, "two")
    async with atoll.ground.store.begin() as rows:
        sandbox = await rows.sandboxes.get(SandboxId(other))
        assert sandbox is not None
        await rows.sandboxes.update(replace(sandbox, owner=PrincipalId("eve")))
    async with asyncio.timeout(10), _socket(atoll) as socket:
        assert _agents(await _next(socket)) == []
        await _report(atoll, other, 1, owner="eve")
        await _report(atoll, mine, 2)
        assert _agents(await _next(socket)) == ["t_2"]


async def test_subscription_that_names_the_model_follows_it(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        tokens = [
            (await client.post("/auth/subscription", json=body)).json()["access_token"]
            for body in ({"models": ["agents"]}, {"streams": ["*"]})
        ]
    sandbox = await _sandbox(atoll, "one")
    await _report(atoll, sandbox, 1)
    async with asyncio.timeout(10), _socket(atoll, token=tokens[0]) as socket:
        assert _agents(await _next(socket)) == ["t_1"]
        await _report(atoll, sandbox, 2)
        assert _agents(await _next(socket)) == ["t_1", "t_2"]
    with pytest.raises(websockets.WebSocketException):
        async with _socket(atoll, token=tokens[1]) as socket:
            await socket.recv()
    async with client_of(atoll.url, tokens[1]) as client:
        assert (await client.get("/v1/projections/agents/stream")).status_code == 404


async def test_socket_with_a_wrong_query_is_closed_with_a_reason(atoll: World) -> None:
    async with asyncio.timeout(10), _socket(atoll, "?after=x") as socket:
        with pytest.raises(websockets.ConnectionClosedError) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4403
