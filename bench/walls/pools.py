"""Pools: a create that takes an environment beside one that builds it, alone and 100 at once."""

import asyncio
import json
import time
from urllib.parse import urlsplit

from bench.figures import Series, ratio, table, verdict
from bench.peers import milliseconds
from bench.server import Server, server

ROUNDS, WARM = 40, 5
CROWD = 100
FULL_SECONDS = 120.0


def pools() -> None:
    """Claim until ready beside a request that appends one event; 100 creates at once, without a
    pool and with one that has as many."""
    with server() as atoll:
        _claims(atoll)
        atoll.api.delete("/v1/pools/shell").raise_for_status()
        without, within = Series("without a pool"), Series("from a pool")
        without.samples += create_at_once(atoll, "shell", CROWD)
        fill(atoll, "shell", CROWD)
        within.samples += create_at_once(atoll, "shell", CROWD)
        taken = _pool(atoll, "shell")["taken"]
    table(f"{CROWD} creates at once until ready", without, within)
    verdict("s without a pool, median", without.median / 1000, 1.2)
    verdict("s from a pool, median", within.median / 1000, 0.5)
    print(f"  {taken} of them came of the pool")


def _claims(atoll: Server) -> None:
    """Create from a pool, one after the other."""
    fill(atoll, "shell", 4)
    claim, event = Series("claim until ready"), Series("a request that appends one event")
    for number in range(ROUNDS + WARM):
        started = time.perf_counter()
        sandbox = atoll.create()
        claimed_ms = milliseconds(started)
        started = time.perf_counter()
        answer = atoll.api.post(f"/v1/sandboxes/{sandbox}/extend_ttl", json={"ttl": "5h"})
        answer.raise_for_status()
        event_ms = milliseconds(started)
        atoll.api.delete(f"/v1/sandboxes/{sandbox}", params={"wait": "true"})
        _await_full(atoll, "shell", 4)
        if number >= WARM:
            claim.samples.append(claimed_ms)
            event.samples.append(event_ms)
    table("a create from a pool", claim, event)
    ratio("times the request", claim.median / event.median)


def fill(atoll: Server, profile: str, count: int) -> None:
    """Have a pool of so many, and wait until they are there."""
    body = {"min": count, "max": count}
    atoll.api.put(f"/v1/pools/{profile}", json=body).raise_for_status()
    _await_full(atoll, profile, count)


def _await_full(atoll: Server, profile: str, count: int) -> None:
    until = time.monotonic() + FULL_SECONDS
    while _pool(atoll, profile)["ready"] < count:
        if time.monotonic() > until:
            raise RuntimeError(f"the pool was not filled: {_pool(atoll, profile)}")
        time.sleep(0.02)


def _pool(atoll: Server, profile: str) -> dict[str, int]:
    answer = atoll.api.get(f"/v1/pools/{profile}")
    answer.raise_for_status()
    pool: dict[str, int] = answer.json()
    return pool


def create_at_once(atoll: Server, profile: str, count: int) -> list[float]:
    """The milliseconds of each of `count` creates that begin at once, on connections of their
    own."""
    return asyncio.run(_crowd(atoll, profile, count))


async def _crowd(atoll: Server, profile: str, count: int) -> list[float]:
    place = urlsplit(atoll.host.url)
    body = json.dumps({"profile": profile}).encode()
    request = (
        b"POST /v1/sandboxes?wait=ready HTTP/1.1\r\nHost: %b\r\nAuthorization: Bearer %b\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
        % (place.netloc.encode(), atoll.host.token.encode(), len(body), body)
    )
    links = [await asyncio.open_connection(place.hostname, place.port) for _ in range(count)]
    started = time.perf_counter()

    async def create(link: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> tuple[float, str]:
        reader, writer = link
        writer.write(request)
        answer = await reader.read()
        took = milliseconds(started)
        writer.close()
        head, _, rest = answer.partition(b"\r\n\r\n")
        made = json.loads(rest[rest.index(b"{") : rest.rindex(b"}") + 1])
        if made.get("state") not in ("ready", "active"):
            raise RuntimeError(f"{head[:80]!r}: {made}")
        return took, made["sandbox_id"]

    made = await asyncio.gather(*map(create, links))
    for _, sandbox in made:
        atoll.api.delete(f"/v1/sandboxes/{sandbox}", params={"wait": "true"})
    return [took for took, _ in made]
