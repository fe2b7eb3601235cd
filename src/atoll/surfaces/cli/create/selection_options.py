"""Options that limit the backend of a new worker, and the selection made of them."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import click

from atoll.client.made.workers.workers import SelectionBody, WorkerCostBody
from atoll.client.transport import omit_empty
from atoll.domain.hosts.reading import read_cost
from atoll.domain.profile.route import cost_text
from atoll.surfaces.cli.create.route_options import STRATEGIES
from atoll.wire.words.walls import IsolationLevel

P = ParamSpec("P")
R = TypeVar("R")

LEVELS = [level.value for level in IsolationLevel]


def selection_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the limits of the choice; they never widen what the installation allows."""
    options = (
        click.option(
            "--allow", metavar="NAME", multiple=True, help="Only these backends; repeated."
        ),
        click.option(
            "--strategy",
            type=click.Choice(STRATEGIES),
            default=None,
            help="The order in which backends are tried  [default: desktop_preferred]",
        ),
        click.option("--region", metavar="NAME", default=None, help="Only in this region."),
        click.option(
            "--max-cost", metavar="PRICE", default=None, help="At most this an hour: '0.12 EUR'."
        ),
        click.option(
            "--max-ready", metavar="MS", type=int, default=None, help="Ready within this median."
        ),
        click.option(
            "--min-success", type=float, default=None, help="With this share of successes, 0 to 1."
        ),
        click.option(
            "--isolation", type=click.Choice(LEVELS), default=None, help="At least this wall."
        ),
        click.option(
            "--accept-open-network",
            is_flag=True,
            help="Also behind a wall that cannot close its network.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def selection_of(options: dict[str, Any]) -> SelectionBody:
    """Return the selection that the options make. Raises `Invalid` for a price that is none."""
    body: SelectionBody = {
        "strategy": options["strategy"],
        "region": options["region"],
        "max_ready_ms": options["max_ready"],
        "min_success": options["min_success"],
        "require_isolation": options["isolation"],
        "max_cost_per_hour": None if options["max_cost"] is None else _cost(options["max_cost"]),
    }
    if options["accept_open_network"]:
        body["accept_open_network"] = True
    if options["allow"]:
        body["allow"] = [*options["allow"]]
    return omit_empty(body)


def _cost(text: str) -> WorkerCostBody:
    amount, _, currency = cost_text(read_cost(text)).partition(" ")
    return {"amount": amount, "currency": currency}
