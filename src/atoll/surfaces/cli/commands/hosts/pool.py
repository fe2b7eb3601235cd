"""`atoll pool`: what is built of a profile before anybody asks for a sandbox."""

import click

from atoll.client.made.hosts.pools import Pool, PoolBody, PoolList, Pools
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import duration, json_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.verbs import Verbs

_profile = click.argument(
    "profile",
    shell_complete=complete_from(
        "pools", PoolList, lambda listing: (pool.profile for pool in listing.pools)
    ),
)


@click.group("pool", cls=Verbs)
def command() -> None:
    """Have sandboxes of a profile built before anybody asks for them."""


@needs("org.manage")
@command.command("set")
@click.argument("profile")
@click.option("--min", "least", type=click.IntRange(min=0), default=0, help="Always there: 0.")
@click.option("--max", "most", type=click.IntRange(min=1), default=2, help="At most there: 2.")
@click.option(
    "--idle",
    default=None,
    callback=duration,
    help="How long --max counts after one was taken: 10m.",
)
@json_option()
@pass_invocation
def set_(
    invocation: Invocation,
    *,
    profile: str,
    least: int,
    most: int,
    idle: str | None,
    as_json: bool,
) -> None:
    """Set the size of a profile's pool, or make one."""
    body: PoolBody = {"min": least, "max": most}
    if idle is not None:
        body["idle"] = idle
    _show([_pools(invocation).set(profile, body)], as_json=as_json)


@needs("org.read")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the pools of your organization."""
    listing = _pools(invocation).list()
    if as_json:
        show_json(listing.value)
    elif not listing.pools:
        say("no pools: `atoll pool set shell --min 2` makes one")
    else:
        _show(listing.pools)


@needs("org.read")
@command.command("show")
@_profile
@json_option()
@pass_invocation
def show(invocation: Invocation, *, profile: str, as_json: bool) -> None:
    """Show a pool."""
    _show([_pools(invocation).get(profile)], as_json=as_json)


@needs("org.manage")
@command.command("rm")
@_profile
@pass_invocation
def rm(invocation: Invocation, *, profile: str) -> None:
    """Remove a pool, and what waits in it."""
    _pools(invocation).remove(profile)
    say(f"{profile}: removed; sandboxes that came of it stay")


def _show(pools: list[Pool], *, as_json: bool = False) -> None:
    if as_json:
        show_json(pools[0].value)
        return
    show_table(
        ("PROFILE", "MIN", "MAX", "IDLE", "READY", "BUILDING", "TAKEN", "MISSED"),
        [
            (
                pool.profile,
                *(str(pool.min), str(pool.max), f"{pool.idle} s"),
                *(str(pool.ready), str(pool.building), str(pool.taken), str(pool.missed)),
            )
            for pool in pools
        ],
    )
    for pool in pools:
        if pool.trouble:
            note(f"{pool.profile}: {pool.trouble}")


def _pools(invocation: Invocation) -> Pools:
    return Pools(invocation.api().transport)
