"""`atoll approve`: a person at a terminal says yes to what they were shown.

The token alone does not approve: the server gives words for this very question, and the person
reads them back. Nothing that runs in a sandbox sees them.
"""

import sys

import click

from atoll.client.made.approvals import ApproveBody, GrantScope
from atoll.domain.errors import Forbidden
from atoll.surfaces.cli.commands.approvals.approvals import show
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import approval_argument, duration, json_option
from atoll.surfaces.cli.console.output import note, say, show_json
from atoll.surfaces.cli.console.references import approval_id


@needs("approval.decide")
@click.command("approve")
@approval_argument("pending")
@click.option(
    "--for",
    "reach",
    type=click.Choice(("once", "sandbox", "organization")),
    default="once",
    help="One request, this sandbox, or every sandbox that has the secret  [default: once]",
)
@click.option(
    "--ttl", default=None, callback=duration, help="At most for this time: 90s, 15m, 4h, 2d."
)
@json_option()
@pass_invocation
def command(
    invocation: Invocation, approval: str, *, reach: GrantScope, ttl: str | None, as_json: bool
) -> None:
    """Approve a request."""
    if not sys.stdin.isatty():
        raise Forbidden("approving needs a person at a terminal: run it in one, or use the page")
    api = invocation.api()
    approval = approval_id(api, approval)
    asked = api.approvals.get(approval)
    show(asked)
    confirmation = api.approvals.confirmation(approval)
    note(f"To approve ({reach}), type: {confirmation.words}")
    words = click.prompt("Words", default="", show_default=False, err=True)
    body: ApproveBody = {"for": reach, "shown": asked.digest, "words": words or "-"}
    if ttl is not None:
        body["ttl"] = ttl
    answered = api.approvals.approve(approval, body)
    if as_json:
        show_json(answered.value)
    else:
        say(f"approved {approval}")
