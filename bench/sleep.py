"""Sandboxes that sleep: what waking one costs beside a create, and what many cost at rest."""

import time
from concurrent.futures import ThreadPoolExecutor

from bench.figures import Series, ratio, table, verdict
from bench.peers import milliseconds
from bench.processes import control_plane_pss, processor_seconds, zygote_pss
from bench.server import Server, server

ROUNDS = 25
WARM = 3
KNOWN, AWAKE, FEW = 2000, 50, 20
REST_SECONDS = 30.0
PAGES = 40
HANDS = 4


def sleep() -> None:
    """Access to a sleeping sandbox until the first output, beside create until first output; then
    2,000 known sandboxes of which 50 are awake."""
    with server() as atoll:
        _wake(atoll)
    with server({"ATOLL_MAX_SANDBOXES": str(KNOWN + 100)}) as atoll:
        _crowd(atoll)


def _wake(atoll: Server) -> None:
    create = Series("create, then first output")
    wake = Series("first output of a sleeping one")
    for number in range(ROUNDS + WARM):
        started = time.perf_counter()
        sandbox = atoll.create()
        assert atoll.run(sandbox, "echo", "x")["exit_code"] == 0
        created_ms = milliseconds(started)
        _put_to_sleep(atoll, sandbox)
        started = time.perf_counter()
        assert atoll.run(sandbox, "echo", "x")["exit_code"] == 0
        woken_ms = milliseconds(started)
        atoll.api.delete(f"/v1/sandboxes/{sandbox}", params={"wait": "true"})
        if number >= WARM:
            create.samples.append(created_ms)
            wake.samples.append(woken_ms)
    table("access to a sleeping sandbox", create, wake)
    verdict("times a create", wake.median / create.median, 1.5)


def _crowd(atoll: Server) -> None:
    """Make all, let all but some sleep, and look at what they cost."""
    few, many = Series(f"first page of a list, {FEW} known"), Series(f"the same, {KNOWN} known")
    awake: list[str] = []
    with ThreadPoolExecutor(HANDS) as hands:
        made = list(hands.map(lambda _: atoll.create(), range(FEW)))
        few.samples += [_page(atoll) for _ in range(PAGES)]
        for batch in range(FEW, KNOWN, 100):
            list(hands.map(lambda sandbox: _put_to_sleep(atoll, sandbox), made))
            made = list(hands.map(lambda _: atoll.create(), range(min(100, KNOWN - batch))))
        awake = made[:AWAKE]
        list(hands.map(lambda sandbox: _put_to_sleep(atoll, sandbox), made[AWAKE:]))
        list(hands.map(lambda sandbox: _open_shell(atoll, sandbox), awake))
    many.samples += [_page(atoll) for _ in range(PAGES)]
    time.sleep(REST_SECONDS)
    used, started = processor_seconds(atoll.host.home), time.monotonic()
    time.sleep(REST_SECONDS)
    share = (processor_seconds(atoll.host.home) - used) / (time.monotonic() - started)
    inside = zygote_pss(atoll.host.home) / 1024
    outside = control_plane_pss(atoll.host.home) / 1024
    memory = Series("PSS of zygote and runtimes", "MiB", [inside])
    control = Series("PSS of the control plane", "MiB", [outside])
    table(f"{KNOWN} sandboxes, {AWAKE} of them awake with a bash", few, many, memory, control)
    verdict("MiB in all", inside + outside, 1024)
    verdict("% of a core at rest", share * 100, 2)
    ratio("a list's first page beside that of few", many.median / few.median)


def _put_to_sleep(atoll: Server, sandbox: str) -> None:
    answer = atoll.api.post(f"/v1/sandboxes/{sandbox}/sleep", params={"wait": "true"})
    answer.raise_for_status()


def _open_shell(atoll: Server, sandbox: str) -> None:
    answer = atoll.api.post(f"/v1/sandboxes/{sandbox}/terminals", json={"argv": ["bash"]})
    answer.raise_for_status()


def _page(atoll: Server) -> float:
    started = time.perf_counter()
    atoll.api.get("/v1/sandboxes", params={"limit": FEW}).raise_for_status()
    return milliseconds(started)
