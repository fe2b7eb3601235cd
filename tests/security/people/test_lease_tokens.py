"""The token of a worker's lease: it delivers for its own worker in its own epoch, and opens nothing
else. Every route and WebSocket is tried with it."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import httpx
import pytest

from atoll.domain.ids import DesktopId
from atoll.domain.people.login import fingerprint
from atoll.domain.workers.dialled import LEASE_TOKEN, HostLease, LeaseState
from atoll.domain.workers.record import WorkerRecord
from atoll.surfaces.http.server.permissions import PUBLIC_PATHS
from tests.security.people.test_foreign_ids import (
    OPERATIONS,
    SOCKET,
    Operation,
    Things,
    _body,
    _query,
    _things,
)
from tests.surfaces.http.world import client_of, world

TOKEN = LEASE_TOKEN + "x" * 43
OWN = "/v1/workers/anns-worker/events"
PREFIXES = ("/v1/workers", "/internal/v1/codex/workers", "/api/runtime/codex/workers")
REFUSED = ("this token has no access to", "there is nothing at /internal/")
"""The words for a path that is closed to the token, and for one that takes another header alone."""
BATCH = {"epoch": 1, "first": 1, "items": []}


@pytest.fixture
async def things() -> AsyncIterator[Things]:
    async with world() as atoll:
        found = await _things(atoll)
        await lease_in(found, TOKEN)
        yield found


async def worker_in(things: Things, owner: str = "ann") -> WorkerRecord:
    async with things.team.atoll.ground.store.read() as rows:
        (found,) = [one for one in await rows.workers.unsettled() if one.owner == owner]
    return found


async def lease_in(things: Things, token: str) -> HostLease:
    """Ann's worker is on her desktop."""
    worker = await worker_in(things)
    lease = HostLease(
        worker.key,
        worker.worker.epoch,
        DesktopId("dk_a"),
        worker.org_id,
        worker.owner,
        worker.created.worker_id,
        fingerprint(token),
        things.team.atoll.clock.now(),
    )
    async with things.team.atoll.ground.store.begin() as rows:
        await rows.host_leases.put(lease)
    return lease


async def test_token_of_a_lease_delivers_for_its_worker_by_every_prefix(things: Things) -> None:
    async with client_of(things.team.atoll.url, TOKEN) as host:
        for prefix in PREFIXES:
            answer = await host.post(f"{prefix}/anns-worker/events", json=BATCH)
            assert (answer.status_code, answer.json()) == (200, {"expected": 1, "taken": 0})


async def test_token_of_a_lease_opens_no_other_route(things: Things) -> None:
    opened = []
    async with client_of(things.team.atoll.url, TOKEN) as host:
        for operation in OPERATIONS:
            public = operation.path in PUBLIC_PATHS or operation.path.startswith("/auth/oidc/")
            if public or operation.path == "/v1/workers/{worker_id}/events":
                continue
            told = await _tried(host, operation, things)
            if not any(words in told for words in REFUSED):
                opened.append((operation.name, told))
    assert opened == []


async def _tried(host: httpx.AsyncClient, operation: Operation, things: Things) -> str:
    """What a route says, or a WebSocket that does not open."""
    ids = things.values(foreign=True, whole="sandbox")
    path = re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], operation.path)
    if operation.method != SOCKET:
        answer = await host.request(
            operation.method, path, params=_query(operation), **_body(operation)
        )
        return answer.text
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        try:
            async with session.ws_connect(f"{things.team.atoll.url}{path}") as socket:
                return str((await socket.receive(timeout=10)).extra)
        except aiohttp.WSServerHandshakeError as refused:
            # Its problem document is not read by this client.
            return "this token has no access to" if refused.status == 404 else str(refused)


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_token_of_a_lease_only_posts(things: Things, method: str) -> None:
    async with client_of(things.team.atoll.url, TOKEN) as host:
        assert (await host.request(method, OWN)).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/v1/workers/bobs-worker/events",
        "/v1/workers/anns-worker/requests",
        "/v1/workers/anns-worker/events/",
        "/v1/workers/anns-worker//events",
        "/v1/workers/anns-worker/%65vents/x",
        "/v2/workers/anns-worker/events",
        "/internal/v1/codex/workers/bobs-worker/events",
        "/v1/workers/ANNS-WORKER/events",
    ],
)
async def test_token_of_a_lease_delivers_for_no_other_worker(things: Things, path: str) -> None:
    made = await things.team.call("bob", "POST", "/v1/workers", json={"worker_id": "bobs-worker"})
    assert made.status_code == 201
    async with client_of(things.team.atoll.url, TOKEN) as host:
        answer = await host.post(path, json=BATCH)
        assert answer.status_code in (404, 405, 307), answer.text
        assert answer.status_code != 307 or answer.headers["location"] != path


