"""`atoll dashboard`: places where people and agents work together, which the page shows."""

from collections.abc import Iterator
from contextlib import suppress

import click

from atoll.client.made.dashboards.dashboards import (
    Dashboard,
    DashboardBody,
    DashboardChangeBody,
    DashboardRole,
    Dashboards,
    DashboardScope,
)
from atoll.client.made.dashboards.shares import DashboardShare, DashboardShareBody
from atoll.domain.errors import Forbidden, NotFound
from atoll.surfaces.cli.commands.people.share import LOCAL_ONLY
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age, moment_with_time_left
from atoll.surfaces.cli.console.options import duration, json_option, utc_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.console.references import DASHBOARD, DASHBOARD_LINK, pick_id
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.dispatch.verbs import Verbs

_SCOPES = click.Choice(["private", "shared"])


def _dashboard_id(context: click.Context, _parameter: click.Parameter, dashboard: str) -> str:
    """Return the id of a dashboard, which may be named by its name. One that waits for an owner may
    be named, too."""
    invocation = context.find_object(Invocation)
    if invocation is None or context.resilient_parsing:
        return dashboard
    there = Dashboards(invocation.api().transport)

    def list_rows() -> Iterator[tuple[str, str]]:
        yield from ((row.id, row.name) for row in there.list().dashboards)
        if context.info_name == "give":
            with suppress(Forbidden, NotFound):
                yield from ((row.id, row.name) for row in there.waiting(None).dashboards)

    return pick_id(DASHBOARD, dashboard, list_rows)


_dashboard = click.argument("dashboard", callback=_dashboard_id)


@click.group("dashboard", cls=Verbs)
def command() -> None:
    """Make, find, share and delete dashboards."""


