"""`atoll worker ask|request|answer|follow`: what is said to a worker's agent, and what it says."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import ParamSpec, TypeVar, cast

import click

from atoll.client.fields import Json, Shape
from atoll.client.made.workers.workers import WorkerPage, WorkerRequestFields
from atoll.client.workers.shapes import WorkerDelta, WorkerEvent
from atoll.client.workers.workers import RECEIPT_SECONDS, Turn, Workers, new_request_id, result_of
from atoll.domain.errors import Failed, Invalid
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, utc_option
from atoll.surfaces.cli.console.output import note, say, show_json
from atoll.surfaces.cli.overview.worker_stream import (
    PiecePrinter,
    follow_events,
    follow_stream,
    is_named,
    read_tail,
    worker_line,
)

P = ParamSpec("P")
R = TypeVar("R")

MOST_WAIT = 60
MOST_TAIL_MS = 60_000
DECISIONS = ("accept", "acceptForSession", "decline", "cancel")
"""Codex's answers to a question about a command or a change of files."""


def worker_argument() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the argument WORKER: one of the caller's, by its name; it completes."""
    completion = complete_from(
        "workers", WorkerPage, lambda page: (worker.worker_id for worker in page.workers)
    )
    return click.argument("worker", shell_complete=completion)


@needs("agent.use")
@click.command("ask")
@worker_argument()
@click.argument("prompt")
@click.option("--thread", metavar="ID", default=None, help="In this thread, not the newest.")
@click.option("--wait", "waits", is_flag=True, help="Print what it says, until its turn ends.")
@json_option()
@pass_invocation
def ask(
    invocation: Invocation,
    /,
    worker: str,
    prompt: str,
    *,
    thread: str | None,
    waits: bool,
    as_json: bool,
) -> None:
    """Give the agent of a worker a prompt."""
    workers = Workers(invocation.api().transport)
    after = workers.get(worker).latest_seq
    turn = workers.ask(worker, prompt, thread_id=thread)
    if as_json:
        show_json({"thread_id": turn.thread_id, "turn_id": turn.turn_id})
    elif not waits:
        say(f"turn {turn.turn_id} of thread {turn.thread_id}: `atoll worker follow {worker}`")
    if waits:
        _await_turn(invocation, worker, turn, after=after, quiet=as_json)


@needs("agent.read")
@click.command("request")
@worker_argument()
@click.argument("method")
@click.argument("params", required=False)
@click.option("--id", "number", default=None, help="Its id: a repeat is answered the same.")
@click.option(
    "--wait",
    "seconds",
    type=click.IntRange(0, MOST_WAIT),
    default=RECEIPT_SECONDS,
    show_default=True,
    help="Seconds to wait for the answer.",
)
@json_option()
@pass_invocation
def request(
    invocation: Invocation,
    /,
    worker: str,
    method: str,
    params: str | None,
    *,
    number: str | None,
    seconds: int,
    as_json: bool,
) -> None:
    """Send a request in the agent's own protocol; PARAMS is a JSON object."""
    wanted: WorkerRequestFields = {
        "request_id": number or new_request_id(),
        "method": method,
        "params": _parse_object(params, "PARAMS"),
    }
    workers = Workers(invocation.api().transport)
    receipt = workers.request(worker, wanted, wait_ms=seconds * 1000)
    if as_json:
        show_json(receipt.value)
        return
    show_json(result_of(receipt))


@needs("agent.use")
@click.command("answer")
@worker_argument()
@click.argument("question")
@click.option("--decision", type=click.Choice(DECISIONS), default=None, help="Of an approval.")
@click.option("--result", metavar="JSON", default=None, help="Any other answer, as an object.")
@pass_invocation
def answer(
    invocation: Invocation, worker: str, question: str, *, decision: str | None, result: str | None
) -> None:
    """Answer a question of the agent, by the id that `follow` shows."""
    if (decision is None) == (result is None):
        raise click.UsageError("an answer is --decision or --result: give one of them.")
    body = {"decision": decision} if result is None else _parse_object(result, "--result")
    Workers(invocation.api().transport).answer(worker, question, body)
    say(f"answered {question}")