async def test_worker_of_the_same_name_of_somebody_else_is_not_touched(things: Things) -> None:
    """The token says whose it is: a name is no other person's."""
    made = await things.team.call("bob", "POST", "/v1/workers", json={"worker_id": "anns-worker"})
    assert made.status_code == 201
    event = {"event": {"method": "turn/started", "params": "{}"}}
    async with client_of(things.team.atoll.url, TOKEN) as host:
        assert (await host.post(OWN, json={**BATCH, "items": [event]})).json()["taken"] == 1
    mine, theirs = await worker_in(things), await worker_in(things, "bob")
    async with things.team.atoll.ground.store.read() as rows:
        assert len(await rows.host_entries.page(mine.key, 1, 0, 10)) == 1
        assert await rows.host_entries.page(theirs.key, 1, 0, 10) == []


async def test_lease_that_has_ended_is_told_so_and_takes_nothing(things: Things) -> None:
    lease = await lease_in(things, TOKEN)
    worker = await worker_in(things)
    store = things.team.atoll.ground.store
    event = {"event": {"method": "turn/started", "params": "{}"}}
    async with client_of(things.team.atoll.url, TOKEN) as host:
        for epoch in (2, 7):
            stale = await host.post(OWN, json={**BATCH, "epoch": epoch, "items": [event]})
            assert (stale.status_code, stale.json()["code"]) == (409, "stale_lease")
        again = replace(worker, worker=replace(worker.worker, epoch=2))
        async with store.begin() as rows:
            await rows.workers.put(again)
        for epoch in (1, 2):
            stale = await host.post(OWN, json={**BATCH, "epoch": epoch, "items": [event]})
            assert (stale.status_code, stale.json()["code"]) == (409, "stale_lease")
        async with store.begin() as rows:
            await rows.workers.put(worker)
            await rows.host_leases.put(replace(lease, state=LeaseState.ENDED))
        stale = await host.post(OWN, json=BATCH)
        assert (stale.status_code, stale.json()["code"]) == (409, "stale_lease")
        async with store.begin() as rows:
            assert await rows.host_entries.page(worker.key, 1, 0, 10) == []
            await rows.host_leases.remove(worker.key)
        gone = await host.post(OWN, json=BATCH)
        unknown = await host.post(
            OWN, json=BATCH, headers={"Authorization": f"Bearer {LEASE_TOKEN}{'y' * 43}"}
        )
        assert gone.status_code == unknown.status_code == 401
        assert gone.json()["detail"] == unknown.json()["detail"]


async def test_token_of_a_lease_is_exchanged_for_no_other(things: Things) -> None:
    async with client_of(things.team.atoll.url, TOKEN) as host:
        for path in ("/auth/token", "/auth/pat", "/auth/subscription"):
            assert (await host.post(path, json={})).status_code == 404


async def test_no_other_token_delivers(things: Things) -> None:
    for who in ("ann", "bob", None):
        answer = await things.team.call(who, "POST", OWN, json=BATCH)
        assert answer.status_code == 403, answer.text
