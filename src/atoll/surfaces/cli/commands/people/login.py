"""`atoll login`: a new one-time link to the page, for the person who holds the token."""

import click

from atoll.client.shapes import Ticket
from atoll.client.transport import Call
from atoll.domain.errors import Failed
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json


@click.command("login")
@click.option("--open", "browse", is_flag=True, help="Open it in the browser, too.")
@json_option()
@pass_invocation
def command(invocation: Invocation, *, browse: bool, as_json: bool) -> None:
    """Print a new login link for the page."""
    answered = invocation.api().transport.read(Ticket, Call("POST", "/auth/tickets"))
    link = answered.url
    if not link:
        raise Failed("the server made no login link")
    if as_json:
        show_json(answered.value)
    else:
        say(link)
        if answered.outside_url not in ("", link):
            note(f"from another machine: {answered.outside_url}")
        note("valid once, within ten minutes")
    if browse:
        import webbrowser

        if not webbrowser.open(link):
            note("atoll: no browser here: open the link yourself")
