"""`atoll share`: links that let others watch a sandbox's terminals, or type there, too."""

import click

from atoll.client.made.people.shares import Role, Share, ShareBody
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment_with_time_left
from atoll.surfaces.cli.console.options import (
    duration,
    json_option,
    sandbox_argument,
    utc_option,
)
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.console.references import link_id, recording_id, terminal_id
from atoll.surfaces.cli.dispatch.remote_names import inner_recordings, terminals
from atoll.surfaces.cli.dispatch.remote_names import links as share_links
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.dispatch.verbs import UsualVerb

LOCAL_ONLY = (
    "the link works on this machine only: for people elsewhere start Atoll with `atoll up --lan`, "
    "or with --public-url behind a tunnel (docs/run/outside.md)"
)


class _ShareGroup(UsualVerb):
    """The group `share`: a name alone makes a link."""

    usual = "new"


@click.group("share", cls=_ShareGroup)
def command() -> None:
    """Share a sandbox's terminals, or a recording, by link."""


@needs("share.manage")
@command.command("new")
@sandbox_argument()
@click.option(
    "--role",
    type=click.Choice(["viewer", "controller"]),
    default="viewer",
    show_default=True,
    help="Watch only, or ask for control and type, too.",
)
@click.option(
    "--ttl", default="1h", show_default=True, callback=duration, help="How long the link is valid."
)
@click.option(
    "--terminal", metavar="ID", default=None, shell_complete=terminals, help="Only this terminal."
)
@click.option(
    "--recording",
    metavar="REC",
    default=None,
    shell_complete=inner_recordings,
    help="This recording, no terminal.",
)
@click.option("--label", default=None, help="The name of the link in lists.")
@utc_option()
@json_option()
@pass_invocation
def new(
    invocation: Invocation,
    name: str,
    *,
    role: Role,
    ttl: str,
    terminal: str | None,
    recording: str | None,
    label: str | None,
    as_json: bool,
) -> None:
    """Make a link and print it, this once."""
    api = invocation.api()
    request: ShareBody = {"role": role, "ttl": ttl, "name": label}
    if terminal is not None:
        request["terminal_id"] = terminal_id(api, name, terminal)
    if recording is not None:
        request["recording_id"] = recording_id(api, name, recording)
    made = api.shares.create(name, request)
    if as_json:
        show_json(made.value)
        return
    say(made.link)
    may = "watch and type" if role == "controller" else "watch"
    until = moment_with_time_left(made.expires_at)
    note(f"anyone who has it may {may} until {until}; it is not shown again")
    if made.local_only:
        note(LOCAL_ONLY)


@needs("share.manage")
@command.command("list")
@sandbox_argument()
@utc_option()
@json_option()
@pass_invocation
def list_(invocation: Invocation, name: str, *, as_json: bool) -> None:
    """List the living links of a sandbox."""
    answered = invocation.api().shares.list(name)
    if as_json:
        show_json(answered.value)
    else:
        rows = [_share_row(share) for share in answered.shares]
        show_table(("LINK", "ROLE", "OPENS", "GUESTS", "EXPIRES", "LABEL"), rows)


@needs("share.manage")
@command.command("rm")
@sandbox_argument()
@click.argument("links", metavar="LINK...", nargs=-1, required=True, shell_complete=share_links)
@pass_invocation
def remove(invocation: Invocation, name: str, links: tuple[str, ...]) -> None:
    """Revoke links; their guests are gone within 5 seconds."""
    api = invocation.api()

    def revoke(link: str) -> None:
        api.shares.revoke(name, link_id(api, name, link))
        note(f"revoked {link}")

    several = Several(invocation, len(links))
    several.each(links, revoke)
    several.end()


def _share_row(share: Share) -> tuple[str, ...]:
    return (
        share.share_id,
        share.role,
        share.recording_id or share.terminal_id or "all",
        ", ".join(share.guest_names) or str(share.guests),
        moment_with_time_left(share.expires_at),
        share.name or "-",
    )
