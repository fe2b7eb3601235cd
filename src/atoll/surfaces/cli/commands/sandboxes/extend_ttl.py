"""`atoll extend-ttl`: more time for a sandbox, never past what its profile allows."""

import click

from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment_with_time_left
from atoll.surfaces.cli.console.options import duration, json_option, sandbox_argument, utc_option
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import name_of


@needs("sandbox.manage")
@click.command("extend-ttl")
@sandbox_argument()
@click.argument("ttl", callback=duration)
@utc_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str, ttl: str, *, as_json: bool) -> None:
    """Give a sandbox more time, or keep an ended one longer.

    TTL is a duration such as 90s, 15m, 4h or 2d. More than fits is refused with what fits.
    """
    sandbox = invocation.api().sandboxes.extend_ttl(name, ttl)
    if as_json:
        show_json(sandbox.value)
    else:
        retained_until = sandbox.retained_until
        lives = f"lives until {moment_with_time_left(sandbox.expires_at)}"
        end = f"is kept until {moment_with_time_left(retained_until)}" if retained_until else lives
        say(f"{name_of(sandbox)} {end}")
