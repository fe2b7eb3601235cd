"""`atoll approvals`: list requests for approval."""

from collections.abc import Sequence

import click

from atoll.client.made.approvals import Approval, ApprovalState
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json


@needs("approval.read")
@click.command("approvals")
@click.option("--all", "everything", is_flag=True, help="Show decided requests, too.")
@json_option()
@pass_invocation
def command(invocation: Invocation, *, everything: bool, as_json: bool) -> None:
    """List requests for approval."""
    states: Sequence[ApprovalState] = () if everything else ("pending",)
    answered = invocation.api().approvals.list(state=states)
    if as_json:
        show_json(answered.value)
        return
    approvals = answered.approvals
    for approval in approvals:
        show(approval)
    if not approvals:
        note("no requests are pending")


def show(approval: Approval) -> None:
    """Show one request, as every surface shows it."""
    times = approval.times
    again = f", asked {times} times" if times > 1 else ""
    say(f"{approval.approval_id}  {approval.state}{_age_phrase(approval)}{again}")
    for line in approval.lines:
        say(f"  {line}")


def _age_phrase(approval: Approval) -> str:
    return f", {age(approval.asked_at)} ago"
