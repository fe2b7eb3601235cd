"""`replicas`: sandboxes created a second, by clients at one control plane and at three.

One leader provisions for all of them, so more replicas must not cost throughput: what is compared
is the whole way from the request until the sandbox is ready, on PostgreSQL.
"""

import itertools
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from bench.figures import Series, table, verdict
from tests.e2e.replicas.fleet import fleet_on
from tests.peers.api import Api, api_of
from tests.peers.databases.postgres import PostgresServer, missing, serving

CLIENTS = 6
CREATES = 60
ROUNDS = 3


def replicas() -> None:
    """Create throughput with 1 and 3 replicas."""
    if reason := missing():
        print(f"  {reason}: not measured")
        return
    one, three = (Series(f"creates by {count}", unit="/s") for count in ("one", "three replicas"))
    with serving() as server:
        for _ in range(ROUNDS):
            one.samples.append(_rate(server, ()))
            three.samples.append(_rate(server, ("two", "three")))
    table("create throughput", one, three)
    verdict("three replicas, times one", three.median / one.median, 0.9, at_least=True)


def _rate(server: PostgresServer, further: Sequence[str]) -> float:
    """Return the sandboxes that got ready in a second."""
    settings = {"ATOLL_MAX_SANDBOXES": "500"}
    with fleet_on(server, settings, further=further) as fleet, ExitStack() as stack:
        apis = [stack.enter_context(api_of(each)) for each in fleet.servers]
        for api in apis:  # what the first create warms up is warm
            api.act(api.create()["sandbox_id"], "destroy")
        turns = itertools.islice(itertools.cycle(apis), CREATES)
        with ThreadPoolExecutor(CLIENTS) as clients:
            started = time.perf_counter()
            made = list(clients.map(_create, turns))
            seconds = time.perf_counter() - started
            list(clients.map(lambda sandbox: apis[0].act(sandbox, "destroy"), made))
    return CREATES / seconds


def _create(api: Api) -> str:
    return str(api.create()["sandbox_id"])
