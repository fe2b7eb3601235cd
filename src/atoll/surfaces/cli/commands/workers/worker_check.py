"""`atoll worker check`: a worker is tried for real on a backend, from its wall to its removal."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from atoll.client.made.workers.workers import Worker, WorkerBody, WorkerRequestFields
from atoll.client.transport import omit_empty
from atoll.client.workers.shapes import WorkerEvent
from atoll.client.workers.workers import (
    LOOK_SECONDS,
    RECEIPT_SECONDS,
    Workers,
    is_up,
    new_request_id,
    result_of,
)
from atoll.domain.errors import Failed, Unavailable
from atoll.surfaces.cli.console.candidates import profiles
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.output import say
from atoll.surfaces.cli.overview.worker_stream import follow_events

START_SECONDS = 300.0
"""The longest to wait until a worker runs."""
_RECEIPTS = frozenset({"worker.response", "worker.error"})


def worker_up(workers: Workers, worker: str) -> Worker:
    """Return a worker once it takes requests. Raises `Failed` with the reason when it will not."""
    until = time.monotonic() + START_SECONDS
    while not is_up(state := workers.get(worker)):
        if time.monotonic() > until:
            raise Unavailable(f"{worker} does not run yet: see `atoll worker show {worker}`")
        time.sleep(LOOK_SECONDS)
    return state


@needs("agent.use")
@click.command("check")
@click.option("--backend", metavar="NAME", default=None, help="This backend, and no other.")
@click.option("--profile", default=None, shell_complete=profiles(), help="Its profile.")
@click.option("--agent", default="codex", show_default=True, help="The agent.")
@pass_invocation
def check(invocation: Invocation, *, backend: str | None, profile: str | None, agent: str) -> None:
    """Try a worker of your own for real, and remove it: needs no model."""
    workers = Workers(invocation.api().transport)
    body: WorkerBody = {
        "worker_id": f"check-{secrets.token_hex(4)}",
        "agent": agent,
        "backend": backend,
        "profile": profile,
        "teardown": {"policy": "immediate"},
    }
    with _temporary_worker(invocation, workers, omit_empty(body)) as name:
        _print_finding("isolation", _wall(worker_up(workers, name)))
        request_id = new_request_id()
        _print_finding("request", _check_receipts(workers, name, request_id))
        _print_finding("stream", _check_resumption(invocation, name, request_id))


@contextmanager
def _temporary_worker(invocation: Invocation, workers: Workers, body: WorkerBody) -> Iterator[str]:
    """Yield the name of a new worker, which is removed at the end whatever happens."""
    name = body["worker_id"]
    workers.create(body)
    try:
        yield name
    finally:
        workers.stop(name, "the check is over")
        *_, last = follow_events(invocation.api().transport, name, after=0)
        if leftovers := last.said.get("leftovers"):
            raise Failed(f"The backend left something of {name} behind: {leftovers}")
        _print_finding("stop", f"nothing is left after {last.seq} events")


def _print_finding(what: str, words: str) -> None:
    say(f"{what + ':':11}{words}")


def _wall(shown: Worker) -> str:
    """Return the isolation. Raises `Failed` where the backend does not say it."""
    wall = shown.sandbox.isolation
    if not wall.level:
        raise Failed(f"The backend does not say how {shown.sandbox.id} is isolated.")
    degraded = f", without {'; '.join(wall.degraded)}" if wall.degraded else ""
    return f"{wall.level}, by {wall.mechanism}{degraded}, on {shown.backend_name}"


def _check_receipts(workers: Workers, name: str, request_id: str) -> str:
    """Begin a thread, and ask for it twice. Raises `Failed` where that is two threads."""
    fields: WorkerRequestFields = {
        "request_id": request_id,
        "method": "thread/start",
        "params": {},
    }
    wait_ms = RECEIPT_SECONDS * 1000
    answers = [result_of(workers.request(name, fields, wait_ms=wait_ms)) for _ in range(2)]
    if answers[0] != answers[1]:
        raise Failed("A request that was repeated had another answer.")
    return "answered, and once when it is repeated"


def _check_resumption(invocation: Invocation, name: str, request_id: str) -> str:
    """Read the stream until a receipt, then again after its first event. Raises `Failed` where
    the two differ or an event is missing."""
    transport = invocation.api().transport
    whole, rest = (_read_until(follow_events(transport, name, after=n), request_id) for n in (0, 1))
    if [event.value for event in whole[1:]] != [event.value for event in rest]:
        raise Failed("The stream is another one when it is resumed.")
    if [event.seq for event in whole] != list(range(1, len(whole) + 1)):
        raise Failed("The stream has a gap.")
    return f"{len(whole)} events from 1, the same when it is resumed"


def _read_until(events: Iterator[WorkerEvent], request_id: str) -> list[WorkerEvent]:
    """Return events until the receipt of a request. Raises `Failed` where there is none."""
    history = []
    for event in events:
        history.append(event)
        if event.event_type in _RECEIPTS and event.said.get("request_id") == request_id:
            return history
    raise Failed("The stream ended before the receipt of a request.")
