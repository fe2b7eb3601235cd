"""A day of one home with every kind of sandbox on at once: what a person does, and what ends by
itself, in an order that the dice give. States and reasons are true after each, and at the end
nothing is left of what was destroyed, and nothing was touched that is another's.

`ATOLL_DAY_SEED` repeats the dice, `ATOLL_DAY_ACTS` is how much happens.
"""

import os
import random
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.day.acts import Day
from tests.e2e.day.places import KINDS, Places, opened
from tests.peers import docker_daemon
from tests.peers.far.sides import NO_COMPOSE
from tests.peers.machines import microvm, ssh_server

NOT_HERE = ssh_server.missing() or docker_daemon.why_not() or NO_COMPOSE or microvm.missing()
SEED = int(os.environ.get("ATOLL_DAY_SEED") or random.randrange(2**32))
ACTS = int(os.environ.get("ATOLL_DAY_ACTS", "25"))

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE),
    pytest.mark.timeout(600 + 60 * ACTS),
]


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    with opened() as made:
        yield made


def test_day(places: Places, summary: Callable[[str], None]) -> None:
    summary(f"day: ATOLL_DAY_SEED={SEED} ATOLL_DAY_ACTS={ACTS}")
    day = Day(places, random.Random(SEED))
    for kind in KINDS:
        day.create(kind)
    day.check()
    day.spend(ACTS)
    day.end()
