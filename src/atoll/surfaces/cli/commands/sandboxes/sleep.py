"""`atoll sleep`: a sandbox costs disk only, until somebody uses it."""

from functools import partial

import click

from atoll.client.made.sandboxes.views import Sandbox
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandboxes_argument
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import ended_notice, may_still_run, wait_ended
from atoll.surfaces.cli.dispatch.several import Several


@needs("sandbox.manage")
@click.command("sleep")
@sandboxes_argument()
@json_option()
@pass_invocation
def command(invocation: Invocation, names: tuple[str, ...], *, as_json: bool) -> None:
    """Let sandboxes sleep: what runs in them ends, and whoever uses one wakes it.

    Files stay, and so does what its terminals show. `atoll attach`, `atoll exec`, a preview or an
    agent's task wake it, and its agents go on in the conversations they had."""
    api = invocation.api()
    sleep = partial(api.sandboxes.sleep, query=(("wait", "true"),))

    def end(name: str) -> Sandbox:
        sandbox = wait_ended(api, name, sleep, title=f"putting {name} to sleep")
        if not as_json:
            say(ended_notice(sandbox))
        return sandbox

    several = Several(invocation, len(names))
    asleep = several.each(dict.fromkeys(names), end)
    if as_json:
        show_json({"sandboxes": [sandbox.value for sandbox in asleep]})
    several.end()
    if any(map(may_still_run, asleep)):
        raise click.exceptions.Exit(FAILED)
