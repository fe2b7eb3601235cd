"""`atoll stop`: everything that runs inside ends; files on disk stay."""

from functools import partial

import click

from atoll.client.made.sandboxes.views import Sandbox
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandboxes_argument
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import ended_notice, may_still_run, wait_ended
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.transfer.unpulled import find_unpulled, print_work


@needs("sandbox.manage")
@click.command("stop")
@sandboxes_argument()
@json_option()
@pass_invocation
def command(invocation: Invocation, names: tuple[str, ...], *, as_json: bool) -> None:
    """Stop sandboxes and keep their workspaces."""
    api = invocation.api()
    stop = partial(api.sandboxes.stop, wait=True)

    def end(name: str) -> Sandbox:
        print_work(find_unpulled(api, api.sandboxes.get(name)))
        sandbox = wait_ended(api, name, stop, title=f"stopping {name}")
        if not as_json:
            say(ended_notice(sandbox))
        return sandbox

    several = Several(invocation, len(names))
    stopped = several.each(dict.fromkeys(names), end)
    if as_json:
        show_json({"sandboxes": [sandbox.value for sandbox in stopped]})
    several.end()
    if any(map(may_still_run, stopped)):
        raise click.exceptions.Exit(FAILED)
