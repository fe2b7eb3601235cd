"""`atoll extension`: backends of sandboxes: what is installed, a new one of your own, a check."""

import re
import subprocess
import sys
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import click

from atoll.client.catalogues import Extensions
from atoll.client.made.extensions import Extension, StrayList
from atoll.domain.errors import Conflict, Failed, Invalid
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import home_option, json_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.verbs import Verbs

NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
FILES = {
    "pyproject.toml.txt": "pyproject.toml",
    "extension.py.txt": "{module}/extension.py",
    "test_extension.py.txt": "tests/test_extension.py",
}
"""The files of a new package, by those they are made from."""

_RESTART = "It counts from the next start of the control plane on."


@click.group("extension", cls=Verbs)
def command() -> None:
    """List the backends of sandboxes, turn them on and off, write and check your own."""


@needs(LOCAL)
@command.command("new")
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="The package's folder  [default: ./atoll-NAME]",
)
def new(name: str, *, into: Path | None) -> None:
    """Write a package with an extension that works, and its tests."""
    if not NAME.fullmatch(name):
        raise Invalid(f"{name[:40]!r} is no name: small letters, digits and hyphens", field="name")
    folder = into or Path(f"atoll-{name}")
    if folder.exists() and any(folder.iterdir()):
        raise Conflict(f"{folder} holds files already: choose another folder by --into")
    module = f"atoll_{name.replace('-', '_')}"
    try:
        for source, target in FILES.items():
            text = (resources.files("atoll") / "templates" / "extension" / source).read_text()
            place = folder / target.format(module=module)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text.replace("@name@", name).replace("@module@", module))
        (folder / module / "__init__.py").write_text('"""An extension of Atoll."""\n')
    except OSError as err:
        raise Failed(f"{folder} cannot be written: {err.strerror}") from err
    say(f"{folder} has ext.{name}. Next:")
    say(f"  pip install -e {folder} 'atoll[testing]'")
    say(f"  pytest {folder}")
    say(f"  atoll extension check {name}")


