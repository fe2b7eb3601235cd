"""`atoll whoami`: who you are for the server, in which organizations, and by which role."""

import click

from atoll.client.fields import Json
from atoll.client.made.people.me import Me
from atoll.client.made.people.organizations import Organization
from atoll.client.organizations import Organizations
from atoll.client.transport import get
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table


@needs("org.read")
@click.command("whoami")
@json_option()
@pass_invocation
def command(invocation: Invocation, *, as_json: bool) -> None:
    """Show who you are here, your organizations and your role."""
    transport = invocation.api().transport
    me = transport.read(Me, get("me"))
    organizations = Organizations(transport).list().organizations
    if as_json:
        values: list[Json] = [organization.value for organization in organizations]
        show_json({"me": me.value, "organizations": values})
        return
    say(f"{me.name} ({me.id})")
    if organizations:
        rows = [_organization_row(organization, me) for organization in organizations]
        show_table(("ORGANIZATION", "ROLE", "NAME", ""), rows)
    else:
        note("you are a member of no organization yet")


def _organization_row(organization: Organization, me: Me) -> tuple[str, ...]:
    here = "this one" if organization.organization_id == me.org_id else ""
    return (organization.slug, organization.role, organization.name, here)
