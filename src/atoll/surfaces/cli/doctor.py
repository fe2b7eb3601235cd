"""`atoll doctor`: what this machine can isolate, what is missing, and how to get it."""

from pathlib import Path

import click

from atoll.ports.host import Finding
from atoll.surfaces.cli.answer import Json
from atoll.surfaces.cli.exits import FAILED
from atoll.surfaces.cli.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.options import home_option, json_option
from atoll.surfaces.cli.output import clean, painted, show_json


@click.command("doctor")
@home_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, *, home: str | None, as_json: bool) -> None:
    """Say what this machine can isolate and what to install.

    Exits with 1 when something without which no sandbox is safe is missing.
    """
    place = (Path(home) if home else invocation.home).absolute()
    findings = list(invocation.host().doctor(place))
    if as_json:
        values: list[Json] = [_value(finding) for finding in findings]
        show_json({"findings": values})
    else:
        for finding in findings:
            _show(finding)
    if any(finding.level == "fail" for finding in findings):
        raise click.exceptions.Exit(FAILED)


def _value(finding: Finding) -> dict[str, Json]:
    return {
        "name": finding.name,
        "level": finding.level,
        "text": finding.text,
        "fix": finding.fix,
    }


def _show(finding: Finding) -> None:
    click.echo(f"{painted(finding.level, 6)}{clean(finding.name):<18}{clean(finding.text)}")
    if finding.fix:
        click.echo(f"{'':<24}{clean(finding.fix)}")
