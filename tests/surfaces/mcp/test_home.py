"""An agent without an account: it reaches nothing outside its home by any tool."""

from typing import Any, cast

import pytest

from atoll.client.bridge.endpoint import McpOptions, target_of
from atoll.client.server import Server
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.ports.repositories import StoredRepository
from atoll.wire.words.networks import NetworkMode
from tests.surfaces.http.test_pull_requests import SECRET, SITE
from tests.surfaces.http.world import World, client_of
from tests.surfaces.mcp.conftest import Connect
from tests.surfaces.mcp.test_tools import value_of

HOME = "?reach=home"
REMOTE = "https://git.example.org/acme/app.git"


async def _made(connect: Connect, query: str, **arguments: object) -> dict[str, Any]:
    async with connect(query=query) as client:
        return value_of(await client.call_tool("atoll.create", arguments))


async def test_anonymous_agent_makes_sandboxes_without_a_network(
    atoll: World, connect: Connect
) -> None:
    made = await _made(connect, HOME, name="one")
    found = await atoll.services.sandboxes.get(LOCAL_PERSON, made["sandbox"]["sandbox_id"])
    assert found.profile.network.mode is NetworkMode.NONE
    for mode in ("limited", "host-only", "full"):
        refused = await _made(connect, HOME, network_mode=mode)
        assert (refused["code"], refused["field"]) == ("forbidden", "network_mode")
        assert "atoll mcp --outside" in refused["message"]
    assert len((await atoll.services.sandboxes.list(LOCAL_PERSON)).sandboxes) == 1


async def test_anonymous_agent_fetches_no_repository(
    atoll: World, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for url in (REMOTE, "git@git.example.org:acme/app", "http://127.0.0.1:5432/x", "rubbish"):
        refused = await _made(connect, HOME, repo_url=url)
        assert (refused["code"], refused["field"]) == ("forbidden", "repo_url")

    async def here(_caller: object) -> tuple[StoredRepository, ...]:
        named = {"key": "git.example.org/acme/app"}
        return (cast(StoredRepository, type("Stored", (), named)()),)

    monkeypatch.setattr(atoll.services.repositories, "list", here)
    made = await _made(connect, HOME, repo_url=REMOTE)
    assert made.get("sandbox"), made
    refused = await _made(connect, HOME, repo_url=REMOTE.replace("app", "other"))
    assert refused["field"] == "repo_url"


async def test_anonymous_agent_reads_no_issue(atoll: World, connect: Connect) -> None:
    address = f"{SITE}/o/r/issues/1"
    refused = await _made(connect, HOME, issue=address)
    assert (refused["code"], refused["field"]) == ("forbidden", "issue")
    assert atoll.forge.tokens == []


async def test_issue_is_the_task_of_a_sandbox(atoll: World, connect: Connect) -> None:
    atoll.forge.keep("o/r", {"main": "a" * 40})
    number = atoll.forge.write_issue("o/r", "Fix the parser", "It reads two spaces.")
    address = f"{SITE}/o/r/issues/{number}"
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.post("/v1/secrets", json=SECRET)).is_success
    made = await _made(connect, "", issue=address, agent="codex", prompt="In Rust, please.")
    found = await atoll.services.sandboxes.get(LOCAL_PERSON, made["sandbox"]["sandbox_id"])
    assert found.task is not None and found.task.issue == address
    assert found.task.prompt.startswith("In Rust, please.") and "two spaces" in found.task.prompt
    assert found.repos[0].repo_url == f"{SITE}/o/r"
    none = await _made(connect, "", issue=f"{SITE}/o/r")
    assert none["code"] == "invalid"


async def test_anonymous_agent_runs_nothing_where_there_is_a_network(
    atoll: World, connect: Connect
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for name, mode in (("open", "limited"), ("shut", "none")):
            body = {"name": name, "network_mode": mode}
            await client.post("/v1/sandboxes?wait=ready", json=body)
    before = len(atoll.runtime.asked)
    async with connect(query=HOME) as agent:
        for tool, more in (("exec", {"command": "curl x"}), ("ask", {"prompt": "curl x"})):
            arguments = {"sandbox": "open", **more}
            refused = value_of(await agent.call_tool(f"atoll.{tool}", arguments))
            assert (refused["code"], refused["field"]) == ("forbidden", "sandbox")
            assert "permission" in refused["message"]
        sent = [path for method, path, _, _ in atoll.runtime.asked[before:] if method == "POST"]
        assert not {"/execs", "/sessions/t_1/ask"} & {*sent}
        ran = await agent.call_tool("atoll.exec", {"sandbox": "shut", "command": "true"})
        assert value_of(ran)["state"] == "exited"
        read = await agent.call_tool("atoll.list", {})
        assert len(value_of(read)["sandboxes"]) == 2


async def test_agent_of_somebody_with_an_account_is_bounded_by_that(connect: Connect) -> None:
    made = await _made(connect, "", network_mode="full")
    assert made.get("sandbox"), made


def test_person_lets_an_agent_reach_outside_by_a_word() -> None:
    home = Server("http://127.0.0.1:1", False, "127.0.0.1", 1, "", "t", by_home=True)
    assert target_of(home, McpOptions()) == "/mcp?reach=home"
    assert target_of(home, McpOptions(outside=True)) == "/mcp"
