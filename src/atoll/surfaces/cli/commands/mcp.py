"""`atoll mcp`: the tools of `/mcp` on stdio, for an agent of one's own."""

import os
from pathlib import Path

import click

from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import sandbox_option
from atoll.surfaces.cli.console.output import note


@needs("event.read")
@click.command("mcp")
@sandbox_option(
    "--sandbox", help="Only the tools that agents in this sandbox have, as they have them."
)
@click.option(
    "--flat", is_flag=True, help="Underscores for the dots in names, for models that take no dots."
)
@click.option(
    "--outside",
    is_flag=True,
    help="Let an agent without an account reach outside this home: networks and repositories.",
)
@click.option(
    "--env-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default=None,
    help="The file with ATOLL_URL and ATOLL_TOKEN, in place of the environment.",
)
@pass_invocation
def command(
    invocation: Invocation,
    *,
    sandbox: str | None,
    flat: bool,
    outside: bool,
    env_file: Path | None,
) -> None:
    """Serve Atoll's tools to an agent of yours, on stdin and stdout."""
    from atoll.client.bridge.bridge import Bridge
    from atoll.client.bridge.endpoint import Endpoint, McpOptions
    from atoll.client.bridge.env_file import with_env_file
    from atoll.client.bridge.stdio import Stdio
    from atoll.client.server import find_server

    environ = invocation.environ
    if env_file is not None:
        environ = with_env_file(environ, env_file)
    if os.isatty(0):
        note("atoll: an agent starts this and speaks MCP with it; Ctrl-D ends it")
    stdio = Stdio(0, 1)
    endpoint = Endpoint(lambda: find_server(environ), McpOptions(sandbox or "", flat, outside))
    Bridge(endpoint, stdio.write).run(stdio.read)
