"""The page on tokens: its claims are the code's, and its recipe verifies what Atoll signs."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from joserfc.errors import JoseError

from atoll.domain.people.bearer import LIFE, BearerClaims
from atoll.domain.people.token import NEVER_INSIDE
from atoll.wire.words.people import MAX_TOKENS
from tests.places import ROOT
from tests.surfaces.http.world import World, client_of, world

PAGE = (ROOT / "docs/program/tokens.md").read_text()


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def test_table_names_every_claim() -> None:
    table = PAGE[PAGE.index("| claim | what it is |") :].split("\n\n")[0]
    named = [
        name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    assert sorted(named) == sorted(one.name for one in fields(BearerClaims))


def test_figures_are_those_of_the_code() -> None:
    assert timedelta(minutes=15) == LIFE and f"at most {MAX_TOKENS}" in PAGE
    assert "approval.decide" in NEVER_INSIDE and "token.manage" in NEVER_INSIDE


async def test_recipe_verifies_a_token_and_refuses_others(atoll: World) -> None:
    (recipe,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(recipe.strip().splitlines()) <= 12
    found: dict[str, Any] = {}
    exec(compile(recipe, "tokens.md", "exec"), found)
    verify: Callable[..., dict[str, Any]] = found["verify"]
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/auth/token", json={"audience": "billing"})
    token = made.json()["access_token"]
    claims = await asyncio.to_thread(verify, token, atoll.url, "atoll", "billing")
    assert claims["sub"] == "person" and claims["org_id"] == "personal"
    head, body, tail = token.split(".")
    flipped = ("A" if tail[0] != "A" else "B") + tail[1:]
    for wrong in ((token, "atoll", "other"), (token, "evil", "billing"),
                  (f"{head}.{body}.{flipped}", "atoll", "billing")):  # fmt: skip
        with pytest.raises(JoseError):
            await asyncio.to_thread(verify, wrong[0], atoll.url, *wrong[1:])
