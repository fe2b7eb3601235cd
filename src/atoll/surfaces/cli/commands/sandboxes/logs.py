"""`atoll logs`: what provisioning said. Output of terminals is not kept and not here."""

import time

import click

from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment
from atoll.surfaces.cli.console.options import json_option, sandbox_argument, utc_option
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import COMING

POLL_SECONDS = 0.5


@needs("sandbox.read")
@click.command("logs")
@sandbox_argument()
@click.option("-f", "--follow", is_flag=True, help="Follow until it is ready or has failed.")
@utc_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str, *, follow: bool, as_json: bool) -> None:
    """Show how a sandbox was created, step by step."""
    api = invocation.api()
    sandbox_id = api.sandboxes.get(name).sandbox_id
    count = 0
    while True:
        # Asked before the lines are read, so that the last lines are not missed.
        state = api.sandboxes.get(sandbox_id).state if follow else ""
        answered = api.sandboxes.log(sandbox_id)
        lines = answered.lines
        if as_json and not follow:
            show_json(answered.value)
            return
        for line in lines[count:]:
            if as_json:
                show_json(line.value)
            else:
                say(f"{moment(line.at)}  {line.text}")
        count = len(lines)
        if state not in COMING:
            return
        time.sleep(POLL_SECONDS)
