"""`atoll token`: personal access tokens for programs, and the keys that sign short-lived ones."""

import click

from atoll.client.made.people.tokens import PatBody, Token, TokenList, Tokens
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age, moment_with_time_left
from atoll.surfaces.cli.console.options import duration, json_option, sandbox_option, utc_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.console.references import TOKEN, pick_id
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.dispatch.verbs import Verbs

_SHOWN_CAPABILITIES = 3


@click.group("token", cls=Verbs)
def command() -> None:
    """Make, list and revoke tokens for programs that act for you."""


@needs("token.manage")
@command.command("new")
@click.argument("name")
@click.option(
    "--can",
    "capabilities",
    metavar="CAPABILITY",
    multiple=True,
    help="What it may do, such as sandbox.read; repeat it. Without: all that you may.",
)
@click.option("--ttl", default=None, callback=duration, help="How long it is valid  [default: 30d]")
@sandbox_option("--sandbox", help="It reads this sandbox and reaches nothing else.")
@click.option(
    "--account", metavar="NAME", default=None, help="It is for this service account of yours."
)
@utc_option()
@json_option()
@pass_invocation
def new(
    invocation: Invocation,
    name: str,
    *,
    capabilities: tuple[str, ...],
    ttl: str | None,
    sandbox: str | None,
    account: str | None,
    as_json: bool,
) -> None:
    """Make a token and print it, this once."""
    body: PatBody = {"name": name, "ttl": ttl, "sandbox_id": sandbox}
    if capabilities:
        body["capabilities"] = list(capabilities)
    if account is not None:
        body["account"] = account
    made = _tokens(invocation).create(body)
    if as_json:
        show_json(made.value)
        return
    say(made.token)
    note(
        f"{made.id} is valid until {moment_with_time_left(made.expires_at)}; it is not shown again"
    )


@needs("token.manage")
@command.command("list")
@click.option("--account", metavar="NAME", default=None, help="Those of this service account.")
@utc_option()
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, account: str | None, as_json: bool) -> None:
    """List your living tokens."""
    answered = _tokens(invocation).list(account)
    if as_json:
        show_json(answered.value)
    else:
        header = ("TOKEN", "NAME", "MAY", "SANDBOX", "USED", "EXPIRES")
        show_table(header, [_token_row(token) for token in answered.tokens])


@needs("token.manage")
@command.command("revoke")
@click.argument(
    "tokens",
    metavar="TOKEN...",
    nargs=-1,
    required=True,
    shell_complete=complete_from(
        "tokens", TokenList, lambda listing: (token.id for token in listing.tokens), ()
    ),
)
@pass_invocation
def revoke(invocation: Invocation, tokens: tuple[str, ...]) -> None:
    """Revoke tokens; their connections end within 5 seconds."""
    there = _tokens(invocation)

    def end(token: str) -> None:
        there.revoke(
            pick_id(TOKEN, token, lambda: ((row.id, row.name) for row in there.list().tokens))
        )
        note(f"revoked {token}")

    several = Several(invocation, len(tokens))
    several.each(tokens, end)
    several.end()


@needs("system.manage")
@command.command("rotate-keys")
@click.option("--now", "at_once", is_flag=True, help="End what older keys signed at once, too.")
@json_option()
@pass_invocation
def rotate_keys(invocation: Invocation, *, at_once: bool, as_json: bool) -> None:
    """Sign short-lived tokens with a new key.

    What older keys signed holds until its end, fifteen minutes at most.
    """
    answered = _tokens(invocation).rotate_keys({"at_once": at_once})
    if as_json:
        show_json(answered.value)
    else:
        say(f"{answered.kid} signs from now on")


def _tokens(invocation: Invocation) -> Tokens:
    return Tokens(invocation.api().transport)


def _token_row(token: Token) -> tuple[str, ...]:
    some = token.capabilities[:_SHOWN_CAPABILITIES]
    more = len(token.capabilities) - len(some)
    return (
        token.id,
        token.name,
        ", ".join(some) + (f" and {more} more" if more else ""),
        token.sandbox_id or "-",
        f"{age(token.used_at)} ago" if token.used_at else "never",
        moment_with_time_left(token.expires_at),
    )
