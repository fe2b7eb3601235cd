"""`atoll new`: one command from a repository to a seat at its terminal."""

import uuid
from dataclasses import dataclass
from pathlib import Path

import click

from atoll.domain.errors import AtollError, Invalid
from atoll.domain.repository import is_path, read_remote
from atoll.surfaces.cli.answer import Answer, Json
from atoll.surfaces.cli.api import Api, Call, post
from atoll.surfaces.cli.exec import variables
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.memory import remember
from atoll.surfaces.cli.options import json_option, profile_option
from atoll.surfaces.cli.output import note, say, show_json
from atoll.surfaces.cli.progress import Progress
from atoll.surfaces.cli.waiting import name_of, wait_ready

NETWORKS = ("none", "limited", "host-only", "full")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the repository comes from: `wish` is an entry of `repos`, `folder` the checkout."""

    wish: dict[str, Json]
    folder: Path | None = None


@click.command(
    "new",
    epilog="REPO is owner/repo, an https or ssh address, or a path of yours such as `.`.",
)
@click.argument("repo", required=False)
@click.argument("branch", required=False)
@click.argument("from_branch", metavar="[FROM-BRANCH]", required=False)
@profile_option()
@click.option("--agent", default=None, help="The agent that sits in it: codex, claude-code …")
@click.option("--network", type=click.Choice(NETWORKS), default=None, help="What it may reach.")
@click.option("--name", default=None, help="Its name  [default: <repo>-<branch>]")
@click.option("--ttl", default=None, help="How long it lives: 90s, 15m, 4h, 2d.")
@click.option("--env", multiple=True, metavar="K=V", help="A variable inside; may be repeated.")
@click.option("-d", "--detach", is_flag=True, help="Make it ready and do not attach.")
@click.option(
    "--no-wait", is_flag=True, help="Only ask for it: do not even wait until it is ready."
)
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    repo: str | None,
    branch: str | None,
    from_branch: str | None,
    *,
    profile: str,
    agent: str | None,
    network: str | None,
    name: str | None,
    ttl: str | None,
    env: tuple[str, ...],
    detach: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Make a sandbox, from a repository if you name one, and sit down in it.

    BRANCH is made from FROM-BRANCH (default: the repository's own) unless it is there already.
    """
    sits = not (detach or no_wait or as_json)
    if sits:
        _needs_terminal()
    api = invocation.api()
    wish: dict[str, Json] = {
        "profile": profile,
        "consumer": {"actor": "adm", "harness": "atoll-cli"},
    }
    asked: dict[str, Json] = {"agent": agent, "network_mode": network, "name": name, "ttl": ttl}
    wish.update(_said(asked))
    if env:
        wish["env"] = variables(env)
    origin = _origin(api, repo, branch=branch, from_branch=from_branch) if repo else None
    if origin is not None:
        wish["repos"] = [origin.wish]
    made = _create(invocation, api, wish, folder=origin.folder if origin else None)
    if not no_wait:
        made = _ready(api, made)
    if as_json:
        show_json(made.value)
    elif not sits:
        say(name_of(made))
    else:
        _sit(invocation, made)


def _needs_terminal() -> None:
    """Said before anything is made."""
    from atoll.surfaces.cli.seat.rawtty import RawTty

    try:
        RawTty()
    except Invalid as error:
        raise click.UsageError("new ends at a terminal: add --detach or --json here") from error


def _origin(api: Api, repo: str, *, branch: str | None, from_branch: str | None) -> Origin:
    wish: dict[str, Json] = {"branch": branch, "from_branch": from_branch}
    if not is_path(repo):
        # The server judges whether it may be dialled; here only what is no address ends.
        wish["repo_url"] = read_remote(repo, allow_loopback=True).repo_url
        return Origin(_said(wish))
    from atoll.surfaces.cli.local_repo import describe, upload

    checkout = describe(Path(repo).expanduser())
    if checkout.dirty:
        note(f"{checkout.root}: what is not committed stays here")
    with Progress(f"sending {checkout.name}") as progress:
        sent = upload(api, checkout, also=from_branch, say=lambda line: progress.tell([line]))
    wish["repo_url"] = checkout.label
    wish["key"] = sent.text("key") or checkout.key
    wish["from_branch"] = from_branch or checkout.branch
    return Origin(_said(wish), checkout.root)


def _said(wish: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in wish.items() if value is not None}


def _create(
    invocation: Invocation, api: Api, wish: dict[str, Json], *, folder: Path | None
) -> Answer:
    request = post("sandboxes", value=wish)
    # One key for this run: were the request repeated on its way, one sandbox comes of it.
    headers = (*request.headers, ("Idempotency-Key", uuid.uuid4().hex))
    made = api.call(Call("POST", request.path, (), headers, request.body))
    remember(invocation.environ, made.text("sandbox_id"), folder=folder)
    return made


def _ready(api: Api, made: Answer) -> Answer:
    name = name_of(made)
    try:
        return wait_ready(api, made, title=f"making {name}")
    except KeyboardInterrupt:
        note(f"\n{name} is still being made: `atoll attach {name}` or `atoll destroy {name}`")
        raise
    except AtollError:
        note(f"{name} is kept for a look: `atoll logs {name}`, `atoll destroy {name}`")
        raise


def _sit(invocation: Invocation, made: Answer) -> None:
    from atoll.surfaces.cli.attach import Sitting, sit
    from atoll.surfaces.cli.seat.detach import DetachKeys
    from atoll.surfaces.cli.seat.rawtty import RawTty

    say(f"{name_of(made)} is ready; leave it with {DetachKeys().spelled}")
    raise click.exceptions.Exit(sit(invocation, made, Sitting(DetachKeys()), tty=RawTty()))
