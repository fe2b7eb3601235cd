"""`atoll org`: an organization, its members, invitations and service accounts."""

import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar, get_args

import click

from atoll.client.made.people.organizations import Member, MemberBody, OrgRole
from atoll.client.organizations import Organizations
from atoll.domain.errors import Invalid
from atoll.surfaces.cli.commands.people.share import LOCAL_ONLY
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment_with_time_left
from atoll.surfaces.cli.console.options import duration, json_option, utc_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.console.references import INVITATION, pick_id
from atoll.surfaces.cli.dispatch.verbs import Verbs

P = ParamSpec("P")
R = TypeVar("R")

MAX_LINK = 1_000
NO_PROVIDER = (
    "nobody else can log in here yet, which an invitation needs: set up a login provider "
    "(docs/run/sign-in.md); without one, others come in by links of `atoll share`"
)
_KINDS = {"adm": "person", "atm": "service account", "agt": "agent"}
_role = click.Choice(get_args(OrgRole))


@click.group("org", cls=Verbs)
def command() -> None:
    """Make a team, invite people to it, and say what they may do."""


def org_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the option --org."""
    return click.option(
        "--org", metavar="ORG", default=None, help="An organization's id or slug  [default: yours]"
    )


def group_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the option --group, which may be repeated."""
    return click.option(
        "--group", "groups", multiple=True, help="A group of the member; repeat it."
    )


@needs("system.manage")
@command.command("create")
@click.argument("slug")
@click.option("--name", default=None, help="The name for people  [default: the slug]")
@json_option()
@pass_invocation
def create(invocation: Invocation, slug: str, *, name: str | None, as_json: bool) -> None:
    """Make the organization SLUG; the first one takes over all that is here."""
    organizations = _organizations(invocation)
    made = organizations.create({"slug": slug, "name": name})
    if as_json:
        show_json(made.value)
        return
    say(made.slug)
    note("you are its owner; invite people with `atoll org invite`")
    if not _note_missing_provider(organizations):
        note("log in at your provider and stay the same person with `atoll org link`")


