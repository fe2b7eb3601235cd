"""`atoll deny`: a person says no to what a sandbox asks for."""

import click

from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import approval_argument, json_option
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.references import approval_id


@needs("approval.decide")
@click.command("deny")
@approval_argument("pending")
@json_option()
@pass_invocation
def command(invocation: Invocation, approval: str, *, as_json: bool) -> None:
    """Deny a request.

    The same is not asked again for a quarter of an hour.
    """
    api = invocation.api()
    approval = approval_id(api, approval)
    answered = api.approvals.deny(approval)
    if as_json:
        show_json(answered.value)
    else:
        say(f"denied {approval}")
