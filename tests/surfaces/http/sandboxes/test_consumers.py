"""Consumers over HTTP: lists of their sandboxes, their usage, and their end."""

from typing import Any

import pytest

from tests.surfaces.http.world import World, client_of

RUN = {"actor": "atm", "harness": "wise-validator", "run_id": "run-7"}
JOB = {"actor": "agt", "harness": "snuggle-inventor", "job_id": "job-1"}
HOSTILE = ["--upload-pack=x", "../../etc/passwd", "' OR ''='", "%", "run-7 ", "*"]


async def _make(atoll: World, *consumers: dict[str, Any]) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for number, consumer in enumerate(consumers):
            body = {"profile": "shell", "scope": "session", "name": f"box-{number}"}
            made = await client.post(
                "/v1/sandboxes?wait=ready", json={**body, "consumer": consumer}
            )
            assert made.status_code == 201, made.text


async def test_list_is_that_of_a_consumer_over_all_pages(atoll: World) -> None:
    await _make(atoll, RUN, JOB, RUN, {**RUN, "run_id": "run-8"}, RUN)
    names: list[str] = []
    query = {"harness": "wise-validator", "run_id": "run-7", "limit": "2"}
    async with client_of(atoll.url, atoll.token) as client:
        while True:
            page = (await client.get("/v1/sandboxes", params=query)).json()
            names += [box["name"] for box in page["sandboxes"]]
            if page["next"] is None:
                break
            query["cursor"] = page["next"]
        by_job = (await client.get("/v1/sandboxes", params={"job_id": "job-1"})).json()
    assert sorted(names) == ["box-0", "box-2", "box-4"]
    assert [box["name"] for box in by_job["sandboxes"]] == ["box-1"]


async def test_usage_is_told_by_consumer(atoll: World) -> None:
    await _make(atoll, RUN, RUN, JOB)
    async with client_of(atoll.url, atoll.token) as client:
        every = (await client.get("/v1/consumers/usage")).json()["consumers"]
        query = {"harness": "wise-validator", "run_id": "run-7"}
        (run,) = (await client.get("/v1/consumers/usage", params=query)).json()["consumers"]
    assert {usage["harness"] for usage in every} == {"snuggle-inventor", "wise-validator"}
    assert run in every
    assert (run["session_id"], run["run_id"], run["job_id"]) == (None, "run-7", None)
    assert (run["sandboxes"], run["running"]) == (2, 2)
    assert run["counts"]["requests"] == 0


@pytest.mark.parametrize("name", HOSTILE)
async def test_name_that_nobody_has_selects_and_ends_nothing(atoll: World, name: str) -> None:
    await _make(atoll, RUN)
    async with client_of(atoll.url, atoll.token) as client:
        for query in ({"harness": name}, {"run_id": name}):
            assert (await client.get("/v1/sandboxes", params=query)).json()["sandboxes"] == []
            usage = await client.get("/v1/consumers/usage", params=query)
            assert usage.json()["consumers"] == []
        for end in ({"harness": name, "run_id": "run-7"}, {**RUN, "run_id": name}):
            end.pop("actor", None)
            ended = await client.post("/v1/consumers/end", json=end)
            assert (ended.status_code, ended.json()) == (200, {"sandboxes": []})
        (box,) = (await client.get("/v1/sandboxes", params={"run_id": "run-7"})).json()["sandboxes"]
    assert box["state"] == "ready"


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b", "\u202erun"])
async def test_name_that_cannot_be_one_is_refused(atoll: World, name: str) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for path in ("/v1/sandboxes", "/v1/consumers/usage"):
            refused = await client.get(path, params={"run_id": name})
            assert (refused.status_code, refused.json()["field"]) == (422, "run_id")
        end = await client.post("/v1/consumers/end", json={"harness": "h", "run_id": name})
        assert end.status_code == 422, end.text
