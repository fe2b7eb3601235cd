"""Quotas over HTTP and by `atoll quota`: who sets them, who sees them, and who is held to them."""

import asyncio
from typing import Any

import pytest

from atoll.surfaces.cli.entry import run
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World

ACTS = {
    "PUT /v1/organizations/{organization}/quotas": {
        "sandboxes": "test_administrator_sets_a_quota_and_members_are_held_to_it",
        "concurrentSessions": "test_quota_is_answered_as_it_was_written",
        "cpu": "test_quota_is_answered_as_it_was_written",
        "memory": "test_quota_is_answered_as_it_was_written",
        "storage": "test_quota_is_answered_as_it_was_written",
    },
    "PUT /v1/organizations/{organization}/quotas/{member}": {
        "sandboxes": "test_quota_of_a_member_is_theirs_alone",
        "concurrentSessions": "test_quota_is_answered_as_it_was_written",
        "cpu": "test_quota_is_answered_as_it_was_written",
        "memory": "test_quota_is_answered_as_it_was_written",
        "storage": "test_quota_is_answered_as_it_was_written",
    },
}
NOTHING = dict.fromkeys(("sandboxes", "concurrentSessions", "cpu", "memory", "storage"))
AT = "/v1/organizations/acme/quotas"


async def test_administrator_sets_a_quota_and_members_are_held_to_it(atoll: World) -> None:
    team = await team_of(atoll, ada="admin", mel="member")
    assert (await team.call("ada", "PUT", AT, json={"sandboxes": 1})).status_code == 200
    assert (await team.call("mel", "POST", "/v1/sandboxes", json={"name": "one"})).status_code < 300
    late = await team.call("ada", "POST", "/v1/sandboxes", json={"name": "two"})
    assert (late.status_code, late.json()["code"]) == (429, "quota_exceeded")
    shown = (await team.call("mel", "GET", "/v1/quota")).json()["quotas"]
    assert [one["member"] for one in shown] == [None, "mel"]
    assert (shown[0]["quota"]["sandboxes"], shown[0]["used"]["sandboxes"]) == (1, 1)
    assert shown[1]["quota"] == NOTHING


async def test_quota_of_a_member_is_theirs_alone(atoll: World) -> None:
    team = await team_of(atoll, ada="admin", mel="member")
    assert (await team.call("ada", "PUT", f"{AT}/mel", json={"sandboxes": 0})).status_code == 200
    assert (await team.call("mel", "POST", "/v1/sandboxes", json={})).status_code == 429
    assert (await team.call("ada", "POST", "/v1/sandboxes", json={})).status_code < 300
    assert (await team.call("ada", "PUT", f"{AT}/Mel", json={"sandboxes": 0})).status_code == 200
    listed = (await team.call("ada", "GET", AT)).json()["quotas"]
    assert [one["member"] for one in listed] == [None, "mel"]
    assert (await team.call("ada", "PUT", f"{AT}/mel", json={})).json()["quota"] == NOTHING
    assert (await team.call("mel", "POST", "/v1/sandboxes", json={})).status_code < 300


async def test_quota_is_answered_as_it_was_written(atoll: World) -> None:
    team = await team_of(atoll, ada="admin")
    whole = {
        "sandboxes": 10,
        "concurrentSessions": 3,
        "cpu": "4",
        "memory": "8Gi",
        "storage": "50Gi",
    }
    for path in (AT, f"{AT}/ada"):
        assert (await team.call("ada", "PUT", path, json=whole)).json()["quota"] == whole
    kinds = (await team.call(None, "GET", "/v1/audit")).json()["entries"]
    assert [one["event_type"] for one in kinds].count("quota.set") == 2


@pytest.mark.parametrize("who", ["mel", "vic"])
async def test_who_does_not_manage_the_organization_sets_nothing(atoll: World, who: str) -> None:
    team = await team_of(atoll, mel="member", vic="viewer")
    for method, path in (("PUT", AT), ("PUT", f"{AT}/{who}"), ("GET", AT)):
        answer = await team.call(who, method, path, **({"json": {}} if method == "PUT" else {}))
        assert answer.status_code == 403


@pytest.mark.parametrize(
    "body",
    [{"sandboxes": -1}, {"sandboxes": "1"}, {"cpu": "many"}, {"memory": "8GB"}, {"disk": "1Gi"}],
)
async def test_wrong_quota_is_refused_with_its_field(atoll: World, body: dict[str, Any]) -> None:
    team = await team_of(atoll, ada="admin")
    answer = await team.call("ada", "PUT", AT, json=body)
    assert answer.status_code == 422
    assert next(iter(body)) in answer.text


async def test_stranger_and_missing_member_answer_alike(atoll: World) -> None:
    team = await team_of(atoll, ada="admin")
    for path in (f"{AT}/nobody", "/v1/organizations/none/quotas"):
        assert (await team.call("ada", "PUT", path, json={})).status_code == 404


async def test_quota_by_command(atoll: World, capfd: pytest.CaptureFixture[str]) -> None:
    await team_of(atoll, mel="member")
    environ = {"ATOLL_URL": atoll.url, "ATOLL_TOKEN": atoll.token, "ATOLL_HOME": "/nonexistent"}

    async def quota(*arguments: str) -> tuple[int, str, str]:
        call = ["quota", *arguments]
        code = await asyncio.to_thread(run, call, environ, lambda: None)  # type: ignore[arg-type, return-value]
        return (code, *capfd.readouterr())

    code, out, _ = await quota("set", "--sandboxes", "5", "--memory", "8Gi")
    assert (code, "0 of 5" in out, "0Mi of 8Gi" in out) == (0, True, True)
    assert (await quota("set", "--member", "Mel", "--sessions", "2"))[0] == 0
    code, _, err = await quota("set", "--member", "Mell", "--sessions", "2")
    assert (code, "no member 'Mell'" in err) == (3, True)
    code, out, _ = await quota("list")
    assert (code, "Mel " in out, "0 of 2" in out) == (0, True, True)
    code, out, _ = await quota("show", "--json")
    assert (code, '"concurrentSessions"' in out) == (0, True)
    assert (await quota("show"))[0] == 0
    assert (await quota("set", "--none", "--json"))[0] == 0
    code, _, err = await quota("set")
    assert (code != 0, "--none" in err) == (True, True)
    assert (await quota("set", "--none", "--cpu", "1"))[0] != 0
