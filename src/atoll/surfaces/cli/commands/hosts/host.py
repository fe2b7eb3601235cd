"""`atoll host`: the machines that sandboxes are placed on."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from atoll.client.made.hosts.hosts import (
    CapacityBody,
    Host,
    HostBody,
    HostChangeBody,
    HostList,
    HostRoom,
    Hosts,
)
from atoll.domain.errors import Invalid
from atoll.domain.hosts.host import amount
from atoll.domain.hosts.reading import read_cost
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.verbs import Verbs

_UNLIMITED = "-"

_host = click.argument(
    "host",
    shell_complete=complete_from(
        "hosts", HostList, lambda listing: (host.name for host in listing.hosts)
    ),
)


def _trait_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that describe a host."""
    options = (
        click.option("--region", default=None, help="Where it is, such as eu-1."),
        click.option(
            "--label", "labels", metavar="K=V", multiple=True, help="A label; may be repeated."
        ),
        click.option(
            "--capacity",
            type=click.IntRange(min=0),
            default=None,
            help="The most sandboxes that run there.",
        ),
        click.option(
            "--cpu", type=click.FloatRange(min=0), default=None, help="Cores for sandboxes."
        ),
        click.option(
            "--memory-mb", type=click.IntRange(min=0), default=None, help="MiB for sandboxes."
        ),
        click.option(
            "--overcommit",
            type=click.FloatRange(min=1),
            default=None,
            help="A factor on cores and memory.",
        ),
        click.option("--cost", default=None, help="The price of an hour: 0.12, or '0.12 EUR'."),
        click.option("--for-organization", default=None, help="Dedicate it to an organization."),
        click.option("--for-profile", default=None, help="Dedicate it to a profile."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group("host", cls=Verbs)
def command() -> None:
    """Add, check and drain the machines that sandboxes are placed on."""


@needs("system.manage")
@command.command("add")
@click.argument("address", metavar="SSH://USER@HOST[:PORT]")
@click.option("--name", default=None, help="Its name  [default: the machine's]")
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="A file with its public host key, which is pinned.",
)
@click.option("--fingerprint", default=None, help="The fingerprint that its key must have.")
@_trait_options
@json_option()
@pass_invocation
def add(
    invocation: Invocation,
    /,
    address: str,
    *,
    name: str | None,
    key: Path | None,
    fingerprint: str | None,
    as_json: bool,
    **traits: Any,
) -> None:
    """Add a machine that SSH reaches, and pin its host key."""
    body: HostBody = {
        "address": address,
        "name": name,
        "host_key": None if key is None else _key_in(key),
        "fingerprint": fingerprint,
        **_change_body(**traits),
    }
    made = _hosts(invocation).add(body)
    if as_json:
        show_json(made.value)
        return
    say(f"{made.name} {made.fingerprint}")
    if key is None and fingerprint is None:
        note("its key is pinned as it was shown: compare the fingerprint with the machine's own")
    note("put this line into ~/.ssh/authorized_keys of its user:")
    say(made.authorized_key)
    note(f"then: atoll host check {made.name}")


@needs("system.manage")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the hosts, and the room that is taken on each."""
    listing = _hosts(invocation).list()
    if as_json:
        show_json(listing.value)
        return
    rows = [_host_row(host) for host in listing.hosts]
    show_table(("HOST", "KIND", "STATE", "SANDBOXES", "CORES", "MEMORY", "REGION", "ADDRESS"), rows)


@needs("system.manage")
@command.command("info")
@_host
@json_option()
@pass_invocation
def info(invocation: Invocation, host: str, *, as_json: bool) -> None:
    """Show a host."""
    machine = _hosts(invocation).get(host)
    if as_json:
        show_json(machine.value)
    else:
        _show(machine)


@needs("system.manage")
@command.command("change")
@_host
@_trait_options
@json_option()
@pass_invocation
def change(invocation: Invocation, /, host: str, *, as_json: bool, **traits: Any) -> None:
    """Change what is said of a host; of its capacity and its labels, all at once."""
    machine = _hosts(invocation).change(host, _change_body(**traits))
    if as_json:
        show_json(machine.value)
    else:
        _show(machine)


@needs("system.manage")
@command.command("check")
@_host
@json_option()
@pass_invocation
def check(invocation: Invocation, host: str, *, as_json: bool) -> None:
    """Look at a host now: its key, its wall, and what it lacks."""
    report = _hosts(invocation).check(host)
    if as_json:
        show_json(report.value)
    else:
        for problem in report.problems:
            say(f"problem: {problem}")
        for lack in report.lacks:
            say(f"lacks: {lack}")
    if not report.wall:
        note(f"{host} takes no sandbox until this is mended")
        raise click.exceptions.Exit(FAILED)
    note(f"{host} can hold sandboxes")


@needs("system.manage")
@command.command("trust")
@_host
@click.option(
    "--fingerprint", default=None, help="Pin the shown key with this fingerprint; asks nobody."
)
@json_option()
@pass_invocation
def trust(invocation: Invocation, host: str, *, fingerprint: str | None, as_json: bool) -> None:
    """Pin the key that a host shows now, once it was changed on purpose."""
    hosts = _hosts(invocation)
    if fingerprint is None:
        pin = hosts.trust(host)
        note(f"pinned  {pin.pinned}")
        for each in pin.shown:
            note(f"shown   {each}")
        if pin.pinned in pin.shown:
            say(f"{host} shows the pinned key")
            return
        fingerprint = _ask_agreement(host, pin.shown[0])
    pin = hosts.trust(host, fingerprint)
    if as_json:
        show_json(pin.value)
    else:
        say(f"{host} is trusted by {pin.pinned}")


def _ask_agreement(host: str, shown: str) -> str:
    """Return the fingerprint, once a person at a terminal agreed to it."""
    if not sys.stdin.isatty():
        note(f"compare it with the machine's own, then: atoll host trust {host} --fingerprint F")
        raise click.exceptions.Exit(FAILED)
    question = f"Was the key of {host} changed on purpose, and is it {shown}?"
    if not confirm(question, yes=False):
        raise click.exceptions.Exit(FAILED)
    return shown


@needs("system.manage")
@command.command("drain")
@_host
@click.option("--evacuate", is_flag=True, help="Move its stopped sandboxes to other hosts.")
@json_option()
@pass_invocation
def drain(invocation: Invocation, host: str, *, evacuate: bool, as_json: bool) -> None:
    """Have a host take no new sandbox; those on it go on."""
    machine = _hosts(invocation).drain(host, evacuate=evacuate)
    _print_change(machine, "takes no new sandbox", as_json=as_json)
    if as_json:
        return
    for moving in machine.evacuation.moving:
        say(f"{moving.name} moves to {moving.to}")
    for staying in machine.evacuation.staying:
        say(f"{staying.name} stays: {staying.reason}")


@needs("system.manage")
@command.command("undrain")
@_host
@json_option()
@pass_invocation
def undrain(invocation: Invocation, host: str, *, as_json: bool) -> None:
    """Have a host take sandboxes again."""
    _print_change(_hosts(invocation).undrain(host), "takes sandboxes again", as_json=as_json)


@needs("system.manage")
@command.command("remove")
@_host
@yes_option()
@pass_invocation
def remove(invocation: Invocation, host: str, *, yes: bool) -> None:
    """Forget a host that no sandbox is on; nothing is removed there."""
    if not confirm(f"Forget the host {host}?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    _hosts(invocation).remove(host)
    say(f"removed {host}")


def _hosts(invocation: Invocation) -> Hosts:
    return Hosts(invocation.api().transport)


def _key_in(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"--key {file} cannot be read: {error}") from error


def _change_body(
    *,
    labels: tuple[str, ...],
    capacity: int | None,
    cpu: float | None,
    memory_mb: int | None,
    cost: str | None,
    for_organization: str | None,
    for_profile: str | None,
    **plain: Any,
) -> HostChangeBody:
    body: HostChangeBody = {
        "region": plain["region"],
        "overcommit": plain["overcommit"],
        "organization": for_organization,
        "profile": for_profile,
    }
    if labels:
        body["labels"] = dict(_label(text) for text in labels)
    room: CapacityBody = {"sandboxes": capacity, "cpu": cpu, "memory_mb": memory_mb}
    if any(value is not None for value in room.values()):
        body["capacity"] = room
    if cost is not None:
        price = read_cost(cost)
        body["cost_per_hour"] = {"micros": price.micros, "currency": price.currency}
    return body


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Invalid(f"--label {text} is no K=V", field="labels")
    return name, value


def _host_row(host: Host) -> tuple[str, ...]:
    used, most = host.used, host.capacity
    return (
        host.name,
        host.kind,
        host.state,
        _usage(used.sandboxes, most.sandboxes),
        _UNLIMITED if most.cpu is None else f"{used.cpu or 0:g}/{most.cpu:g}",
        _usage(used.memory_mb, most.memory_mb),
        host.region or "-",
        host.address or "-",
    )


def _usage(used: int, most: int) -> str:
    return str(used) if most < 0 else f"{used}/{most}"


def _show(host: Host) -> None:
    cost = host.cost_per_hour
    lines = {
        "host": f"{host.name} ({host.host_id})",
        "kind": host.kind,
        "address": host.address,
        "key": host.fingerprint,
        "state": host.state,
        "region": host.region,
        "labels": ", ".join(f"{name}={value}" for name, value in host.labels.items()),
        "capacity": _room(host.capacity),
        "used": _room(host.used),
        "kept": f"{host.kept} sandboxes that do not run" if host.kept else "",
        "cost": f"{amount(cost.micros)} {cost.currency} an hour" if cost.currency else "",
        "organization": host.organization,
        "profile": host.profile,
    }
    for name, text in lines.items():
        if text:
            say(f"{name + ':':14}{text}")


def _room(room: HostRoom) -> str:
    parts = (
        "" if room.sandboxes < 0 else f"{room.sandboxes} sandboxes",
        "" if room.cpu is None else f"{room.cpu:g} cores",
        "" if room.memory_mb < 0 else f"{room.memory_mb} MiB",
    )
    return ", ".join(filter(None, parts)) or "not limited"


def _print_change(host: Host, what: str, *, as_json: bool) -> None:
    if as_json:
        show_json(host.value)
    else:
        say(f"{host.name} {what}")
