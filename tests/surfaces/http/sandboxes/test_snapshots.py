"""Routes of snapshots: whose they are, who may use them, and what a copy takes along."""

from dataclasses import replace
from typing import Any

import httpx

from atoll.domain.ids import SandboxId, SnapshotId
from atoll.domain.people.principal import SYSTEM
from atoll.wire.words.sandboxes import SnapshotState
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World

BASE = "/v1/sandboxes"


async def made(client: httpx.AsyncClient, **body: Any) -> str:
    answer = await client.post(f"{BASE}?wait=ready", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["sandbox_id"])


async def taken(client: httpx.AsyncClient, sandbox: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(f"{BASE}/{sandbox}/snapshots", json=body)
    assert answer.status_code == 201, answer.text
    view: dict[str, Any] = answer.json()
    return view


async def test_copy_of_a_shared_sandbox_is_its_makers_and_takes_no_secret(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    async with team.client("ada") as ada, team.client("bob") as bob:
        key = {
            "name": "KEY",
            "value": "canary-0123456789",
            "kind": "custom",
            "hosts": ["a.example"],
        }
        assert (await ada.post("/v1/secrets", json=key)).status_code == 201
        setup = {"secret_refs": ["KEY"]}
        box = await made(ada, name="hers", scope="shared", env={"TOKEN": "t"}, setup_metadata=setup)
        answer = await bob.post(f"{BASE}/{box}/fork", json={"count": 2})
        assert answer.status_code == 202, answer.text
        copies = answer.json()["sandboxes"]
        own = await ada.post(f"{BASE}/{box}/fork", json={})
    assert [copy["owner"] for copy in copies] == ["bob", "bob"]
    assert all(copy["setup_metadata"]["secret_refs"] == [] for copy in copies)
    assert own.json()["sandboxes"][0]["setup_metadata"]["secret_refs"] == ["KEY"]
    async with atoll.ground.store.read() as rows:
        stored = [await rows.sandboxes.get(SandboxId(copy["sandbox_id"])) for copy in copies]
    assert [sandbox.env for sandbox in stored if sandbox] == [(), ()]


async def test_sandbox_that_values_of_secrets_were_put_into_is_copied_for_its_owner_alone(
    atoll: World,
) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    async with team.client("ada") as ada, team.client("bob") as bob:
        box = await made(ada, scope="shared")
        async with atoll.ground.store.begin() as rows:
            stored = await rows.sandboxes.get(SandboxId(box))
            assert stored is not None
            await rows.sandboxes.update(replace(stored, exposed_secrets=("KEY",)))
        snapshot = (await taken(ada, box))["snapshot_id"]
        assert (await bob.get(f"/v1/snapshots/{snapshot}")).status_code == 200
        seeded = await bob.post(BASE, json={"seed": {"snapshot": snapshot}})
        forked = await bob.post(f"{BASE}/{box}/fork", json={})
        own = await ada.post(f"{BASE}/{box}/fork", json={})
    assert (seeded.status_code, forked.status_code, own.status_code) == (403, 403, 202)


async def test_snapshots_of_others_are_neither_listed_nor_removed(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    async with team.client("ada") as ada, team.client("bob") as bob:
        closed = await taken(ada, await made(ada, name="closed"), name="one")
        box = await made(ada, name="open", scope="shared")
        shared = await taken(ada, box)
        listed = (await bob.get("/v1/snapshots")).json()["snapshots"]
        assert [one["snapshot_id"] for one in listed] == [shared["snapshot_id"]]
        assert (await bob.get(f"/v1/snapshots/{closed['snapshot_id']}")).status_code == 404
        assert (await bob.get("/v1/snapshots/one")).status_code == 404
        removed = await bob.delete(f"/v1/snapshots/{shared['snapshot_id']}")
        took = await bob.post(f"{BASE}/{box}/snapshots", json={})
        restored = await bob.post(f"{BASE}/{box}/restore", json={"snapshot": shared["snapshot_id"]})
        assert (removed.status_code, took.status_code, restored.status_code) == (403, 403, 403)
        assert (await ada.delete("/v1/snapshots/one")).status_code == 204
        assert (await ada.get("/v1/snapshots/one")).status_code == 404


async def test_copy_begins_as_the_snapshot_and_forks_leave_none_in_the_list(atoll: World) -> None:
    team = await team_of(atoll, ada="member")
    async with team.client("ada") as ada:
        box = await made(ada)
        snapshot = (await taken(ada, box, name="first"))["snapshot_id"]
        copy = await made(ada, seed={"snapshot": "first"})
        async with atoll.ground.store.read() as rows:
            begun = await rows.sandboxes.get(SandboxId(copy))
        assert begun is not None
        assert begun.seed == snapshot
        refused = await ada.post(BASE, json={"seed": {"snapshot": "first"}, "cwd": "/workspace/a"})
        assert (refused.status_code, refused.json()["field"]) == (422, "cwd")
        forks = (await ada.post(f"{BASE}/{box}/fork", json={"count": 2})).json()["sandboxes"]
        for fork in forks:
            await ada.get(f"{BASE}/{fork['sandbox_id']}?wait=ready")
        listed = (await ada.get("/v1/snapshots")).json()["snapshots"]
        assert [one["name"] for one in listed] == ["first"]
        await atoll.services.snapshots.upkeep.look()
        async with atoll.ground.store.read() as rows:
            assert await rows.snapshots.unsettled(atoll.clock.now()) == []


async def profiled(client: httpx.AsyncClient, name: str, **more: Any) -> None:
    document = {"id": f"profile.{name}", "version": "1.0.0", "extension": "ext.namespaces", **more}
    saved = await client.put(f"/v1/profiles/{name}", json=document)
    assert saved.status_code == 200, saved.text
    assert saved.json()["seed"] == more["seed"]


async def test_sandbox_of_a_profile_begins_as_the_snapshot_that_this_names(atoll: World) -> None:
    team = await team_of(atoll, ada="member")
    async with team.client() as owner, team.client("ada") as ada:
        box = await made(ada, env={"A": "b"})
        first, second = [await taken(ada, box, name=name) for name in ("first", "second")]
        await profiled(owner, "warm", seed="first", ttl={"default": "2h"}, shell=["/bin/sh"])
        copy = await made(ada, profile="warm")
        own = await made(ada, profile="warm", seed={"snapshot": "second"})
        async with atoll.ground.store.read() as rows:
            begun = await rows.sandboxes.get(SandboxId(copy))
            other = await rows.sandboxes.get(SandboxId(own))
        assert begun is not None and other is not None
        assert (begun.seed, other.seed) == (first["snapshot_id"], second["snapshot_id"])
        # The recipe is the profile's; a create's own snapshot brings its own.
        assert (begun.profile.id, begun.ttl_seconds) == ("profile.warm", 7200)
        assert (begun.profile.shell, begun.env) == (("/bin/sh",), (("A", "b"),))
        assert other.profile.id == "profile.shell"
        for field, value in (("cwd", "/workspace/a"), ("inputs", {"repo_ref": "https://a.b/c/d"})):
            refused = await ada.post(BASE, json={"profile": "warm", field: value})
            assert (refused.status_code, refused.json()["field"]) == (422, field)
        refused = await ada.post(BASE, json={"profile": "warm", "host": "elsewhere"})
        assert (refused.status_code, refused.json()["code"]) == (409, "not_promised")
        explained = await ada.post("/v1/routes/explain", json={"profile": "warm"})
        assert explained.status_code == 200, explained.text


async def test_profile_gives_nobody_a_snapshot_that_they_may_not_use(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    async with team.client() as owner, team.client("ada") as ada, team.client("bob") as bob:
        closed = (await taken(ada, await made(ada, name="closed")))["snapshot_id"]
        box = await made(ada, name="open", scope="shared")
        async with atoll.ground.store.begin() as rows:
            stored = await rows.sandboxes.get(SandboxId(box))
            assert stored is not None
            await rows.sandboxes.update(replace(stored, exposed_secrets=("KEY",)))
        shown = (await taken(ada, box))["snapshot_id"]
        await profiled(owner, "closed", seed=closed)
        await profiled(owner, "shown", seed=shown)
        await profiled(owner, "none", seed="snap_none")
        answers = [await bob.post(BASE, json={"profile": name}) for name in ("closed", "none")]
        assert [answer.status_code for answer in answers] == [409, 409]
        assert [answer.json()["code"] for answer in answers] == ["seed_gone", "seed_gone"]
        # One that is another's answers like one that is not there.
        hidden, missing = [answer.json()["detail"] for answer in answers]
        assert hidden.replace("closed", "none").replace(closed, "snap_none") == missing
        explained = await bob.post("/v1/routes/explain", json={"profile": "closed"})
        assert explained.json()["code"] == "seed_gone"
        assert (await bob.post(BASE, json={"profile": "shown"})).status_code == 403
        await made(ada, profile="shown")
        listed = (await bob.get(BASE)).json()["sandboxes"]
        assert {one["owner"] for one in listed} == {"ada"}


async def test_profile_whose_snapshot_was_removed_says_so_and_its_sandboxes_stay(
    atoll: World,
) -> None:
    team = await team_of(atoll, ada="member")
    async with team.client() as owner, team.client("ada") as ada:
        await taken(ada, await made(ada), name="first")
        agents = {"scope_default": "agent"}
        await profiled(owner, "warm", seed="first", workspace=agents)
        consumer = {"actor": "agt", "harness": "h", "session_id": "s"}
        body = {"profile": "warm", "consumer": consumer}
        copy = await made(ada, **body)
        assert (await ada.delete("/v1/snapshots/first")).status_code == 204
        # The name is another snapshot's by now: the consumer has its sandbox all the same.
        await taken(ada, copy, name="first")
        again = await ada.post(BASE, json=body)
        assert again.json()["sandbox_id"] == copy, again.text
        assert (await ada.delete("/v1/snapshots/first")).status_code == 204
        refused = await ada.post(BASE, json={"profile": "warm", "scope": "session"})
        assert (refused.status_code, refused.json()["code"]) == (409, "seed_gone")
        assert "was removed" in refused.json()["detail"]
        assert (await ada.get(f"{BASE}/{copy}")).json()["state"] == "ready"


async def test_snapshots_of_a_member_who_left_go(atoll: World) -> None:
    team = await team_of(atoll, ada="member")
    async with team.client("ada") as ada, team.client() as owner:
        snapshot = (await taken(ada, await made(ada)))["snapshot_id"]
        gone = await owner.delete("/v1/organizations/acme/members/ada")
        assert gone.is_success, gone.text
    await atoll.services.snapshots.upkeep.look()
    async with atoll.ground.store.read() as rows:
        assert await rows.snapshots.get(SnapshotId(snapshot)) is None


async def test_snapshot_that_its_taker_and_the_leader_make_at_once_is_kept_once(
    atoll: World,
) -> None:
    team = await team_of(atoll, ada="member")
    async with team.client("ada") as ada:
        view = await taken(ada, await made(ada))
    keeper = atoll.services.snapshots.keeper
    async with atoll.ground.store.read() as rows:
        stored = await rows.snapshots.get(SnapshotId(view["snapshot_id"]))
    assert stored is not None
    again = await keeper.keep(replace(stored, state=SnapshotState.MAKING), SYSTEM)
    assert again == stored
