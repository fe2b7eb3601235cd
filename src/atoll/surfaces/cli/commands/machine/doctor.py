"""`atoll doctor`: what this machine can isolate, what is missing, and how to get it; with a
name, which safety layers are in force in one sandbox.
"""

from pathlib import Path

import click

from atoll.client.fields import Json
from atoll.domain.errors import Invalid
from atoll.ports.host import Finding
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import home_option, json_option, sandbox_argument
from atoll.surfaces.cli.console.output import clean, paint, show_json


@needs(LOCAL)
@click.command("doctor")
@sandbox_argument(required=False)
@click.option(
    "--public",
    is_flag=True,
    help="The settings that an installation needs where strangers reach it.",
)
@home_option()
@json_option()
@pass_invocation
def command(
    invocation: Invocation, name: str | None, *, public: bool, home: str | None, as_json: bool
) -> None:
    """Report what this machine can isolate, or what protects one sandbox.

    Without NAME it looks at this machine, and exits with 1 when something without which no
    sandbox is safe is missing. With NAME it shows the safety layers of that sandbox. With --public
    it checks settings, and exits with 1 when one is not as a public installation needs it.
    """
    if name is not None and public:
        raise Invalid("--public looks at the installation, not at a sandbox: leave the name out")
    if name is not None:
        _sandbox(invocation, name, as_json=as_json)
        return
    place = (Path(home) if home else invocation.home).absolute()
    machine = invocation.host()
    findings = list(machine.doctor(place, public=True) if public else machine.doctor(place))
    if as_json:
        values: list[Json] = [_finding_json(finding) for finding in findings]
        show_json({"findings": values})
    else:
        for finding in findings:
            _show(finding)
    if any(finding.level == "fail" for finding in findings):
        raise click.exceptions.Exit(FAILED)


def _sandbox(invocation: Invocation, name: str, *, as_json: bool) -> None:
    report = invocation.api().sandboxes.safety(name)
    if as_json:
        show_json(report.value)
        return
    for layer in report.layers:
        state = "off" if not layer.in_force else "ok"
        if state == "ok" and layer.bypassable:
            state = "soft"
        what = f"{layer.number} {layer.name}"
        click.echo(f"{paint(state, 6)}{clean(what):<22}{clean(layer.text)}")
    for part in report.wall:
        state = "off" if not part.in_force else "soft" if part.weakened else "ok"
        click.echo(f"{paint(state, 6)}{clean(part.name):<22}{clean(part.text)}")
    for note in report.degraded:
        click.echo(f"{paint('warn', 6)}{'wall':<22}{clean(note)}")


def _finding_json(finding: Finding) -> dict[str, Json]:
    return {
        "name": finding.name,
        "level": finding.level,
        "text": finding.text,
        "fix": finding.fix,
    }


def _show(finding: Finding) -> None:
    click.echo(f"{paint(finding.level, 6)}{clean(finding.name):<18} {clean(finding.text)}")
    if finding.fix:
        click.echo(f"{'':<25}{clean(finding.fix)}")
