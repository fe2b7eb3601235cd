"""One world per test."""

from collections.abc import AsyncIterator

import pytest

from tests.peers.event_schemas import events_fit_their_schemas as events_fit_their_schemas
from tests.surfaces.http.world import World, world


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made
