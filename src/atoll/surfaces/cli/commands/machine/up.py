"""`atoll up`: this process becomes the control plane of this machine."""

from pathlib import Path

import click

from atoll.ports.host import UpOptions
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import home_option


def _tls_files(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[Path, Path] | None:
    """Return the files of a certificate and its key."""
    del context, parameter
    if value is None:
        return None
    certificate, comma, key = value.partition(",")
    if not (certificate and comma and key) or "," in key:
        raise click.BadParameter("name two files, as CERT,KEY")
    return Path(certificate).absolute(), Path(key).absolute()


@needs(LOCAL)
@click.command(
    "up", epilog="Ctrl-C ends the control plane; sandboxes go on. `atoll down` ends all."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    help="Port to listen on  [default: the setting `port`]",
)
@click.option("--host", metavar="ADDR", default=None, help="Address to listen on.")
@click.option("--lan", is_flag=True, help="Listen on this machine's address in its local network.")
@click.option(
    "--public-url", metavar="URL", default=None, help="The address people use from elsewhere."
)
@click.option(
    "--tls",
    metavar="CERT,KEY",
    default=None,
    callback=_tls_files,
    help="Serve HTTPS with this certificate and key (PEM files).",
)
@click.option(
    "--replica", metavar="NAME", default=None, help="Start a further control plane of this home."
)
@home_option()
@click.option("--no-browser", is_flag=True, help="Do not open the page.")
@pass_invocation
def command(
    invocation: Invocation,
    *,
    port: int | None,
    host: str | None,
    lan: bool,
    public_url: str | None,
    tls: tuple[Path, Path] | None,
    replica: str | None,
    home: str | None,
    no_browser: bool,
) -> None:
    """Start Atoll on this machine and print a login link."""
    if host is not None and lan:
        raise click.UsageError("Give --host or --lan, not both.")
    place = Path(home) if home else invocation.home
    options = UpOptions(
        home=place.absolute(),
        port=port,
        browser=not no_browser,
        host=host,
        public_url=public_url,
        tls=tls,
        lan=lan,
        replica=replica,
    )
    invocation.host().up(options)
