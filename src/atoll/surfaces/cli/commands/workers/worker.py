"""`atoll worker`: agents in sandboxes that a program drives, each with a durable stream.

What is said to them and what they say is in `worker_talk`.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import click

from atoll.client.made.workers.workers import (
    ServerRequest,
    TeardownBody,
    Worker,
    WorkerBody,
    WorkerPage,
    WorkerThread,
)
from atoll.client.transport import get, omit_empty
from atoll.client.workers.workers import Workers
from atoll.surfaces.cli.commands.workers.worker_check import check, worker_up
from atoll.surfaces.cli.commands.workers.worker_hold import HOLD
from atoll.surfaces.cli.commands.workers.worker_talk import TALK, worker_argument
from atoll.surfaces.cli.console.candidates import profiles
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment_with_age
from atoll.surfaces.cli.console.options import duration, json_option, sandbox_option, utc_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.create.route_options import MODES
from atoll.surfaces.cli.create.selection_options import selection_of, selection_options
from atoll.surfaces.cli.dispatch.verbs import Verbs

P = ParamSpec("P")
R = TypeVar("R")


@click.group("worker", cls=Verbs)
def command() -> None:
    """Drive agents by their own protocol: requests, and a stream that outlives a restart."""


def create_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the options that describe a new worker."""
    options = (
        click.option("--agent", default=None, help="The agent  [default: codex]"),
        click.option("--profile", default=None, shell_complete=profiles(), help="Its profile."),
        click.option("--backend", metavar="NAME", default=None, help="This backend, and no other."),
        click.option(
            "--execution-mode",
            type=click.Choice(MODES),
            default=None,
            help="On your own linked machine, or not.",
        ),
        click.option(
            "--repo", "repos", metavar="URL", multiple=True, help="A repository; repeated."
        ),
        sandbox_option("--sandbox", help="Move into this sandbox."),
        click.option("--thread", metavar="ID", default=None, help="Go on with this conversation."),
        click.option("--ask-first", is_flag=True, help="It asks before it acts."),
        click.option(
            "--teardown",
            type=click.Choice(("immediate", "retain")),
            default=None,
            help="The fate of its sandbox after a stop  [default: retain]",
        ),
        click.option(
            "--retain-for",
            metavar="DURATION",
            default=None,
            callback=duration,
            help="How long a stopped worker is kept  [default: 7d]",
        ),
        click.option("--wait", "waits", is_flag=True, help="Wait until it takes requests."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@needs("agent.use")
@command.command("create")
@click.argument("worker")
@create_options
@selection_options
@json_option()
@pass_invocation
def create(
    invocation: Invocation, /, *, worker: str, waits: bool, as_json: bool, **options: Any
) -> None:
    """Create a worker, or reattach the one of this name, with its files and conversation."""
    workers = _workers(invocation)
    created = workers.create(_body(invocation, worker, options))
    if created.events_kept_for and not created.reattached:
        notice = f"what its agent says is kept for {created.events_kept_for}"
        note(f"atoll: {notice}; `atoll worker erase {worker}` deletes it")
    if waits:
        state = worker_up(workers, worker)
        if as_json:
            show_json({**created.value, "worker": state.value})
        else:
            say(f"{worker} runs in {state.sandbox.id}")
    elif as_json:
        show_json(created.value)
    else:
        what = "was there" if created.reattached else "was created"
        say(f"{worker} {what} and is {created.worker.status}")


@needs("agent.read")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List your workers, newest first."""
    page = invocation.api().transport.read_all(WorkerPage, get("workers"))
    if as_json:
        show_json(page.value)
        return
    rows = [
        (
            worker.worker_id,
            worker.agent,
            worker.backend_name or "-",
            worker.status,
            worker.heartbeat_state,
        )
        for worker in page.workers
    ]
    show_table(("WORKER", "AGENT", "BACKEND", "STATUS", "HEARTBEAT"), rows, flexible=("WORKER",))


@needs("agent.read")
@command.command("show")
@worker_argument()
@utc_option()
@json_option()
@pass_invocation
def show(invocation: Invocation, worker: str, *, as_json: bool) -> None:
    """Show one worker: its state, heartbeat, sandbox, and requests without an answer."""
    state = _workers(invocation).get(worker)
    if as_json:
        show_json(state.value)
    else:
        _show(state)


@needs("agent.use")
@command.command("stop")
@worker_argument()
@click.option("--reason", default=None, help="Why, for its stream.")
@json_option()
@pass_invocation
def stop(invocation: Invocation, worker: str, *, reason: str | None, as_json: bool) -> None:
    """Stop a worker; its work is kept, and its sandbox as its policy says."""
    stopped = _workers(invocation).stop(worker, reason)
    if as_json:
        show_json(stopped.value)
        return
    files = stopped.markers.workspace_ref
    say(f"{worker} is {stopped.status}{f', its files are {files}' if files else ''}")


@needs("agent.use")
@command.command("erase")
@worker_argument()
@json_option()
@pass_invocation
def erase(invocation: Invocation, *, worker: str, as_json: bool) -> None:
    """Delete what the agent of a worker said: its events, answers and artifacts."""
    erased = _workers(invocation).erase(worker)
    if as_json:
        show_json(erased.value)
    else:
        say(f"{erased.removed} events of {worker} were deleted")


for other in (*TALK, *HOLD, check):
    command.add_command(other)


def _workers(invocation: Invocation) -> Workers:
    return Workers(invocation.api().transport)


def _body(invocation: Invocation, worker: str, options: dict[str, Any]) -> WorkerBody:
    """Return the fields that the options set, and no others: the server compares each field that is
    named with the worker that exists."""
    body: WorkerBody = {
        "worker_id": worker,
        "agent": options["agent"],
        "backend": options["backend"],
        "execution_mode": options["execution_mode"],
        "profile": options["profile"],
        "thread_id": options["thread"],
    }
    if options["repos"]:
        body["repos"] = [{"repo_url": url} for url in options["repos"]]
    if options["ask_first"]:
        body["permissions"] = "ask"
    if options["teardown"] or options["retain_for"]:
        teardown: TeardownBody = {
            "policy": options["teardown"] or "retain",
            "retain_for": options["retain_for"],
        }
        body["teardown"] = omit_empty(teardown)
    if selection := selection_of(options):
        body["selection"] = selection
    if (name := options["sandbox"]) is not None:
        sandbox = invocation.api().sandboxes.get(name).sandbox_id
        body["workspace_ref"] = f"sandbox:{sandbox}/workspace"
    return omit_empty(body)


def _show(worker: Worker) -> None:
    sandbox, place = worker.sandbox, worker.sandbox.host or worker.sandbox.region
    wall = sandbox.isolation
    age = worker.heartbeat_age_ms / 1000
    permissions = _PERMISSIONS.get(worker.permissions, worker.permissions)
    lines = {
        "worker": worker.worker_id,
        "status": worker.status,
        "reason": worker.reason,
        "held by": "a person, in a terminal" if worker.held_by_person else "",
        "heartbeat": f"{worker.heartbeat_state}, {age:.1f} s ago",
        "agent": f"{worker.agent}, which {permissions}",
        "backend": " on ".join(filter(None, (worker.backend_name, place))),
        "sandbox": sandbox.id,
        "isolation": f"{wall.level}, by {wall.mechanism}" if wall.level else "",
        "degraded": "; ".join(wall.degraded),
        "thread": worker.thread_id,
        "threads": ", ".join(map(_thread, worker.threads)),
        "asks": ", ".join(map(_question, worker.pending.server_requests)),
        "usage": _usage(worker),
        "artifacts": ", ".join(
            f"{artifact.name} ({artifact.size} bytes)" for artifact in worker.artifacts
        ),
        "repositories": ", ".join(repo.repo_url or repo.key for repo in worker.repos),
        "events": str(worker.latest_seq),
        "pending": ", ".join(worker.pending.request_ids),
        "kept": f"{worker.teardown.retain_for} after a stop",
        "removed": ", ".join(worker.torn_down.removed),
        "left over": ", ".join(worker.torn_down.leftovers),
        "created": moment_with_age(worker.created_at),
    }
    if worker.teardown.policy == "immediate":
        lines["kept"] = "removed at a stop"
    for name, text in lines.items():
        if text:
            say(f"{name + ':':14}{text}")


def _thread(thread: WorkerThread) -> str:
    titled = f"{thread.thread_id} {thread.title!r}" if thread.title else thread.thread_id
    return f"{titled}, at work" if thread.turn_id else titled


def _question(question: ServerRequest) -> str:
    return f"{question.server_request_id} ({question.method})"


def _usage(worker: Worker) -> str:
    usage = worker.usage
    if not usage.requests:
        return ""
    tokens = f"{usage.input_tokens} tokens in ({usage.cached_tokens} cached)"
    return f"{usage.requests} calls of models, {tokens}, {usage.output_tokens} out"


_PERMISSIONS = {"allow": "acts by itself", "ask": "asks before it acts"}
