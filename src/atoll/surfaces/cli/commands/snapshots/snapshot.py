"""`atoll snapshot`: sandboxes' files as they were, kept and begun from."""

import uuid

import click

from atoll.client.made.sandboxes.requests import CreateBody
from atoll.client.made.sandboxes.snapshots import (
    AgentTurn,
    Conversation,
    SandboxSnapshots,
    Snapshot,
    SnapshotBody,
    SnapshotPage,
    Snapshots,
)
from atoll.domain.size import spelled_size
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment_with_age, moment_with_time_left
from atoll.surfaces.cli.console.options import (
    duration,
    json_option,
    sandbox_argument,
    utc_option,
    yes_option,
)
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.console.waiting import name_of, wait_ready
from atoll.surfaces.cli.dispatch.verbs import UsualVerb

CONVERSATIONS = ("continue", "fresh", "none")

_snapshot = click.argument(
    "snapshot",
    shell_complete=complete_from(
        "snapshots", SnapshotPage, lambda page: (each.name for each in page.snapshots)
    ),
)


class _SnapshotGroup(UsualVerb):
    """The group `snapshot`: a sandbox's name alone keeps its files."""

    usual = "take"


@click.group("snapshot", cls=_SnapshotGroup)
def command() -> None:
    """Keep a sandbox's files as they are now, and begin others as they were."""


@needs("sandbox.manage")
@command.command("take")
@sandbox_argument()
@click.option("--name", "called", default=None, help="Its name; by default the time it is taken.")
@click.option("--ttl", default=None, callback=duration, help="How long it is kept: for good.")
@utc_option()
@json_option()
@pass_invocation
def take(
    invocation: Invocation, name: str, *, called: str | None, ttl: str | None, as_json: bool
) -> None:
    """Keep a sandbox's files as they are now. It need not stop."""
    body: SnapshotBody = {"name": called, "ttl": ttl}
    taken = SandboxSnapshots(invocation.api().transport).take(name, body)
    if as_json:
        show_json(taken.value)
        return
    say(taken.name)
    still = f"; what wrote inside waited {taken.still_ms} ms" if taken.still_ms else ""
    note(f"{spelled_size(taken.size)} of {taken.sandbox_name} are kept{still}")


@needs("sandbox.read")
@command.command("list")
@sandbox_argument(required=False)
@utc_option()
@json_option()
@pass_invocation
def list_(invocation: Invocation, name: str | None, *, as_json: bool) -> None:
    """List your snapshots, or those of a sandbox."""
    page = Snapshots(invocation.api().transport).list(name=name)
    if as_json:
        show_json(page.value)
    elif page.snapshots:
        header = ("NAME", "SANDBOX", "SIZE", "AGENT", "AFTER", "TAKEN", "KEPT UNTIL")
        show_table(header, [_row(each) for each in page.snapshots])
    else:
        note("no snapshots: take one with `atoll snapshot SANDBOX`")


@needs("sandbox.read")
@command.command("show")
@_snapshot
@utc_option()
@json_option()
@pass_invocation
def show(invocation: Invocation, snapshot: str, *, as_json: bool) -> None:
    """Show a snapshot."""
    shown = Snapshots(invocation.api().transport).get(snapshot)
    if as_json:
        show_json(shown.value)
        return
    rows = (
        ("id", shown.snapshot_id),
        ("sandbox", f"{shown.sandbox_name} ({shown.sandbox_id})"),
        ("state", shown.state),
        ("files", f"{spelled_size(shown.size)}, {shown.disk}"),
        ("branches", ", ".join(shown.branches) or "-"),
        ("conversation", shown.agent or "-"),
        ("backend", f"{shown.extension} {shown.host}".strip()),
        ("taken", moment_with_age(shown.created_at)),
        ("after", f"{_turn(shown.turn)} ({shown.turn.agent_id})" if shown.turn else "-"),
    )
    show_table((shown.name, ""), rows)


@needs("sandbox.create")
@command.command("new")
@_snapshot
@click.option("--name", "called", default=None, help="The name of the sandbox.")
@click.option("--branch", default=None, help="The branch that its repositories go on in.")
@click.option(
    "--conversation",
    type=click.Choice(CONVERSATIONS),
    default="continue",
    show_default=True,
    help="Whether its agent's conversation goes on, its agent begins anew, or none starts.",
)
@click.option("--prompt", default=None, help="Words for its agent.")
@json_option()
@pass_invocation
def new(
    invocation: Invocation,
    snapshot: str,
    *,
    called: str | None,
    branch: str | None,
    conversation: Conversation,
    prompt: str | None,
    as_json: bool,
) -> None:
    """Make a sandbox that begins as a snapshot."""
    api = invocation.api()
    body: CreateBody = {
        "name": called,
        "prompt": prompt,
        "seed": {"snapshot": snapshot, "conversation": conversation, "branch": branch},
    }
    asked = api.sandboxes.create(body, idempotency_key=uuid.uuid4().hex)
    ready = wait_ready(api, asked, title=f"beginning {name_of(asked)}")
    if as_json:
        show_json(ready.value)
    else:
        say(f"{name_of(ready)} is {ready.state}")


@needs("sandbox.manage")
@command.command("export")
@_snapshot
@pass_invocation
def export(invocation: Invocation, snapshot: str) -> None:
    """Keep a snapshot's disk among the contents, for other machines."""
    exported = Snapshots(invocation.api().transport).export(snapshot)
    say(f"{exported.name} is exported")


@needs("sandbox.manage")
@command.command("verify")
@_snapshot
@json_option()
@pass_invocation
def verify(invocation: Invocation, snapshot: str, *, as_json: bool) -> None:
    """Read an exported snapshot, and say whether it is whole; exit 1 where not."""
    verification = Snapshots(invocation.api().transport).verify(snapshot)
    if as_json:
        show_json(verification.value)
    elif verification.whole:
        say(f"{snapshot} is whole: {verification.blobs} parts")
    else:
        say(f"{snapshot}: {verification.damaged} of {verification.blobs} parts are damaged")
    if not verification.whole:
        raise click.exceptions.Exit(FAILED)


@needs("sandbox.manage")
@command.command("import")
@_snapshot
@pass_invocation
def import_(invocation: Invocation, snapshot: str) -> None:
    """Bring an exported snapshot's disk back to the server."""
    brought = Snapshots(invocation.api().transport).bring_back(snapshot)
    say(f"{brought.name} is on the server")


@needs("sandbox.manage")
@command.command("rm")
@_snapshot
@yes_option()
@pass_invocation
def remove(invocation: Invocation, snapshot: str, *, yes: bool) -> None:
    """Remove a snapshot; sandboxes that began as it keep their files."""
    if not confirm(f"Remove the snapshot {snapshot}?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    Snapshots(invocation.api().transport).remove(snapshot)
    note(f"atoll: {snapshot} is removed")


def _turn(turn: AgentTurn) -> str:
    return f"turn {turn.number} of {turn.agent}"


def _row(each: Snapshot) -> tuple[str, ...]:
    return (
        each.name,
        each.sandbox_name,
        spelled_size(each.size),
        each.agent or "-",
        _turn(each.turn) if each.turn else "-",
        moment_with_age(each.created_at),
        moment_with_time_left(each.expires_at) if each.expires_at else "-",
    )
