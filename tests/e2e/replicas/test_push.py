"""Ten thousand events and killed replicas: no dialect misses a change.

ATOLL_PUSH_EVENTS is their number, ATOLL_CHAOS_SEED repeats the dice.
"""

import os
import random
from collections.abc import Callable

import pytest

from tests.e2e.replicas.fleet import fleet_on
from tests.e2e.replicas.push import watched_through_kills
from tests.peers.databases.postgres import PostgresServer

EVENTS = int(os.environ.get("ATOLL_PUSH_EVENTS", "10000"))
SEED = int(os.environ.get("ATOLL_CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600 + EVENTS // 4)]


async def test_ten_thousand_events_reach_a_reader_of_each_dialect(
    postgres: PostgresServer, summary: Callable[[str], None]
) -> None:
    summary(f"chaos: ATOLL_CHAOS_SEED={SEED} ATOLL_PUSH_EVENTS={EVENTS}")
    with fleet_on(postgres) as fleet:
        await watched_through_kills(fleet, EVENTS, seed=SEED, many=True)