@needs("org.read")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List your organizations."""
    listing = _organizations(invocation).list()
    if as_json:
        show_json(listing.value)
        return
    rows = [
        (organization.slug, organization.organization_id, organization.role, organization.name)
        for organization in listing.organizations
    ]
    show_table(("ORGANIZATION", "ID", "ROLE", "NAME"), rows)


@needs("org.read")
@command.command("show")
@click.argument("org", required=False)
@json_option()
@pass_invocation
def show(invocation: Invocation, org: str | None, *, as_json: bool) -> None:
    """Show the organization ORG, or yours."""
    organization = _organizations(invocation).get(org)
    if as_json:
        show_json(organization.value)
        return
    name = f"{organization.slug} ({organization.organization_id}): {organization.name}"
    say(f"{name}; you are {organization.role}")


@needs("org.read")
@command.command("members")
@org_option()
@json_option()
@pass_invocation
def members(invocation: Invocation, *, org: str | None, as_json: bool) -> None:
    """List the members, service accounts among them."""
    listing = _organizations(invocation).members(org)
    if as_json:
        show_json(listing.value)
    else:
        rows = [_member_row(member) for member in listing.members]
        show_table(("MEMBER", "ROLE", "KIND", "NAME", "EMAIL", "GROUPS"), rows)


@needs("org.manage")
@command.command("invite")
@click.option("--role", type=_role, default="member", show_default=True, help="What they become.")
@click.option("--email", default="", help="A note of whom it is for; nothing is sent there.")
@click.option(
    "--ttl", default="7d", show_default=True, callback=duration, help="How long it is valid."
)
@group_option()
@org_option()
@utc_option()
@json_option()
@pass_invocation
def invite(
    invocation: Invocation,
    *,
    role: OrgRole,
    email: str,
    ttl: str,
    groups: tuple[str, ...],
    org: str | None,
    as_json: bool,
) -> None:
    """Make an invitation and print its link, this once."""
    organizations = _organizations(invocation)
    made = organizations.invite(
        org, {"role": role, "email": email, "ttl": ttl, "groups": list(groups)}
    )
    if as_json:
        show_json(made.value)
        return
    say(made.url)
    whoever = "with one, whoever" if _note_missing_provider(organizations) else "whoever"
    until = moment_with_time_left(made.expires_at)
    note(f"{whoever} opens it and logs in becomes {made.role}, until {until}, once")
    if made.local_only:
        note(LOCAL_ONLY)


@needs("org.manage")
@command.command("invitations")
@org_option()
@utc_option()
@json_option()
@pass_invocation
def invitations(invocation: Invocation, *, org: str | None, as_json: bool) -> None:
    """List the invitations that can still be accepted."""
    organizations = _organizations(invocation)
    listing = organizations.invitations(org)
    if as_json:
        show_json(listing.value)
        return
    rows = [
        (
            invitation.invitation_id,
            invitation.role,
            moment_with_time_left(invitation.expires_at),
            invitation.email or "-",
        )
        for invitation in listing.invitations
    ]
    show_table(("INVITATION", "ROLE", "EXPIRES", "FOR"), rows)
    if rows:
        _note_missing_provider(organizations)


@needs("org.manage")
@command.command("uninvite")
@click.argument("invitation")
@org_option()
@pass_invocation
def uninvite(invocation: Invocation, invitation: str, *, org: str | None) -> None:
    """Take INVITATION (id or email) back."""
    organizations = _organizations(invocation)
    invitation_id = pick_id(
        INVITATION,
        invitation,
        lambda: (
            (row.invitation_id, row.email) for row in organizations.invitations(org).invitations
        ),
    )
    organizations.uninvite(org, invitation_id)
    note(f"revoked {invitation}")


@needs("me.manage")
@command.command("join")
@json_option()
@pass_invocation
def join(invocation: Invocation, *, as_json: bool) -> None:
    """Accept an invitation; its link or secret comes from a prompt or stdin."""
    joined = _organizations(invocation).accept({"secret": _secret()})
    if as_json:
        show_json(joined.value)
    else:
        say(f"you are {joined.role} of {joined.slug}")


@needs("org.manage")
@command.command("role")
@click.argument("member")
@click.argument("role", type=_role, required=False)
@group_option()
@org_option()
@json_option()
@pass_invocation
def role(
    invocation: Invocation,
    member: str,
    role: OrgRole | None,
    *,
    groups: tuple[str, ...],
    org: str | None,
    as_json: bool,
) -> None:
    """Give MEMBER (id, name or email) another role or other groups."""
    body: MemberBody = {"role": role}
    if groups:
        body["groups"] = list(groups)
    changed = _organizations(invocation).change(org, member, body)
    if as_json:
        show_json(changed.value)
    else:
        say(f"{changed.name} is {changed.role}")


@needs("org.manage")
@command.command("remove")
@click.argument("member")
@org_option()
@yes_option()
@pass_invocation
def remove(invocation: Invocation, member: str, *, org: str | None, yes: bool) -> None:
    """Remove MEMBER (id, name or email), a person or a service account."""
    question = f"Remove {member}, with their secrets, links and approvals?"
    if not confirm(question, yes=yes):
        raise click.Abort
    _organizations(invocation).remove(org, member)
    note(f"{member} is gone; their sandboxes are stopped and wait for another owner")


@needs("me.manage")
@command.command("leave")
@org_option()
@yes_option()
@pass_invocation
def leave(invocation: Invocation, *, org: str | None, yes: bool) -> None:
    """Leave your organization."""
    if not confirm("Leave, with your secrets, links and approvals?", yes=yes):
        raise click.Abort
    _organizations(invocation).leave(org)
    note("you left; your sandboxes are stopped and wait for another owner")


@needs("org.manage")
@command.command("service-account")
@click.argument("name")
@click.option("--role", type=_role, default="member", show_default=True, help="What it may do.")
@group_option()
@org_option()
@json_option()
@pass_invocation
def service_account(
    invocation: Invocation,
    name: str,
    *,
    role: OrgRole,
    groups: tuple[str, ...],
    org: str | None,
    as_json: bool,
) -> None:
    """Make the service account NAME: a member that acts as automation."""
    made = _organizations(invocation).add_service_account(
        org, {"name": name, "role": role, "groups": list(groups)}
    )
    if as_json:
        show_json(made.value)
    else:
        say(made.member_id)


@needs("org.manage")
@command.command("waiting")
@org_option()
@utc_option()
@json_option()
@pass_invocation
def waiting(invocation: Invocation, *, org: str | None, as_json: bool) -> None:
    """List the sandboxes whose owner is gone: `atoll give` gives them to somebody."""
    listing = _organizations(invocation).waiting(org)
    if as_json:
        show_json(listing.value)
        return
    rows = [
        (
            sandbox.sandbox_id,
            sandbox.name,
            sandbox.state,
            sandbox.owner,
            moment_with_time_left(sandbox.expires_at),
        )
        for sandbox in listing.sandboxes
    ]
    show_table(("SANDBOX", "NAME", "STATE", "OF", "EXPIRES"), rows)


@needs("system.manage")
@command.command("link")
@json_option()
@pass_invocation
def link(invocation: Invocation, *, as_json: bool) -> None:
    """Print a link by which your login at a provider is you."""
    made = _organizations(invocation).link_login()
    if as_json:
        show_json(made.value)
        return
    say(made.url)
    minutes = made.expires_in // 60
    note(f"open it within {minutes} minutes, log in at your provider, and confirm that it is you")
    if made.local_only:
        note(LOCAL_ONLY)


@needs("system.manage")
@command.command("unlink")
@yes_option()
@pass_invocation
def unlink(invocation: Invocation, *, yes: bool) -> None:
    """End your login at a provider; what is yours stays yours."""
    organizations = _organizations(invocation)
    login = organizations.own_login()
    if not login.linked:
        note("you have no login at a provider")
        return
    who = login.email or login.name
    if not confirm(f"End your login as {who}, and its sessions?", yes=yes):
        raise click.Abort
    organizations.unlink_login()
    note(f"{who} is somebody else from now on")


def _note_missing_provider(organizations: Organizations) -> bool:
    """Say so where nobody can log in to accept an invitation, and return whether that is so."""
    missing = organizations.realms().mode == "local"
    if missing:
        note(NO_PROVIDER)
    return missing


def _secret() -> str:
    """Read a hidden prompt, or standard input; of a link the part behind `#join=`."""
    if sys.stdin.isatty():
        secret = str(click.prompt("Link of the invitation", hide_input=True, err=True))
    else:
        secret = sys.stdin.readline(MAX_LINK)
    secret = secret.strip().rpartition("#join=")[2]
    if not secret:
        raise Invalid("nothing came: pipe the link in, or paste it at the prompt")
    return secret


def _organizations(invocation: Invocation) -> Organizations:
    return Organizations(invocation.api().transport)


def _member_row(member: Member) -> tuple[str, ...]:
    return (
        member.member_id,
        member.role,
        _KINDS[member.kind],
        member.name,
        member.email or "-",
        ", ".join(member.groups) or "-",
    )
