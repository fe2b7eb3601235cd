"""Bounds of networks over HTTP and by `atoll`: whose they are, and what becomes of what runs."""

import asyncio
import json
from typing import Any

import pytest

from atoll.domain.errors import Forbidden
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.surfaces.cli.entry import run
from atoll.wire.words.networks import NetworkMode
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World

AT = "/v1/organizations/acme/network"
ACTS = {
    "PUT /v1/organizations/{organization}/network": {
        "full": "test_organization_takes_away_from_what_runs_and_gives_it_back",
        "host_ports": "test_organization_takes_away_from_what_runs_and_gives_it_back",
        "ranges": "test_organization_takes_away_from_what_runs_and_gives_it_back",
        "ports": "test_organization_takes_away_from_what_runs_and_gives_it_back",
        "open_network": "test_organization_takes_away_from_what_runs_and_gives_it_back",
        "egress": "test_organization_takes_away_from_what_runs_and_gives_it_back",
    },
}
OPEN = {"mode": "host-only", "host_ports": [5432], "ranges": ["10.1.0.0/16"]}


async def _box(team: Team, who: str | None, **body: Any) -> str:
    made = await team.call(who, "POST", "/v1/sandboxes?wait=ready", json={"name": "box", **body})
    assert made.status_code < 300, made.text
    return str(made.json()["sandbox_id"])


def _policy(atoll: World) -> dict[str, Any]:
    """The network of the policy that a runtime was sent last."""
    bodies = [body for method, path, _, body in atoll.runtime.asked if path == "/policy" and body]
    found: dict[str, Any] = json.loads(bodies[-1])["network"]
    return found


async def test_refusal_says_who_raises_the_bound(atoll: World) -> None:
    team = await team_of(atoll, mel="member")
    box = await _box(team, "mel")
    refused = await team.call("mel", "PUT", f"/v1/sandboxes/{box}/network", json=OPEN)
    told = refused.json()
    assert (refused.status_code, told["code"]) == (403, "network_bound")
    assert (told["field"], "network_bounds" in told["detail"]) == ("network.mode", True)


async def test_organization_takes_away_from_what_runs_and_gives_it_back(atoll: World) -> None:
    team = await team_of(atoll, ada="admin", mel="member")
    box = await _box(team, None)
    network = f"/v1/sandboxes/{box}/network"
    assert (await team.call(None, "PUT", network, json=OPEN)).status_code == 200
    assert _policy(atoll)["host_ports"] == [5432]
    less = {
        "full": False,
        "host_ports": ["8000-8100"],
        "ranges": [],
        "ports": [],
        "egress": [],
        "open_network": False,
    }
    answer = await team.call("ada", "PUT", AT, json=less)
    assert answer.json()["organization"] == less
    assert answer.json()["installation"]["egress"] == ["*"]
    sent = _policy(atoll)
    assert (sent["mode"], sent.get("host_ports"), sent.get("ranges")) == ("host-only", [], [])
    shown = (await team.call(None, "GET", network)).json()
    assert shown["host_ports"] == []
    assert {"field": "host_ports", "text": "5432", "whose": "this organization"} in shown[
        "withheld"
    ]
    # To open less is always possible, whatever the bounds are by now.
    closed = await team.call(None, "PUT", network, json={"deny": ["a.example"]})
    assert closed.status_code == 200, closed.text
    assert (await team.call("ada", "PUT", AT, json={})).json()["organization"] is None
    assert _policy(atoll)["host_ports"] == [5432]
    assert (await team.call("mel", "GET", AT)).status_code == 200
    assert (await team.call("mel", "PUT", AT, json={})).status_code == 403


async def test_organization_cannot_give_what_the_installation_does_not(atoll: World) -> None:
    team = await team_of(atoll, ada="admin", mel="member")
    assert (await team.call("ada", "PUT", AT, json={"full": True})).status_code == 200
    made = await team.call("mel", "POST", "/v1/sandboxes", json={"network_mode": "full"})
    assert (made.status_code, made.json()["field"]) == (403, "network.mode")


async def test_administrator_opens_no_more_in_the_sandbox_of_somebody_else(atoll: World) -> None:
    """What the home's person may is no reason for an administrator, who acts on their sandbox."""
    team = await team_of(atoll, ada="admin")
    box = await _box(team, None, scope="shared")
    refused = await team.call("ada", "PUT", f"/v1/sandboxes/{box}/network", json=OPEN)
    assert (refused.status_code, refused.json()["code"]) == (403, "network_bound")


async def test_sandbox_that_is_given_away_is_bounded_by_its_new_owner(atoll: World) -> None:
    team = await team_of(atoll, mel="member")
    box = await _box(team, None, network_mode="full")
    given = await team.call(None, "POST", f"/v1/sandboxes/{box}/owner", json={"member": "mel"})
    assert given.status_code == 200, given.text
    shown = (await team.call("mel", "GET", f"/v1/sandboxes/{box}/network")).json()
    assert (shown["mode"], shown["withheld"][0]["text"]) == ("limited", "full")


async def test_explained_route_is_refused_like_the_create(atoll: World) -> None:
    team = await team_of(atoll, mel="member")
    mel = team.people["token-of-mel"]
    request = CreateSandbox(network_mode=NetworkMode.FULL)
    with pytest.raises(Forbidden, match="full"):
        await atoll.services.admission.explain(mel, request)
    assert await atoll.services.admission.explain(LOCAL_PERSON, request)


async def test_commands_show_and_set_the_bounds(
    atoll: World, capfd: pytest.CaptureFixture[str]
) -> None:
    team = await team_of(atoll)
    box = await _box(team, None, network_mode="full")
    environ = {"ATOLL_URL": atoll.url, "ATOLL_TOKEN": atoll.token}

    async def atoll_says(*words: str) -> str:
        code = await asyncio.to_thread(run, [*words], environ, lambda: None)  # type: ignore[arg-type, return-value]
        assert code == 0
        return capfd.readouterr().out

    shown = await atoll_says("quota", "network", "--no-full", "--egress", "preset:pypi")
    assert shown.splitlines()[-1].split() == [
        "the",
        "organization",
        "no",
        "-",
        "-",
        "-",
        "preset:pypi",
        "no",
    ]
    told = await atoll_says("info", box)
    assert "mode full: beyond this organization" in told
    assert "withheld" in await atoll_says("net", "show", box)
    assert "the organization" not in await atoll_says("quota", "network", "--none")