@needs("dashboard.read")
@command.command("list")
@utc_option()
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the dashboards that you may see."""
    answered = _dashboards(invocation).list()
    if as_json:
        show_json(answered.value)
    else:
        header = ("DASHBOARD", "NAME", "ROLE", "SCOPE", "ITEMS", "CHANGED")
        show_table(header, [_dashboard_row(dashboard) for dashboard in answered.dashboards])


@needs("dashboard.manage")
@command.command("create")
@click.argument("name")
@click.option("--scope", type=_SCOPES, default="private", show_default=True, help="Who sees it.")
@click.option(
    "--template",
    type=click.Choice(["blank", "agent-and-notes", "review"]),
    default="blank",
    show_default=True,
    help="What it begins with.",
)
@json_option()
@pass_invocation
def create(
    invocation: Invocation, name: str, *, scope: DashboardScope, template: str, as_json: bool
) -> None:
    """Make a dashboard and print its id."""
    body: DashboardBody = {"name": name, "scope": scope, "template": template}
    made = _dashboards(invocation).create(body)
    if as_json:
        show_json(made.value)
    else:
        say(made.id)


@needs("dashboard.read")
@command.command("open")
@_dashboard
@pass_invocation
def open_(invocation: Invocation, dashboard: str) -> None:
    """Open a dashboard in the browser, and print its address."""
    import webbrowser

    api = invocation.api()
    address = f"{api.server.url}/#/dashboards/{dashboard}"
    say(address)
    if not webbrowser.open(address):
        note("atoll: no browser here: open the address yourself")


@needs("dashboard.manage")
@command.command("rename")
@_dashboard
@click.argument("name")
@pass_invocation
def rename(invocation: Invocation, dashboard: str, name: str) -> None:
    """Give a dashboard another name."""
    change: DashboardChangeBody = {"name": name}
    note(f"renamed to {_dashboards(invocation).change(dashboard, change).name}")


@needs("dashboard.manage")
@command.command("share")
@_dashboard
@click.argument("subject", metavar="[PERSON|group:NAME]", required=False)
@click.option("--role", type=click.Choice(["editor", "viewer"]), default="editor",
              show_default=True, help="What they may do.")  # fmt: skip
@click.option("--remove", is_flag=True, help="Take their role away.")
@click.option("--scope", type=_SCOPES, default=None, help="Who sees it besides those it names.")
@json_option()
@pass_invocation
def share(
    invocation: Invocation,
    dashboard: str,
    subject: str | None,
    *,
    role: DashboardRole,
    remove: bool,
    scope: DashboardScope | None,
    as_json: bool,
) -> None:
    """Give a person (by id) or a group a role, or say who sees the dashboard."""
    if subject is None and scope is None:
        raise click.UsageError("Name a person or a group, or give --scope.")
    dashboards = _dashboards(invocation)
    if scope is not None:
        changed = dashboards.change(dashboard, {"scope": scope})
        note(f"{changed.name} is {changed.scope}")
    if subject is None:
        return
    if remove:
        dashboards.unshare(dashboard, subject)
        note(f"{subject} has no role any more")
        return
    listing = dashboards.share(dashboard, subject, role)
    if as_json:
        show_json(listing.value)
    else:
        show_table(("WHO", "ROLE"), [(person.subject, person.role) for person in listing.people])


@needs("share.manage")
@command.command("link")
@_dashboard
@click.option(
    "--ttl", default="1h", show_default=True, callback=duration, help="How long the link is valid."
)
@click.option("--edit", is_flag=True, help="Guests edit notes, arrange and comment.")
@click.option("--terminals", is_flag=True, help="Guests watch the terminals on it, too.")
@click.option("--label", default=None, help="The name of the link in lists.")
@utc_option()
@json_option()
@pass_invocation
def link(
    invocation: Invocation,
    dashboard: str,
    *,
    ttl: str,
    edit: bool,
    terminals: bool,
    label: str | None,
    as_json: bool,
) -> None:
    """Make a link by which anybody may look or edit, and print it, this once."""
    body: DashboardShareBody = {"ttl": ttl, "terminals": terminals, "name": label}
    if edit:
        body["edits"] = True
    made = _dashboards(invocation).make_link(dashboard, body)
    if as_json:
        show_json(made.value)
        return
    say(made.link)
    may = _link_words(edits=edit, terminals=terminals)
    until = moment_with_time_left(made.expires_at)
    note(f"anyone who has it may {may} until {until}; it is not shown again")
    if made.local_only:
        note(LOCAL_ONLY)


@needs("share.manage")
@command.command("links")
@_dashboard
@utc_option()
@json_option()
@pass_invocation
def links(invocation: Invocation, dashboard: str, *, as_json: bool) -> None:
    """List the living links of a dashboard."""
    answered = _dashboards(invocation).links(dashboard)
    if as_json:
        show_json(answered.value)
    else:
        rows = [_link_row(guest_link) for guest_link in answered.shares]
        show_table(("LINK", "MAY", "TERMINALS", "GUESTS", "EXPIRES", "LABEL"), rows)


@needs("share.manage")
@command.command("unlink")
@_dashboard
@click.argument("links", metavar="LINK...", nargs=-1, required=True)
@pass_invocation
def unlink(invocation: Invocation, dashboard: str, links: tuple[str, ...]) -> None:
    """Revoke links; their guests are gone at once."""
    dashboards = _dashboards(invocation)
    there = dashboards.links(dashboard).shares  # a wrong name of the dashboard is one failure

    def revoke(link: str) -> None:
        link_id = pick_id(
            DASHBOARD_LINK,
            link,
            lambda: ((row.share_id, row.name) for row in there),
        )
        dashboards.revoke_link(dashboard, link_id)
        note(f"revoked {link}")

    several = Several(invocation, len(links))
    several.each(links, revoke)
    several.end()


@needs("dashboard.manage")
@command.command("delete")
@_dashboard
@pass_invocation
def delete(invocation: Invocation, dashboard: str) -> None:
    """Delete a dashboard; it can be restored for seven days."""
    _dashboards(invocation).delete(dashboard)
    note(f"deleted; `atoll dashboard restore {dashboard}` undoes it for seven days")


@needs("dashboard.manage")
@command.command("restore")
@click.argument("dashboard", metavar="ID")
@pass_invocation
def restore(invocation: Invocation, dashboard: str) -> None:
    """Undo a deletion."""
    note(f"{_dashboards(invocation).restore(dashboard).name} is back")


@needs("dashboard.manage")
@command.command("give")
@_dashboard
@click.argument("member")
@yes_option()
@pass_invocation
def give(invocation: Invocation, dashboard: str, member: str, *, yes: bool) -> None:
    """Give a dashboard to another member of your team."""
    if not confirm(f"Give {dashboard} to {member}? It is theirs alone to share then.", yes=yes):
        raise click.Abort
    _dashboards(invocation).give(dashboard, member)
    note(f"{dashboard} is {member}'s")


@needs("org.manage")
@command.command("waiting")
@utc_option()
@json_option()
@pass_invocation
def waiting(invocation: Invocation, *, as_json: bool) -> None:
    """List the dashboards whose owner is gone: `atoll dashboard give` gives them to somebody."""
    listing = _dashboards(invocation).waiting(None)
    if as_json:
        show_json(listing.value)
        return
    rows = [
        (board.id, board.name, board.owner, moment_with_time_left(board.removed_at))
        for board in listing.dashboards
    ]
    show_table(("DASHBOARD", "NAME", "OF", "REMOVED"), rows)


def _dashboards(invocation: Invocation) -> Dashboards:
    return Dashboards(invocation.api().transport)


def _link_words(*, edits: bool, terminals: bool) -> str:
    """Return what the guests of a link may do."""
    if not terminals:
        return "edit" if edits else "look"
    if edits:
        return "edit, watch its terminals and type there when given control,"
    return "look and watch its terminals"


def _link_row(guest_link: DashboardShare) -> tuple[str, ...]:
    guests = ", ".join(guest_link.guest_names) or str(guest_link.guests)
    return (
        guest_link.share_id,
        "edit" if guest_link.edits else "look",
        "yes" if guest_link.terminals else "no",
        guests,
        moment_with_time_left(guest_link.expires_at),
        guest_link.name or "-",
    )


def _dashboard_row(board: Dashboard) -> tuple[str, ...]:
    return board.id, board.name, board.role, board.scope, str(board.items), age(board.updated_at)