@needs("sandbox.read")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the extensions of the server, those that are left out as well."""
    listing = Extensions(invocation.api().transport).list()
    if as_json:
        show_json(listing.value)
        return
    rows = [
        (
            extension.name,
            _state(extension),
            extension.capabilities.isolation if extension.available else "-",
            extension.capabilities.pricing if extension.available else "-",
            extension.reason or extension.trouble or "-",
        )
        for extension in listing.extensions
    ]
    show_table(("EXTENSION", "STATE", "ISOLATION", "PRICING", "REASON"), rows, flexible=("REASON",))


@needs("sandbox.read")
@command.command("info")
@click.argument("name")
@json_option()
@pass_invocation
def info(invocation: Invocation, name: str, *, as_json: bool) -> None:
    """Show what an extension can do, or why it is left out."""
    extension = Extensions(invocation.api().transport).get(name)
    if as_json:
        show_json(extension.value)
        return
    say(f"name        {extension.name}")
    if extension.trouble:
        say(f"trouble     {extension.trouble}")
    if extension.available:
        _say_capabilities(extension)
    else:
        say(f"left out    {extension.reason}")


def _state(extension: Extension) -> str:
    if not extension.available:
        return "out"
    return "trouble" if extension.trouble else "ok"


def _say_capabilities(extension: Extension) -> None:
    able = extension.capabilities
    rows = {
        "isolation": able.isolation,
        "network": "closed" if able.closes_network else "open",
        "doors": "served" if able.doors else "none: no broker, no egress proxy",
        "places": f"hosts of kind {able.host_kind}" if able.host_kind else "the vendor's",
        "regions": ", ".join(able.regions),
        "gpus": ", ".join(able.gpus),
        "images": ", ".join(able.images),
        "files": "kept over a stop" if able.persistence else "lost with a stop",
        "pricing": able.pricing,
        "start": able.latency_class,
        "abilities": ", ".join(able.abilities),
    }
    for word, value in rows.items():
        say(f"{word:<12}{value or '-'}")


@needs(LOCAL)
@command.command("enable")
@click.argument("name")
@home_option()
@pass_invocation
def enable(invocation: Invocation, name: str, *, home: str | None) -> None:
    """Turn an installed extension on."""
    _choose(invocation, name, home, on=True)


@needs(LOCAL)
@command.command("disable")
@click.argument("name")
@home_option()
@pass_invocation
def disable(invocation: Invocation, name: str, *, home: str | None) -> None:
    """Leave an installed extension out; its sandboxes stay where they are."""
    _choose(invocation, name, home, on=False)


def _choose(invocation: Invocation, name: str, home: str | None, *, on: bool) -> None:
    # As the server reads them.
    from atoll.adapters.apart.choice import read_choice, write_choice
    from atoll.adapters.apart.installed import find_point, is_ours

    point = find_point(name)
    place = Path(home) if home else invocation.home
    choice = read_choice(place)
    write_choice(place, choice.enabled(point.name) if on else choice.disabled(point.name))
    whose = ", which comes with Atoll," if is_ours(point) else ""
    say(f"ext.{point.name}{whose} is {'enabled' if on else 'disabled'}.")
    note(_RESTART)


@needs(LOCAL)
@command.command("check")
@click.argument("name")
@click.option("--live", is_flag=True, help="Agree to machines that cost money.")
@click.option(
    "--host", default=None, metavar="ADDRESS", help="A machine that SSH reaches, or a host."
)
@click.option("--image", default=None, metavar="IMAGE", help="Of the sandboxes.")
@click.option(
    "--compose", type=click.Path(), default=None, metavar="FILE", help="For what runs one."
)
@click.option("--report", type=click.Path(), default=None, metavar="FILE", help="Of the report.")
@click.option(
    "--against",
    type=click.Choice(["real", "vendor's code", "peer"]),
    default=None,
    help="The kind of thing that is checked, for the report.",
)
@click.option("--note", "words", default=None, help="Words about it, for the report.")
@home_option()
def check(
    name: str,
    *,
    live: bool,
    host: str | None,
    image: str | None,
    compose: str | None,
    report: str | None,
    against: str | None,
    words: str | None,
    home: str | None,
) -> None:
    """Run the suites against an installed extension and write a report.

    Says first what that costs. It runs in a home of its own; --home lends settings, SSH key, hosts
    and vendors' keys. What it started is removed. Ends with 1 when something failed.
    """
    options = {
        "--host": host,
        "--image": image,
        "--compose": compose,
        "--report": report,
        "--against": against,
        "--note": words,
        "--home": home,
    }
    argv = [sys.executable, "-m", "atoll.testing.check", *(["--live"] if live else [])]
    argv += [word for pair in options.items() if pair[1] is not None for word in pair if word]
    done = subprocess.run([*argv, "--", name], check=False)
    if done.returncode:
        raise click.exceptions.Exit(done.returncode)


@needs("system.manage")
@command.command("reap")
@yes_option()
@json_option()
@pass_invocation
def reap(invocation: Invocation, *, yes: bool, as_json: bool) -> None:
    """List the machines whose sandboxes are gone, and end them."""
    extensions = Extensions(invocation.api().transport)
    strays = extensions.strays()
    if as_json and not yes:
        show_json(strays.value)
        return
    if not as_json:
        _show(strays)
    if strays.count and not confirm(f"End {strays.count} machines?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    done = extensions.end_strays() if strays.count else None
    if as_json:
        show_json(strays.value if done is None else done.value)
    elif done is not None:
        _print_problems(done.problems)
        say(f"ended {done.ended} of {strays.count}")
    if strays.problems or (done is not None and done.problems):
        raise click.exceptions.Exit(FAILED)


def _show(listing: StrayList) -> None:
    rows = [
        (stray.extension, stray.machine, stray.sandbox_id, stray.ends_at)
        for stray in listing.strays
    ]
    if rows:
        show_table(("EXTENSION", "MACHINE", "SANDBOX", "ENDS"), rows)
    else:
        say("no machine is left behind")
    _print_problems(listing.problems)


def _print_problems(problems: Sequence[str]) -> None:
    for problem in problems:
        note(problem)
