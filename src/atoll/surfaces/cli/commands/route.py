"""`atoll route`: where sandboxes go, and why there."""

from typing import Any, Literal, cast

import click

from atoll.client.made.hosts.routes import (
    DefaultRoute,
    ExplainBody,
    Route,
    RouteAttempt,
    RouteCandidate,
    RouteChoice,
    RouteDecision,
    RouteHealth,
    RoutePolicy,
    RouteRulesBody,
    Routes,
)
from atoll.client.transport import omit_empty
from atoll.domain.hosts.host import amount
from atoll.surfaces.cli.console.candidates import sandboxes
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, profile_option, whole_sandbox
from atoll.surfaces.cli.console.output import say, show_json, show_table
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.create.route_options import STRATEGIES, options_of, route_options
from atoll.surfaces.cli.dispatch.verbs import Verbs


@click.group("route", cls=Verbs)
def command() -> None:
    """Show where sandboxes go, and why there."""


@needs("sandbox.create")
@command.command("explain")
@profile_option()
@click.option("--host", metavar="NAME", default=None, help="Place it on this host, and no other.")
@route_options
@json_option()
@pass_invocation
def explain(
    invocation: Invocation, /, *, profile: str | None, as_json: bool, **words: str | None
) -> None:
    """Show where `atoll new` would go with these options; nothing is created."""
    plan = SandboxPlan(**words)  # type: ignore[arg-type]  # click made them of the right kind
    body: ExplainBody = {
        "profile": profile or "shell",
        "host": plan.host,
        "route": options_of(plan),
    }
    decision = _routes(invocation).explain(omit_empty(body))
    if as_json:
        show_json(decision.value)
    else:
        _show(decision)
    if not decision.chosen.extension:
        raise click.exceptions.Exit(FAILED)


@needs("sandbox.read")
@command.command("show")
@click.argument("sandbox", shell_complete=sandboxes(), callback=whole_sandbox)
@json_option()
@pass_invocation
def show(invocation: Invocation, sandbox: str, *, as_json: bool) -> None:
    """Show where a sandbox went, by its name or by the id of its route."""
    route = sandbox
    if not sandbox.startswith("rt_"):
        route = invocation.api().sandboxes.get(sandbox).route
    if not route:
        say("it is older than routes: nobody wrote down why it is where it is")
        return
    record = _routes(invocation).get(route)
    if as_json:
        show_json(record.value)
    else:
        _show(record)
        _print_history(record)


@needs("sandbox.read")
@command.command("default")
@json_option()
@pass_invocation
def default(invocation: Invocation, *, as_json: bool) -> None:
    """Show the route of profiles that have none, and the backends that are allowed."""
    _print_policies(_routes(invocation).default(), as_json=as_json)


@needs("org.manage")
@command.command("set")
@click.option(
    "--strategy",
    type=click.Choice(STRATEGIES),
    default="prefer-self-hosted",
    help="The order of the candidates.",
)
@click.option(
    "--extension",
    "extensions",
    metavar="NAME",
    multiple=True,
    help="A candidate; repeated, in order  [default: no default route]",
)
@click.option(
    "--allow",
    metavar="NAME",
    multiple=True,
    help="A backend that may be used; repeated  [default: all]",
)
@click.option("--installation", is_flag=True, help="For the installation, not the organization.")
@json_option()
@pass_invocation
def set_(
    invocation: Invocation,
    /,
    *,
    strategy: str,
    extensions: tuple[str, ...],
    allow: tuple[str, ...],
    installation: bool,
    as_json: bool,
) -> None:
    """Replace the default route and the allowed backends of your organization."""
    scope: Literal["organization", "installation"] = (
        "installation" if installation else "organization"
    )
    body: RouteRulesBody = {"scope": scope, "default": None, "allow": None}
    if extensions:
        # The option has the choices.
        body["default"] = {"strategy": cast(Any, strategy), "extensions": [*extensions]}
    if allow:
        body["allow"] = [*allow]
    _print_policies(_routes(invocation).set_default(body), as_json=as_json)


@needs("system.manage")
@command.command("health")
@json_option()
@pass_invocation
def health(invocation: Invocation, *, as_json: bool) -> None:
    """Show how backends fared at each place in the last day."""
    report = _routes(invocation).health()
    if as_json:
        show_json(report.value)
        return
    rows = [(place.extension, place.place, *_health_cells(place.health)) for place in report.places]
    show_table(("EXTENSION", "PLACE", "TRIED", "READY", "P50", "P95", "BREAKER"), rows)


def _routes(invocation: Invocation) -> Routes:
    return Routes(invocation.api().transport)


def _show(decision: RouteDecision) -> None:
    chosen = decision.chosen
    say(f"chosen: {_place(chosen) if chosen.extension else '-'} ({decision.strategy})")
    rows = [_candidate_row(candidate) for candidate in decision.candidates]
    show_table(("EXTENSION", "PLACE", "ISOLATION", "AN HOUR", "P50", "VERDICT"), rows)


def _candidate_row(candidate: RouteCandidate) -> tuple[str, ...]:
    cost = candidate.cost_per_hour
    price = f"{amount(cost.micros)} {cost.currency}" if cost.currency else "-"
    verdict = "fit" if candidate.fit else "; ".join(candidate.reasons)
    median = _milliseconds(candidate.health.p50_ms)
    place = candidate.host or candidate.region or "-"
    return candidate.extension, place, candidate.isolation, price, median, verdict


def _print_history(route: Route) -> None:
    for attempt in route.attempts:
        say(f"{attempt.at} {_place(attempt)}: {attempt.reason or 'ready'}")
    for move in route.moves:
        say(f"{move.at} evacuated from host {move.source} to host {move.target}")


def _place(choice: RouteChoice | RouteAttempt) -> str:
    """Return a place as the reasons of a refusal name it: `ext.ssh on box`, `ext.e2b in eu`."""
    if choice.host:
        return f"{choice.extension} on {choice.host}"
    return f"{choice.extension} in {choice.region}" if choice.region else choice.extension


def _print_policies(policies: DefaultRoute, *, as_json: bool) -> None:
    if as_json:
        show_json(policies.value)
        return
    say(f"in force: {_policy(policies.effective)}")
    for name, rules in (
        ("organization", policies.organization),
        ("installation", policies.installation),
    ):
        say(f"{name}: {_policy(rules.default)}; allowed: {', '.join(rules.allow) or 'all'}")


def _policy(policy: RoutePolicy) -> str:
    if not policy.strategy:
        return "no default route"
    return f"{policy.strategy} among {', '.join(policy.extensions) or 'all'}"


def _health_cells(figures: RouteHealth) -> tuple[str, ...]:
    rate = "-" if figures.success is None else f"{figures.success:.0%}"
    times = (_milliseconds(figures.p50_ms), _milliseconds(figures.p95_ms))
    return str(figures.attempts), rate, *times, figures.breaker


def _milliseconds(milliseconds: int) -> str:
    return "-" if milliseconds < 0 else f"{milliseconds} ms"
