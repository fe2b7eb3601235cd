"""`atoll restore`: a sandbox as a snapshot of it was, under the same id."""

import click

from atoll.client.made.sandboxes.snapshots import SandboxSnapshots
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json
from atoll.surfaces.cli.console.waiting import name_of, wait_ready


@needs("sandbox.manage")
@click.command("restore")
@sandbox_argument()
@click.argument("snapshot")
@yes_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str, snapshot: str, *, yes: bool, as_json: bool) -> None:
    """Bring a sandbox back as a snapshot of it was.

    What it is now is replaced: commits that nobody pulled, and changes, are saved first
    (`atoll pull --saved`).
    """
    api = invocation.api()
    if not confirm(f"Bring {name} back as {snapshot} was?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    asked = SandboxSnapshots(api.transport).restore(name, {"snapshot": snapshot})
    ready = wait_ready(api, asked, title=f"restoring {name_of(asked)}", again=True)
    if as_json:
        show_json(ready.value)
        return
    say(f"{name_of(ready)} is {ready.state}, as {snapshot} was")
    note(f"what it was before is saved, if it held work: atoll pull {name_of(ready)} --saved")
