"""Options that narrow the route of a new sandbox, and the request made of them."""

from collections.abc import Callable
from typing import Any, cast

import click

from atoll.client.made.hosts.hosts import CostBody
from atoll.client.made.hosts.routes import RouteOptionsBody
from atoll.domain.hosts.reading import read_cost
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.wire.words.routes import ExecutionMode, Strategy

STRATEGIES = [strategy.value for strategy in Strategy]
MODES = [mode.value for mode in ExecutionMode]


def route_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that narrow a route; they never widen what the profile allows."""
    options = (
        click.option(
            "--route",
            type=click.Choice(STRATEGIES),
            default=None,
            help="The order in which backends are tried.",
        ),
        click.option(
            "--extension", metavar="NAME", default=None, help="This backend, and no other."
        ),
        click.option("--region", metavar="NAME", default=None, help="Only in this region."),
        click.option(
            "--max-cost", metavar="PRICE", default=None, help="At most this an hour: '0.12 EUR'."
        ),
        click.option(
            "--execution-mode",
            type=click.Choice(MODES),
            default=None,
            help="On your own linked machine, or not.",
        ),
        click.option(
            "--accept-open-network",
            is_flag=True,
            help="Also behind a wall that cannot close its network.",
        ),
        click.option("--gpu", metavar="KIND", default=None, help="With this GPU, or any."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def options_of(plan: SandboxPlan) -> RouteOptionsBody:
    """Return what a plan asks of its route. Raises `Invalid` for a price that is none."""
    options: RouteOptionsBody = {}
    if plan.route is not None:
        # The option has the choices, and the server checks a kept plan's.
        options["strategy"] = cast(Any, plan.route)
    if plan.extension is not None:
        name = plan.extension
        options["extension"] = name if name.startswith("ext.") else f"ext.{name}"
    if plan.region is not None:
        options["region"] = plan.region
    if plan.gpu is not None:
        options["gpu"] = plan.gpu
    if plan.execution_mode is not None:
        options["execution_mode"] = cast(Any, plan.execution_mode)
    if plan.accept_open_network:
        options["accept_open_network"] = True
    if plan.max_cost is not None:
        options["max_cost_per_hour"] = cost_body(plan.max_cost)
    return options


def cost_body(text: str) -> CostBody:
    """Return a price of an hour as the API has it. Raises `Invalid`."""
    cost = read_cost(text)
    return {"micros": cost.micros, "currency": cost.currency}
