"""`atoll preview`: servers inside a sandbox, shown in a browser at an origin of their own."""

import webbrowser

import click

from atoll.client.made.previews import Link, LinkBody, Preview, PreviewBody, Previews
from atoll.domain.network.forwarded_port import MOST_PORT
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment_with_time_left
from atoll.surfaces.cli.console.options import duration, json_option, sandbox_argument, utc_option
from atoll.surfaces.cli.console.output import note, say, show_json, show_table
from atoll.surfaces.cli.console.references import PREVIEW, pick_id

LOCAL_ONLY = (
    "the link works on this machine only: set `preview_domain` for others (docs/use/previews.md)"
)

_what = click.argument("what", metavar="PORT|PREVIEW")
_preview = click.argument("preview", metavar="PREVIEW")
_path = click.option("--path", default="/", show_default=True, help="Where to begin.")


@click.group("preview")
def command() -> None:
    """Show servers inside a sandbox in a browser, at origins of their own."""


@needs("sandbox.read")
@command.command("list")
@sandbox_argument()
@click.option("--all", "every", is_flag=True, help="Also those that were torn down.")
@json_option()
@pass_invocation
def list_(invocation: Invocation, name: str, *, every: bool, as_json: bool) -> None:
    """List the previews of a sandbox, and the ports on which something listens."""
    api = Previews(invocation.api().transport)
    previews = [preview for preview in api.list(name).previews if every or preview.state != "gone"]
    ports = api.ports(name)
    if as_json:
        show_json({"previews": [preview.value for preview in previews], **ports.value})
        return
    rows = [_preview_row(preview) for preview in previews]
    taken = {preview.port for preview in previews if preview.state != "gone"}
    rows += [("-", "-", str(listener.port), "listens", "-") for listener in ports.ports
             if listener.port not in taken]  # fmt: skip
    show_table(("PREVIEW", "APP", "PORT", "STATE", "URL"), rows)


@needs("sandbox.manage")
@command.command("create")
@sandbox_argument()
@click.argument("app", metavar="APP")
@click.argument("port", type=click.IntRange(1, MOST_PORT))
@click.option("--pr", "number", type=int, default=None, help="The number of its pull request.")
@click.option("--sha", default=None, help="The commit that it shows, for readers.")
@json_option()
@pass_invocation
def create(
    invocation: Invocation,
    name: str,
    *,
    app: str,
    port: int,
    number: int | None,
    sha: str | None,
    as_json: bool,
) -> None:
    """Make a preview of an app that listens at a port, and build it by the project's set-up."""
    body: PreviewBody = {"app": app, "port": port, "pr_number": number, "sha": sha}
    _print_preview(Previews(invocation.api().transport).create(name, body), as_json=as_json)


@needs("sandbox.manage")
@command.command("rebuild")
@sandbox_argument()
@_preview
@json_option()
@pass_invocation
def rebuild(invocation: Invocation, name: str, *, preview: str, as_json: bool) -> None:
    """Run the set-up of a preview again."""
    previews = Previews(invocation.api().transport)
    _print_preview(previews.rebuild(name, _preview_id(previews, name, preview)), as_json=as_json)


@needs("terminal.watch")
@command.command("log")
@sandbox_argument()
@_preview
@pass_invocation
def log(invocation: Invocation, name: str, *, preview: str) -> None:
    """Print the output of a preview's set-up."""
    previews = Previews(invocation.api().transport)
    say(previews.log(name, _preview_id(previews, name, preview)).text)


@needs("sandbox.manage")
@command.command("delete")
@sandbox_argument()
@_preview
@pass_invocation
def delete(invocation: Invocation, name: str, *, preview: str) -> None:
    """Tear a preview down: its links and open pages end within seconds."""
    previews = Previews(invocation.api().transport)
    previews.delete(name, _preview_id(previews, name, preview))
    note(f"{preview} is gone")


@needs("exec.use")
@command.command("link")
@sandbox_argument()
@_what
@_path
@click.option(
    "--ttl", default="10m", show_default=True, callback=duration, help="How long it may wait."
)
@utc_option()
@json_option()
@pass_invocation
def link(
    invocation: Invocation, name: str, *, what: str, path: str, ttl: str, as_json: bool
) -> None:
    """Print a link that opens a port or a preview in one browser, once."""
    made = _make_link(invocation, name, what, {"path": path, "ttl": ttl})
    if as_json:
        show_json(made.value)
        return
    say(made.url)
    until = moment_with_time_left(made.expires_at)
    note(f"good for one use until {until}; who opens it acts in your name there")
    if made.local_only:
        note(LOCAL_ONLY)


@needs("exec.use")
@command.command("open")
@sandbox_argument()
@_what
@_path
@pass_invocation
def open_(invocation: Invocation, name: str, *, what: str, path: str) -> None:
    """Open a port or a preview in this machine's browser."""
    made = _make_link(invocation, name, what, {"path": path})
    if not webbrowser.open(made.url):
        say(made.url)
        note("no browser was found here: open the link yourself, it is good for one use")


def _make_link(invocation: Invocation, name: str, what: str, body: LinkBody) -> Link:
    previews = Previews(invocation.api().transport)
    if what.isdecimal():
        return previews.link_port(name, int(what), body)
    return previews.link(name, _preview_id(previews, name, what), body)


def _preview_id(previews: Previews, name: str, preview: str) -> str:
    """Return the id of a preview, which may be named by its app while it stands."""
    return pick_id(
        PREVIEW,
        preview,
        lambda: (
            (row.preview_id, "" if row.state == "gone" else row.app)
            for row in previews.list(name).previews
        ),
    )


def _print_preview(preview: Preview, *, as_json: bool) -> None:
    if as_json:
        show_json(preview.value)
        return
    say(preview.preview_id)
    note(f"{preview.state}: {preview.reason}" if preview.reason else preview.state)


def _preview_row(preview: Preview) -> tuple[str, ...]:
    return (preview.preview_id, preview.app, str(preview.port), preview.state, preview.url)