@needs("agent.read")
@click.command("follow")
@worker_argument()
@click.option(
    "--after", type=click.IntRange(min=0), default=0, help="Events after this number  [default: 0]"
)
@click.option("--until", metavar="NAME", default=None, help="End after this event or method.")
@click.option("--live", is_flag=True, help="Print what the agent says, piece by piece, too.")
@click.option(
    "--tail-ms",
    type=click.IntRange(0, MOST_TAIL_MS),
    default=None,
    help="Only events that are there, and those of this time.",
)
@utc_option()
@click.option("--json", "as_json", is_flag=True, help="Print each event as JSON, one a line.")
@pass_invocation
def follow(
    invocation: Invocation,
    /,
    worker: str,
    *,
    after: int,
    until: str | None,
    live: bool,
    tail_ms: int | None,
    as_json: bool,
) -> None:
    """Follow what happens to a worker and what its agent says, until it is removed."""
    pieces, transport = PiecePrinter(as_json=as_json), invocation.api().transport
    events = (
        follow_stream(transport, worker, after=after)
        if tail_ms is None
        else read_tail(transport, worker, after=after, tail_ms=tail_ms)
    )
    for event in events:
        if isinstance(event, WorkerDelta):
            if live:
                pieces.add(event)
            continue
        pieces.end()
        if as_json:
            click.echo(json.dumps(event.value))
        else:
            say(worker_line(event))
        if until is not None and is_named(event, until):
            return
    pieces.end()


TALK = (ask, request, answer, follow)
"""The commands beside those of `worker` itself."""


def _await_turn(
    invocation: Invocation, worker: str, turn: Turn, *, after: int, quiet: bool
) -> None:
    """Print what the agent says until a turn ends. Raises `Failed` for one that is not completed,
    and for a worker that ends before."""
    for event in follow_events(invocation.api().transport, worker, after=after):
        if event.event_type == "worker.stopped":
            break
        if event.question:
            note(f"atoll: it asks: `atoll worker answer {worker} {event.question}`")
        params = _params_of(event, turn)
        item = params.get("item")
        if event.method == "turn/completed" and params:
            _check_end(params)
            return
        if event.method == "item/completed" and isinstance(item, Mapping) and not quiet:
            _print_item(item)
    raise Failed(f"{worker} ended before its turn did: see `atoll worker show {worker}`")


def _params_of(event: WorkerEvent, turn: Turn) -> Mapping[str, Json]:
    """Return the params of a message about a turn; nothing for any other event."""
    params: Json = None
    with suppress(Failed):
        params = event.params
    if not isinstance(params, Mapping) or params.get("threadId") != turn.thread_id:
        return {}
    inner = params.get("turn")
    about = inner.get("id") if isinstance(inner, Mapping) else params.get("turnId")
    return params if about == turn.turn_id else {}


def _print_item(item: Mapping[str, Json]) -> None:
    words = item.get("text") if item.get("type") == "agentMessage" else item.get("command")
    for line in words.splitlines() if isinstance(words, str) else ():
        say(line if item.get("type") == "agentMessage" else f"$ {line}")


def _check_end(params: Mapping[str, Json]) -> None:
    ended = Shape.read(params.get("turn"), "turn").value
    if ended.get("status") == "completed":
        return
    error = ended.get("error")
    why = error.get("message") if isinstance(error, Mapping) else None
    raise Failed(f"the turn was not completed: {why or ended.get('status')}")


def _parse_object(text: str | None, name: str) -> dict[str, object]:
    """Return the JSON object in an argument. Raises `Invalid`."""
    try:
        params = json.loads(text or "{}")
    except ValueError as problem:
        raise Invalid(f"{name} is not JSON: {problem}", field=name) from problem
    if not isinstance(params, dict):
        raise Invalid(f"{name} is no JSON object: write it in braces", field=name)
    return cast("dict[str, object]", params)
