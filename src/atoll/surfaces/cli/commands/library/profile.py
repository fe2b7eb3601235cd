"""`atoll profile`: the recipes sandboxes are made from."""

import sys
from pathlib import Path

import click

from atoll.client.made.library.profiles import Profile, ProfileList
from atoll.client.made.sandboxes.views import ProfileName
from atoll.client.transport import Call, api_path, get
from atoll.domain.errors import Invalid
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, profile_argument, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.verbs import Verbs

MAX_PROFILE_BYTES = 256 * 1024


@click.group("profile", cls=Verbs)
def command() -> None:
    """Show, check, save and delete profiles."""


@needs("profile.read")
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the profiles, those that cannot be used here last, with the reason."""
    answered = invocation.api().transport.read(ProfileList, get("profiles"))
    if as_json:
        show_json(answered.value)
    else:
        profiles = sorted(answered.profiles, key=lambda profile: bool(profile.obstacle))
        rows = [_profile_row(profile) for profile in profiles]
        show_table(("PROFILE", "VERSION", "BACKEND", "AGENT", "DESCRIPTION"), rows)


def _profile_row(profile: Profile) -> tuple[str, ...]:
    return (
        profile.id,
        profile.version,
        profile.extension or "-",
        profile.agent or "-",
        f"not usable here: {profile.obstacle}"
        if profile.obstacle
        else profile.description or profile.metadata.description,
    )


@needs("profile.read")
@command.command("show")
@profile_argument()
@click.option("--version", default=None, help="This version  [default: the newest]")
@json_option()
@pass_invocation
def show(invocation: Invocation, profile: str, *, version: str | None, as_json: bool) -> None:
    """Show one profile as YAML."""
    query = (("version", version),) if version else ()
    answered = invocation.api().transport.call(get("profiles", profile, query=query))
    if as_json:
        show_json(answered.value)
        return
    import yaml

    # What the server adds is left out, so that the text can be edited and saved.
    document = {k: v for k, v in answered.value.items() if k not in ("bundled", "versions")}
    click.echo(yaml.safe_dump(document, sort_keys=False, allow_unicode=False), nl=False)


@needs("profile.manage")
@command.command("save")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@json_option()
@pass_invocation
def save(invocation: Invocation, file: Path, *, as_json: bool) -> None:
    """Save the profile in FILE (YAML or JSON; `-` is stdin)."""
    text = _read(file)
    from atoll.domain.profile.schema import read_profile

    # Checked here first: the same words, with line and field, without a server.
    profile = read_profile(text)
    headers = (("Content-Type", "application/yaml"),)
    call = Call("PUT", api_path("profiles", profile.id), (), headers, text.encode())
    answered = invocation.api().transport.read(ProfileName, call)
    if as_json:
        show_json(answered.value)
    else:
        say(f"saved {answered.id} {answered.version}")


@needs("profile.manage")
@command.command("delete")
@profile_argument()
@click.option("--version", default=None, help="Only this version.")
@yes_option()
@pass_invocation
def delete(invocation: Invocation, profile: str, *, version: str | None, yes: bool) -> None:
    """Delete a profile of yours."""
    what = f"{profile} {version}" if version else f"every version of {profile}"
    if not confirm(f"Delete {what}?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    query = (("version", version),) if version else ()
    invocation.api().transport.call(Call("DELETE", api_path("profiles", profile), query))
    say(f"deleted {what}")


@needs(LOCAL)
@command.command("validate")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
def validate(file: Path) -> None:
    """Check the profile in FILE, without a server."""
    from atoll.domain.profile.profile import Reach
    from atoll.domain.profile.schema import read_profile

    profile = read_profile(_read(file))
    say(f"{file}: {profile.id} {profile.version} is valid")
    if profile.reachability != Reach():
        note("the server looks at its tunnel and its identity when it is saved there")


def _read(file: Path) -> str:
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(MAX_PROFILE_BYTES + 1)
        else:
            with file.open("rb") as opened:
                data = opened.read(MAX_PROFILE_BYTES + 1)
        if len(data) > MAX_PROFILE_BYTES:
            raise Invalid(f"{file} is over {MAX_PROFILE_BYTES} bytes: too large for a profile")
        return data.decode()
    except OSError as problem:
        raise Invalid(f"{file} cannot be read: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise Invalid(f"{file} is not UTF-8 text") from problem
