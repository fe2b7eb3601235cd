"""`atoll destroy`: destroy sandboxes, after showing what is lost and keeping what is wanted."""

from pathlib import Path

import click

from atoll.client.client import Client
from atoll.client.fields import Json
from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.errors import NotFound
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import (
    json_option,
    keep_options,
    lose_option,
    sandboxes_argument,
    yes_option,
)
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.selection import can_ask, pick_several, row_of
from atoll.surfaces.cli.console.waiting import ended_notice, may_still_run, name_of, wait_ended
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.transfer.keeping import KeepOptions, keep_before
from atoll.surfaces.cli.transfer.unpulled import (
    Choice,
    choose,
    find_unpulled,
    leave_out_unknown,
    print_work,
)


@needs("sandbox.manage")
@click.command("destroy")
@sandboxes_argument(required=False)
@keep_options()
@yes_option()
@lose_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    names: tuple[str, ...],
    *,
    keep_worktree: bool,
    to: Path | None,
    with_secrets: bool,
    yes: bool,
    lose_work: bool,
    as_json: bool,
) -> None:
    """Destroy sandboxes permanently.

    Work that nobody has outside is told first. Its files can be kept: they are written to
    ~/atoll-kept/NAME, with a bundle of the new commits beside them, before anything is destroyed.
    Where that work cannot be listed, --yes alone destroys nothing.
    """
    api = invocation.api()
    several = Several(invocation, len(names))
    # All are looked up before anyone is asked: the question names what is destroyed.
    sandboxes = _find_named(api, several, names) if names else _choose_sandboxes(api)
    if to is not None and max(len(names), len(sandboxes)) > 1:
        raise click.UsageError("--to takes the files of one sandbox: name one.")
    keeping = KeepOptions(to, with_secrets, quiet=as_json)
    keep = keep_worktree or to is not None
    works = [find_unpulled(api, sandbox) for sandbox in sandboxes]
    for work in works:
        print_work(work, gone=True)
    going = leave_out_unknown(sandboxes, works, yes=yes, lose=lose_work or keep)
    listed = ", ".join(name_of(sandbox) for sandbox in going)
    choice = choose(f"Destroy {listed}?", works, yes=yes or lose_work, keep=keep)
    if not going or choice is Choice.LEAVE:
        raise click.exceptions.Exit(FAILED)

    def end(sandbox: Sandbox) -> tuple[Sandbox, dict[str, Json]]:
        record = keep_before(invocation, sandbox, keeping) if choice is Choice.KEEP else None
        title = f"destroying {name_of(sandbox)}"
        answered = wait_ended(api, sandbox.sandbox_id, api.sandboxes.destroy, title=title)
        if not as_json:
            say(ended_notice(answered))
        return answered, {**answered.value, **({"kept": record.value()} if record else {})}

    ended = several.each(going, end, name=name_of)
    if as_json:
        show_json({"sandboxes": [value for _, value in ended]})
    several.end()
    if len(going) < len(sandboxes) or any(may_still_run(answered) for answered, _ in ended):
        raise click.exceptions.Exit(FAILED)


def _find_named(api: Client, several: Several, names: tuple[str, ...]) -> list[Sandbox]:
    """Return the sandboxes that are named, each once. Leaves the command where none is there."""
    there = several.each(names, api.sandboxes.get)
    if not there:
        several.end()
    return list({sandbox.sandbox_id: sandbox for sandbox in there}.values())


def _choose_sandboxes(api: Client) -> list[Sandbox]:
    """Return the sandboxes that a person chooses. Raises a usage error without a terminal."""
    if not can_ask():
        raise click.UsageError("`atoll destroy` needs NAME...: see `atoll destroy --help`")
    there = list(api.sandboxes.list())
    if not there:
        raise NotFound("there is no sandbox")
    chosen = pick_several("Destroy which (numbers)", [row_of(sandbox) for sandbox in there])
    return [there[index] for index in chosen]
