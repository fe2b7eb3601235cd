"""`atoll logout`: the end of this machine's login elsewhere, or of all browser sessions."""

import click

from atoll.client.made.people.tokens import Tokens
from atoll.client.remote_login import forget
from atoll.client.server import saved_login
from atoll.client.transport import Call
from atoll.domain.errors import AtollError, NotFound
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.output import note


@needs("me.manage")
@click.command("logout")
@click.option("--everywhere", is_flag=True, help="End all your browser sessions there, too.")
@pass_invocation
def command(invocation: Invocation, *, everywhere: bool) -> None:
    """End this machine's login at a server elsewhere."""
    transport = invocation.api().transport
    if everywhere:
        transport.call(Call("POST", "/auth/logout/everywhere"))
        note("ended all your browser sessions")
    saved = saved_login(str(invocation.home))
    if saved is None:
        if not everywhere:
            raise NotFound("no login at a server elsewhere is kept here")
        return
    try:
        if transport.server.url == saved.url:
            Tokens(transport).revoke(saved.token_id)
    except AtollError as error:
        note(f"atoll: the token was not revoked: {error.message}")
    forget(invocation.home)
    note(f"logged out at {saved.url}")
