"""`atoll net`: what a sandbox may reach, shown and switched while it lives."""

from typing import Literal, get_args

import click

from atoll.client.made.sandboxes.networks import Network, NetworkBody, NetworkMode, Rule
from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import clean, say, show_json, show_table
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.dispatch.verbs import UsualVerb

MODES = get_args(NetworkMode)


class _NetworkGroup(UsualVerb):
    """The group `net`: a name alone shows the network."""

    usual = "show"


@click.group("net", cls=_NetworkGroup)
def command() -> None:
    """Show and change what a sandbox may reach."""


@needs("sandbox.read")
@command.command("show")
@sandbox_argument()
@json_option()
@pass_invocation
def show(invocation: Invocation, name: str, *, as_json: bool) -> None:
    """Show a sandbox's network mode and rules."""
    network = invocation.api().sandboxes.network(name)
    if as_json:
        show_json(network.value)
        return
    click.echo(f"{'mode':<12}{clean(network.mode)}")
    for label, texts in (
        ("host ports", map(str, network.host_ports)),
        ("ranges", network.ranges),
        ("denied", network.denied),
    ):
        if texts:
            click.echo(f"{label:<12}{clean(', '.join(texts))}")
    for opening in network.withheld:
        text = f"{opening.field} {opening.text}: beyond {opening.whose}"
        click.echo(f"{'withheld':<12}{clean(text)}")
    rows = [_rule_row(rule) for rule in network.rules]
    if rows:
        show_table(("HOST", "PORTS", "REQUESTS", "FROM"), rows)


@needs("sandbox.manage")
@command.command("allow")
@sandbox_argument()
@click.argument(
    "hosts", metavar="HOST...", nargs=-1, required=True, shell_complete=candidates.egress_presets()
)
@json_option()
@pass_invocation
def allow(invocation: Invocation, name: str, *, hosts: tuple[str, ...], as_json: bool) -> None:
    """Let a sandbox reach HOST.

    HOST is a name, *.name for one more label, name:port, http://name/path or preset:NAME.
    """
    _switch_each(invocation, name, "allow", hosts, as_json=as_json)


@needs("sandbox.manage")
@command.command("deny")
@sandbox_argument()
@click.argument(
    "hosts", metavar="HOST...", nargs=-1, required=True, shell_complete=candidates.egress_presets()
)
@json_option()
@pass_invocation
def deny(invocation: Invocation, name: str, *, hosts: tuple[str, ...], as_json: bool) -> None:
    """Keep a sandbox from HOST, whatever its rules say."""
    _switch_each(invocation, name, "deny", hosts, as_json=as_json)


@needs("sandbox.manage")
@command.command("forget")
@sandbox_argument()
@click.argument(
    "hosts", metavar="HOST...", nargs=-1, required=True, shell_complete=candidates.egress_presets()
)
@json_option()
@pass_invocation
def forget(invocation: Invocation, name: str, *, hosts: tuple[str, ...], as_json: bool) -> None:
    """Take back what was allowed or denied; the profile's rules stay."""
    _switch_each(invocation, name, "forget", hosts, as_json=as_json)


@needs("sandbox.manage")
@command.command("mode")
@sandbox_argument()
@click.argument("mode", type=click.Choice(MODES), metavar="MODE")
@click.option(
    "--port", "ports", type=int, multiple=True, help="A port of this machine (host-only)."
)
@click.option("--range", "ranges", multiple=True, help="A private range (host-only).")
@json_option()
@pass_invocation
def mode(
    invocation: Invocation,
    name: str,
    *,
    mode: NetworkMode,
    ports: tuple[int, ...],
    ranges: tuple[str, ...],
    as_json: bool,
) -> None:
    """Switch a sandbox's network mode: none, limited, host-only or full."""
    change: NetworkBody = {"mode": mode}
    if ports:
        change["host_ports"] = list(ports)
    if ranges:
        change["ranges"] = list(ranges)
    _show_switched(name, invocation.api().sandboxes.change_network(name, change), as_json=as_json)


def _switch_each(
    invocation: Invocation,
    name: str,
    verb: Literal["allow", "deny", "forget"],
    hosts: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Switch each host by itself: a wrong one does not keep the others back."""
    sandboxes = invocation.api().sandboxes
    if len(hosts) > 1:
        sandboxes.network(name)  # a wrong name of the sandbox is one failure

    def switch(host: str) -> Network:
        change: NetworkBody = {}
        change[verb] = [host]
        return sandboxes.change_network(name, change)

    several = Several(invocation, len(hosts))
    if switched := several.each(hosts, switch):
        network = switched[-1]
        _show_switched(name, network, as_json=as_json)
        if verb == "allow" and network.mode != "limited" and not as_json:
            say(f"note: the mode is {network.mode}; rules for hosts apply only in mode limited")
    several.end()


def _show_switched(name: str, network: Network, *, as_json: bool) -> None:
    if as_json:
        show_json(network.value)
        return
    count = len(network.rules)
    say(f"{clean(name)}: {network.mode}, {count} rule{'' if count == 1 else 's'}")


def _rule_row(rule: Rule) -> tuple[str, ...]:
    requests = " ".join([*rule.methods, *rule.paths])
    return (rule.host, ",".join(map(str, rule.ports)), requests or "-", rule.origin)
