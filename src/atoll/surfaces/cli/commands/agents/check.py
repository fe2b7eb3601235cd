"""`atoll agent check`: try one version of an agent, whole, and say what works."""

import subprocess
import sys

import click

from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option


@needs(LOCAL)
@click.command("check")
@click.argument("name", shell_complete=candidates.agents())
@click.option("--version", default=None, help="This version  [default: the pinned one]")
@click.option("--pin", is_flag=True, help="Take this version from now on, if all of it works.")
@click.option("--tool", default="", metavar="CALL", help="A call of its shell tool.")
@json_option()
@pass_invocation
def check(
    invocation: Invocation, name: str, *, version: str | None, pin: bool, tool: str, as_json: bool
) -> None:
    """Try an agent in a throw-away sandbox, and say line by line what works.

    It is installed beside the other versions and runs against a model server of Atoll's, without a
    key. Ends with 1 when something fails, with 2 when nothing could be tried.
    """
    argv = [sys.executable, "-m", "atoll.testing.agent_check"]
    argv += ["--home", str(invocation.home.absolute())]
    argv += [] if version is None else ["--version", version]
    argv += ["--tool", tool] if tool else []
    argv += [*(["--pin"] if pin else []), *(["--json"] if as_json else []), "--", name]
    done = subprocess.run(argv, check=False)
    if done.returncode:
        raise click.exceptions.Exit(done.returncode)
