"""Limits hold under pressure, through HTTP and on real storage."""

import asyncio
from collections import Counter

import httpx

from atoll.testing.server import test_server

PAPER = """\
id: profile.paper
version: "1.0.0"
description: A sandbox that exists on paper only.
extension: ext.in-memory
isolation: {level: none}
"""
LIMIT = 25
CREATES = 100


async def test_creates_in_parallel_beyond_the_limit_give_exactly_the_limit() -> None:
    env = {"ATOLL_EXTENSIONS": "in-memory", "ATOLL_MAX_SANDBOXES": str(LIMIT)}
    with test_server(env) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        limits = httpx.Limits(max_connections=64)
        async with httpx.AsyncClient(
            base_url=server.url, headers=headers, limits=limits, timeout=120
        ) as client:
            saved = await client.put("/v1/profiles/paper", content=PAPER)
            assert saved.is_success, saved.text
            body = {"profile": "paper"}
            posts = [client.post("/v1/sandboxes", json=body) for _ in range(CREATES)]
            answers = await asyncio.gather(*posts)
            counted = Counter(answer.status_code for answer in answers)
            assert counted == {202: LIMIT, 429: CREATES - LIMIT}
            refused = next(answer for answer in answers if answer.status_code == 429).json()
            assert refused["code"] == "limit_reached" and str(LIMIT) in refused["detail"]
            listed = (await client.get("/v1/sandboxes?limit=100")).json()["sandboxes"]
            assert len(listed) == LIMIT
            gone = listed[0]["sandbox_id"]
            await client.delete(f"/v1/sandboxes/{gone}?wait=true")
            again = [client.post("/v1/sandboxes", json=body) for _ in range(10)]
            states = Counter(answer.status_code for answer in await asyncio.gather(*again))
            assert states == {202: 1, 429: 9}
