"""`atoll pull`: a sandbox's commits, into a branch of the person's own checkout."""

from pathlib import Path

import click

from atoll.surfaces.cli.api import get
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.options import json_option, sandbox_argument
from atoll.surfaces.cli.output import say, show_json


@click.command("pull")
@sandbox_argument()
@click.argument("branch", required=False)
@click.option(
    "--into", default=None, help="The branch here that gets them  [default: the same name]"
)
@click.option("--repo", type=click.IntRange(min=0), default=0, help="Which repository, from 0.")
@click.option(
    "-C",
    "--checkout",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    help="Your checkout  [default: the current folder]",
)
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    branch: str | None,
    *,
    into: str | None,
    repo: int,
    checkout: Path,
    as_json: bool,
) -> None:
    """Bring a sandbox's commits into a branch of your checkout.

    Your working tree and the branch you are on stay as they are.
    """
    from atoll.surfaces.cli.local_repo import fetch_bundle

    api = invocation.api()
    sandbox = api.call(get("sandboxes", name))
    pulled = fetch_bundle(
        api, sandbox.text("sandbox_id"), checkout, branch=branch, repo=repo, into=into
    )
    say(str(pulled)) if not as_json else show_json({})
