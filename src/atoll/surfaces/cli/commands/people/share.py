"""`atoll share`: links that let others watch a sandbox's terminals, or type there, too."""

import click

from atoll.client.answer import Answer, Json
from atoll.client.transport import Call, at, get, post
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import duration, json_option, sandbox_argument
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.console.usual_verb import UsualVerb


class _Sharing(UsualVerb):
    """A name alone makes a link."""

    usual = "new"


@click.group("share", cls=_Sharing)
def command() -> None:
    """Share a sandbox's terminals by link."""


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
    "--ttl", default="1h", show_default=True, callback=duration, help="How long the link lives."
)
@click.option("--terminal", metavar="ID", default=None, help="This terminal and no other.")
@click.option("--label", default=None, help="What the link is called in lists.")
@json_option()
@pass_invocation
def new(
    invocation: Invocation,
    name: str,
    *,
    role: str,
    ttl: str,
    terminal: str | None,
    label: str | None,
    as_json: bool,
) -> None:
    """Make a link and print it, this once."""
    wish: dict[str, Json] = {"role": role, "ttl": ttl, "terminal_id": terminal, "name": label}
    made = invocation.api().call(post("sandboxes", name, "shares", value=wish))
    if as_json:
        show_json(made.value)
        return
    say(made.text("link"))
    may = "watch and type" if role == "controller" else "watch"
    note(f"whoever has it may {may} until {made.text('expires_at')}; it is not shown again")


@command.command("list")
@sandbox_argument()
@json_option()
@pass_invocation
def list_(invocation: Invocation, name: str, *, as_json: bool) -> None:
    """List the living links of a sandbox."""
    answered = invocation.api().call(get("sandboxes", name, "shares"))
    if as_json:
        show_json(answered.value)
    else:
        rows = [_row(share) for share in answered.children("shares")]
        show_table(("LINK", "ROLE", "TERMINAL", "GUESTS", "EXPIRES", "LABEL"), rows)


@command.command("rm")
@sandbox_argument()
@click.argument("links", metavar="LINK...", nargs=-1, required=True)
@pass_invocation
def remove(invocation: Invocation, name: str, links: tuple[str, ...]) -> None:
    """Revoke links; their guests are gone within 5 seconds."""
    api = invocation.api()
    for link in links:
        api.call(Call("DELETE", at("sandboxes", name, "shares", link)))
        note(f"revoked {link}")


def _row(share: Answer) -> tuple[str, ...]:
    return (
        share.text("share_id"),
        share.text("role"),
        share.text("terminal_id", "all"),
        str(share.number("guests")),
        share.text("expires_at"),
        share.text("name", "-") or "-",
    )
