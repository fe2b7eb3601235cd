"""`atoll recreate`: a fresh workspace under the same id; the work in the old one is saved first."""

from pathlib import Path

import click

from atoll.client.client import Client
from atoll.client.made.sandboxes.views import Sandbox
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import (
    json_option,
    keep_options,
    sandbox_argument,
    yes_option,
)
from atoll.surfaces.cli.console.output import note, say, show_json
from atoll.surfaces.cli.console.waiting import name_of, wait_ready
from atoll.surfaces.cli.transfer.keeping import KeepOptions, keep_before
from atoll.surfaces.cli.transfer.saved_work import list_saved
from atoll.surfaces.cli.transfer.unpulled import Choice, choose, find_unpulled, print_work


@needs("sandbox.manage")
@click.command("recreate")
@sandbox_argument()
@keep_options()
@yes_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    *,
    keep_worktree: bool,
    to: Path | None,
    with_secrets: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Recreate a sandbox under the same id, saving its work first."""
    api = invocation.api()
    sandbox = api.sandboxes.get(name)
    keeping = KeepOptions(to, with_secrets, quiet=as_json)
    work = find_unpulled(api, sandbox)
    print_work(work)
    keep = keep_worktree or to is not None
    choice = choose(f"Recreate {name_of(sandbox)}?", [work], yes=yes, keep=keep, saved=True)
    if choice is Choice.LEAVE:
        raise click.exceptions.Exit(FAILED)
    if choice is Choice.KEEP:
        keep_before(invocation, sandbox, keeping)
    asked = api.sandboxes.recreate(sandbox.sandbox_id)
    ready = wait_ready(api, asked, title=f"recreating {name_of(asked)}", again=True)
    if as_json:
        show_json(ready.value)
    else:
        say(f"{name_of(ready)} is {ready.state}, generation {ready.generation}")
        if work:
            say(f"What it held is saved: atoll pull {name_of(ready)} --saved")
        _tell_saved(api, ready)


def _tell_saved(api: Client, ready: Sandbox) -> None:
    before = ready.generation - 1
    for work in list_saved(api, ready.sandbox_id):
        if work.generation == before:
            if work.bundles:
                note(f"its work was saved: atoll pull {name_of(ready)} --saved")
            if work.tree:
                note(f"its whole tree was kept: atoll kept {work.kept_id}")
            return
