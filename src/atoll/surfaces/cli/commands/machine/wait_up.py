"""`atoll wait-up`: return once the control plane answers, for scripts that just started it."""

import time

import click

from atoll.client.client import Client
from atoll.client.transport import Call
from atoll.domain.duration import parse_duration
from atoll.domain.errors import Unauthenticated, Unavailable
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.output import say

POLL_SECONDS = 0.1
ANSWER_SECONDS = 5.0


@needs(LOCAL)
@click.command("wait-up")
@click.option("--timeout", default="60s", show_default=True, help="The longest wait: 60s, 2m.")
@pass_invocation
def command(invocation: Invocation, *, timeout: str) -> None:
    """Wait until Atoll answers, and print its address."""
    try:
        deadline = time.monotonic() + parse_duration(timeout, bare=True)
    except ValueError as problem:
        raise click.BadParameter(str(problem), param_hint="--timeout") from problem
    api = invocation.api()
    while not _answers(api):
        if time.monotonic() > deadline:
            raise Unavailable(f"Atoll did not answer within {timeout}", code="timeout")
        time.sleep(POLL_SECONDS)
    say(api.server.url)


def _answers(api: Client) -> bool:
    try:
        with api.transport.open(Call("GET", "/readyz", timeout=ANSWER_SECONDS)):
            return True
    except (Unavailable, Unauthenticated):
        # Unauthenticated: its token file is not there yet.
        return False
