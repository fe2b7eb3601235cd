"""`atoll login`: a one-time link to the page, or a login of this machine at a server elsewhere."""

import platform

import click

from atoll.client.made.people.logins import Ticket
from atoll.client.transport import Call
from atoll.domain.errors import Failed
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json


@needs("system.manage")
@click.command("login")
@click.option("--open", "browse", is_flag=True, help="Open it in the browser, too.")
@click.option("--url", default=None, help="Log this machine in at the server with this address.")
@json_option()
@pass_invocation
def command(invocation: Invocation, *, browse: bool, url: str | None, as_json: bool) -> None:
    """Print a new login link for the page, or log in elsewhere."""
    if url is not None:
        _log_in(invocation, url, browse=browse)
        return
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
        _open_in_browser(link)


def _log_in(invocation: Invocation, url: str, *, browse: bool) -> None:
    from atoll.client.remote_login import RemoteLogin
    from atoll.client.server import refuse_plain, server_at

    server = server_at(url, "--url")
    refuse_plain(server, invocation.environ)
    login = RemoteLogin(server)
    begun = login.begin(platform.node())
    say(begun.url)
    note(f"open it, log in, and confirm the code {begun.code}; it is valid for ten minutes")
    if browse:
        _open_in_browser(begun.url)
    login.save(invocation.home, login.wait(begun))
    note(f"logged in at {server.url}; `atoll logout` ends it")


def _open_in_browser(link: str) -> None:
    import webbrowser

    if not webbrowser.open(link):
        note("atoll: no browser here: open the link yourself")
