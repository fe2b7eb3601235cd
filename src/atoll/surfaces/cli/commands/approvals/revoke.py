"""`atoll revoke`: revoke an approval."""

import click

from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import approval_argument, json_option
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.references import approval_id


@needs("approval.decide")
@click.command("revoke")
@approval_argument("granted")
@json_option()
@pass_invocation
def command(invocation: Invocation, approval: str, *, as_json: bool) -> None:
    """Revoke an approval.

    At once, also from what streams because of it.
    """
    api = invocation.api()
    approval = approval_id(api, approval)
    answered = api.approvals.revoke(approval)
    if as_json:
        show_json(answered.value)
    else:
        say(f"revoked {approval}")
