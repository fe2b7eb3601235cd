"""Snapshots, restores and forks that are asked of a control plane that does not lead."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.replicas.fleet import Fleet, fleet_on
from tests.peers.api import Api, api_of, until
from tests.peers.databases.postgres import PostgresServer

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="the disks of these snapshots need root"),
]


@pytest.fixture(scope="module")
def fleet(postgres: PostgresServer) -> Iterator[Fleet]:
    with fleet_on(postgres, further=("two",)) as made:
        yield made


@pytest.fixture
def apis(fleet: Fleet) -> Iterator[tuple[Api, Api]]:
    """The one that leads, and the other."""
    leader = fleet.leader()
    (other,) = fleet.others(leader)
    with ExitStack() as stack:
        yield stack.enter_context(api_of(leader)), stack.enter_context(api_of(other))


def on_disk(fleet: Fleet) -> set[str]:
    folder = Path(fleet.servers[0].home) / "boxes" / "snapshots"
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def outcomes(api: Api, sandbox: str) -> list[str]:
    found = [str(one["event_type"]) for one in api.events(sandbox)]
    return [kind for kind in found if kind.startswith("snapshot.")]


def taken(api: Api, sandbox: str, name: str) -> dict[str, Any]:
    made: dict[str, Any] = api.call(
        "POST", f"/v1/sandboxes/{sandbox}/snapshots", json={"name": name}
    )
    return made


def test_snapshot_restore_and_fork_asked_of_a_follower_are_done(
    fleet: Fleet, apis: tuple[Api, Api]
) -> None:
    leader, other = apis
    sandbox = leader.create(name="trunk")["sandbox_id"]
    other.run(sandbox, "echo one > file")
    first = taken(other, sandbox, "first")
    assert (first["state"], first["size"] > 0) == ("ready", True)
    other.run(sandbox, "echo two > file")
    second = taken(leader, sandbox, "second")
    for api in apis:
        listed = api.call("GET", f"/v1/snapshots?sandbox={sandbox}")["snapshots"]
        assert [one["name"] for one in listed] == ["second", "first"]
    assert outcomes(leader, sandbox) == ["snapshot.taken"] * 2
    back = other.call(
        "POST", f"/v1/sandboxes/{sandbox}/restore?wait=true", json={"snapshot": "first"}
    )
    assert (back["state"], back["generation"]) == ("ready", 2)
    assert other.run(sandbox, "cat file") == "one\n"
    forked = other.call("POST", f"/v1/sandboxes/{sandbox}/fork", json={"count": 2})["sandboxes"]
    copies = [str(one["sandbox_id"]) for one in forked]
    for copy in copies:
        leader.until(copy, lambda told: told["state"] == "ready")
        assert other.run(copy, "cat file") == "one\n"
    copies.append(other.create(seed={"snapshot": "second"})["sandbox_id"])
    assert leader.run(copies[-1], "cat file") == "two\n"
    known = {first["snapshot_id"], second["snapshot_id"]}
    until(lambda: on_disk(fleet), lambda found: found == known)
    for one in sorted(known):
        other.call("DELETE", f"/v1/snapshots/{one}")
    until(lambda: on_disk(fleet), lambda found: not found)
    for each in (sandbox, *copies):
        other.act(each, "destroy")


def test_refusal_of_a_snapshot_reaches_whoever_asked_a_follower(
    fleet: Fleet, apis: tuple[Api, Api]
) -> None:
    _, other = apis
    sandbox = other.create(name="stopped")["sandbox_id"]
    other.act(sandbox, "stop")
    image = Path(fleet.servers[0].home) / "boxes" / sandbox / "image"
    away = image.with_name("away")
    image.rename(away)
    refused = other.client.post(f"/v1/sandboxes/{sandbox}/snapshots", json={})
    assert refused.status_code >= 400, refused.text
    assert "plain folder" in refused.json()["detail"], refused.text
    away.rename(image)
    assert outcomes(other, sandbox) == ["snapshot.failed"]
    assert not on_disk(fleet)
    other.act(sandbox, "destroy")


def test_disk_is_exported_and_fetched_when_a_follower_is_asked(
    fleet: Fleet, apis: tuple[Api, Api]
) -> None:
    leader, other = apis
    sandbox = other.create(name="far")["sandbox_id"]
    other.run(sandbox, "echo one > file")
    snapshot = taken(other, sandbox, "far")["snapshot_id"]
    disk = Path(fleet.servers[0].home) / "boxes" / "snapshots" / snapshot
    path = f"/v1/snapshots/{snapshot}"
    away = disk.with_name("away")
    disk.rename(away)
    before = other.sandbox(sandbox)
    for status, what, sent in (
        (409, f"/v1/sandboxes/{sandbox}/restore", {"snapshot": snapshot}),
        (409, "/v1/sandboxes", {"seed": {"snapshot": snapshot}}),
        (404, f"{path}/export", None),
    ):
        refused = other.client.post(what, json=sent)
        assert refused.status_code == status, refused.text
        if status == 409:
            assert refused.json()["code"] == "snapshot_elsewhere"
    now = other.sandbox(sandbox)
    assert (now["state"], now["generation"]) == (before["state"], before["generation"])
    away.rename(disk)
    assert other.call("POST", f"{path}/export")["exported"] is True
    assert leader.call("GET", path)["exported"] is True
    assert other.call("POST", f"{path}/verify")["whole"] is True
    shutil.rmtree(disk)
    other.call("POST", f"{path}/import")
    assert on_disk(fleet) == {snapshot}
    other.run(sandbox, "echo two > file")
    back = other.call(
        "POST", f"/v1/sandboxes/{sandbox}/restore?wait=true", json={"snapshot": "far"}
    )
    assert back["state"] == "ready", back
    assert other.run(sandbox, "cat file") == "one\n"
    assert fleet.query("SELECT id FROM disk_orders") == []
    other.call("DELETE", path)
    until(lambda: on_disk(fleet), lambda found: not found)
    other.act(sandbox, "destroy")
