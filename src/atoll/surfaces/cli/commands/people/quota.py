"""`atoll quota`: limits beside what is held, and their change."""

from collections.abc import Mapping
from contextlib import suppress

import click

from atoll.client.made.people.me import Me
from atoll.client.made.people.quotas import HeldQuota, NetworkBounds, NetworkBoundsBody, QuotaBody
from atoll.client.organizations import Organizations
from atoll.client.transport import get
from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.surfaces.cli.commands.people.org import org_option
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import say, show_json, show_table
from atoll.surfaces.cli.dispatch.verbs import Verbs

_UNLIMITED = "-"


@click.group("quota", cls=Verbs)
def command() -> None:
    """Show what you and your organization may hold at once, and change it."""


@needs("org.read")
@command.command("show")
@json_option()
@pass_invocation
def show(invocation: Invocation, *, as_json: bool) -> None:
    """Show your quota and your organization's, beside what is held."""
    listing = _organizations(invocation).own_quota()
    if as_json:
        show_json(listing.value)
        return
    own = invocation.api().transport.read(Me, get("me"))
    _show(listing.quotas, {own.id: own.name})


@needs("org.manage")
@command.command("list")
@org_option()
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, org: str | None, as_json: bool) -> None:
    """List the quotas of an organization and of its members."""
    listing = _organizations(invocation).quotas(org)
    if as_json:
        show_json(listing.value)
        return
    _show(listing.quotas, _member_names(invocation, org))


@needs("org.manage")
@command.command("set")
@org_option()
@click.option(
    "--member", metavar="NAME", default=None, help="A member  [default: the organization]"
)
@click.option("--sandboxes", type=click.IntRange(min=0), default=None, help="Sandboxes.")
@click.option(
    "--sessions",
    type=click.IntRange(min=0),
    default=None,
    help="Live terminals and machine agents together.",
)
@click.option("--cpu", default=None, help="Cores of running sandboxes: 4, 0.5.")
@click.option("--memory", default=None, help="Memory of running sandboxes: 512Mi, 8Gi.")
@click.option("--storage", default=None, help="Storage of all sandboxes: 50Gi.")
@click.option("--none", "nothing", is_flag=True, help="Remove the quota.")
@json_option()
@pass_invocation
def set_(
    invocation: Invocation,
    *,
    org: str | None,
    member: str | None,
    sandboxes: int | None,
    sessions: int | None,
    cpu: str | None,
    memory: str | None,
    storage: str | None,
    nothing: bool,
    as_json: bool,
) -> None:
    """Replace a quota; what is not named is not limited."""
    body: QuotaBody = {
        "sandboxes": sandboxes,
        "concurrentSessions": sessions,
        "cpu": cpu,
        "memory": memory,
        "storage": storage,
    }
    named = any(value is not None for value in body.values())
    if named == nothing:
        raise Invalid("name what is limited, or --none: `atoll quota set --sandboxes 5`")
    changed = _organizations(invocation).set_quota(org, member, body)
    if as_json:
        show_json(changed.value)
        return
    _show([changed], _member_names(invocation, org))


@needs("org.manage")
@command.command("network")
@org_option()
@click.option("--full/--no-full", "full", default=None, help="Whether the mode may be full.")
@click.option("--host-port", "host_ports", multiple=True, help="A port of the server: 5432.")
@click.option("--range", "ranges", multiple=True, help="A private range: 10.1.0.0/16.")
@click.option("--port", "ports", multiple=True, help="A further port of mode full: 8000-8100.")
@click.option("--egress", multiple=True, help="A rule: *.example.com, preset:pypi; * is all.")
@click.option(
    "--open-network", is_flag=True, help="Walls of other machines that cannot close their network."
)
@click.option("--none", "nothing", is_flag=True, help="Remove the organization's bounds.")
@json_option()
@pass_invocation
def network(
    invocation: Invocation,
    *,
    org: str | None,
    full: bool | None,
    host_ports: tuple[str, ...],
    ranges: tuple[str, ...],
    ports: tuple[str, ...],
    egress: tuple[str, ...],
    open_network: bool,
    nothing: bool,
    as_json: bool,
) -> None:
    """Show what sandboxes may open, or replace the organization's bounds.

    What is not named is then not opened, but --egress, which is all where it is not named.
    """
    named = full is not None or any((host_ports, ranges, ports, egress, open_network))
    if named and nothing:
        raise Invalid("name bounds, or --none")
    organizations = _organizations(invocation)
    body: NetworkBoundsBody = {}
    if named:
        body = {
            "full": bool(full),
            "host_ports": [*host_ports],
            "ranges": [*ranges],
            "ports": [*ports],
            "egress": [*egress] or ["*"],
            "open_network": open_network,
        }
    changes = named or nothing
    bounds = (
        organizations.bound_networks(org, body) if changes else organizations.network_bounds(org)
    )
    if as_json:
        show_json(bounds.value)
        return
    whose = [("the installation", bounds.installation)]
    if bounds.value.get("organization") is not None:
        whose.append(("the organization", bounds.organization))
    show_table(
        ("WHOSE", "FULL", "HOST PORTS", "RANGES", "PORTS", "EGRESS", "OPEN"),
        [(name, *_bounds_row(limits)) for name, limits in whose],
    )


def _bounds_row(limits: NetworkBounds) -> tuple[str, ...]:
    lists = (limits.host_ports, limits.ranges, limits.ports, limits.egress)
    open_network = "yes" if limits.open_network else "no"
    full = "yes" if limits.full else "no"
    return (full, *(", ".join(texts) or "-" for texts in lists), open_network)


def _member_names(invocation: Invocation, org: str | None) -> dict[str, str]:
    """Return the names of an organization's members, by their ids."""
    with suppress(NotFound, Forbidden):
        members = _organizations(invocation).members(org).members
        return {member.member_id: member.name for member in members}
    return {}


def _show(quotas: list[HeldQuota], names: Mapping[str, str]) -> None:
    rows = []
    for holder in quotas:
        used, limit = holder.used, holder.quota
        counts = [
            (used.sandboxes, limit.sandboxes),
            (used.concurrentSessions, limit.concurrentSessions),
        ]
        texts = [
            (used.cpu, limit.cpu),
            (used.memory, limit.memory),
            (used.storage, limit.storage),
        ]
        cells = [f"{held} of {_UNLIMITED if most < 0 else most}" for held, most in counts]
        cells += [f"{held} of {most or _UNLIMITED}" for held, most in texts]
        rows.append((names.get(holder.member, holder.member) or "the organization", *cells))
    show_table(("WHOSE", "SANDBOXES", "SESSIONS", "CPU", "MEMORY", "STORAGE"), rows)
    if not quotas:
        say("no quotas")


def _organizations(invocation: Invocation) -> Organizations:
    return Organizations(invocation.api().transport)
