"""`atoll fork`: copies of a sandbox as it is now, each of which goes on by itself."""

import click

from atoll.client.made.sandboxes.snapshots import Conversation, ForkBody, SandboxSnapshots
from atoll.surfaces.cli.commands.snapshots.snapshot import CONVERSATIONS
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import duration, json_option, sandbox_argument
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.waiting import name_of, wait_ready
from atoll.wire.words.sandboxes import MAX_FORKS


@needs("sandbox.create")
@click.command("fork")
@sandbox_argument()
@click.option("--count", "-n", type=click.IntRange(1, MAX_FORKS), default=1, show_default=True)
@click.option("--name", "called", default=None, help="Its name; several get a number each.")
@click.option("--branch", default=None, help="Its branch; several get a number each.")
@click.option(
    "--conversation",
    type=click.Choice(CONVERSATIONS),
    default="continue",
    show_default=True,
    help="Whether the agent's conversation goes on, the agent begins anew, or none starts.",
)
@click.option("--prompt", default=None, help="Words for the agent of each copy.")
@click.option("--ttl", default=None, callback=duration, help="How long each lives.")
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    *,
    count: int,
    called: str | None,
    branch: str | None,
    conversation: Conversation,
    prompt: str | None,
    ttl: str | None,
    as_json: bool,
) -> None:
    """Make copies of a sandbox as it is now, conversation included.

    Each has the files, a branch of its own, and the agent's conversation, which goes on in each by
    itself.
    """
    api = invocation.api()
    body: ForkBody = {
        "count": count,
        "name": called,
        "branch": branch,
        "conversation": conversation,
        "prompt": prompt,
        "ttl": ttl,
    }
    fork = SandboxSnapshots(api.transport).fork(name, body)
    ready = [wait_ready(api, made, title=f"beginning {name_of(made)}") for made in fork.sandboxes]
    if as_json:
        show_json({"sandboxes": [made.value for made in ready]})
        return
    for made in ready:
        branches = ", ".join(repo.branch for repo in made.repos)
        say(f"{name_of(made)} is {made.state}{f', branch {branches}' if branches else ''}")
