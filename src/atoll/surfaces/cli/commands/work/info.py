"""`atoll info`: one sandbox, in words or as the API tells it."""

from contextlib import suppress

import click

from atoll.client.answer import Answer
from atoll.client.transport import Api, get
from atoll.domain.errors import AtollError
from atoll.domain.sandbox.interior import MIB
from atoll.surfaces.cli.commands.work.list import age
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import clean, painted, show_json
from atoll.surfaces.cli.console.selection import select
from atoll.surfaces.cli.console.waiting import end_notice, name_of

RUNNING = ("ready", "active")
WIDTH = 14
_SHOWN = 100


@click.command("info")
@sandbox_argument(required=False)
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str | None, *, as_json: bool) -> None:
    """Show everything about one sandbox."""
    api = invocation.api()
    sandbox = select(invocation, api, name)
    left = _left_running(api, sandbox)
    if as_json:
        inside = {"left_running": left.value.get("processes", [])}
        show_json({**sandbox.value, **inside, "runtime_usage": left.value.get("runtime")})
        return
    click.echo(f"{'name':<{WIDTH}}{clean(name_of(sandbox))}")
    click.echo(f"{'state':<{WIDTH}}{painted(clean(sandbox.text('state')))}{_reason(sandbox)}")
    for label, text in [*_lines(sandbox), *_processes(left), ("runtime", _usage(left))]:
        if text:
            click.echo(f"{label:<{WIDTH}}{clean(text)}")


def _left_running(api: Api, sandbox: Answer) -> Answer:
    """What programs that ended have left; empty where nothing runs or answers."""
    if sandbox.text("state") in RUNNING:
        with suppress(AtollError):
            return api.call(get("sandboxes", sandbox.text("sandbox_id"), "processes"))
    return Answer({})


def _processes(left: Answer) -> list[tuple[str, str]]:
    lines = [
        ("left running", f"{each.text('command')} (pid {each.number('pid')})")
        for each in left.children("processes")
    ]
    return [*lines, ("", "and more")] if left.flag("more") else lines


def _usage(left: Answer) -> str:
    """Return what its runtime, outside the wall, takes and may take; empty where it is unknown."""
    if left.value.get("runtime") is None:
        return ""
    usage = left.child("runtime")
    parts = [(usage.number("memory_bytes") // MIB, "most_memory_bytes", MIB, "MiB")]
    if usage.value.get("tasks") is not None:
        parts.append((usage.number("tasks"), "most_tasks", 1, "tasks"))
    return ", ".join(
        f"{taken}{_most(usage, most, unit=unit)} {noun}" for taken, most, unit, noun in parts
    )


def _most(usage: Answer, name: str, *, unit: int) -> str:
    return "" if usage.value.get(name) is None else f" of {usage.number(name) // unit}"


def _reason(sandbox: Answer) -> str:
    reason = sandbox.text("reason")
    return f"  ({clean(reason)})" if reason else ""


def _lines(sandbox: Answer) -> list[tuple[str, str]]:
    profile = sandbox.child("profile")
    generation = sandbox.number("generation")
    lines = [
        ("id", sandbox.text("sandbox_id")),
        ("generation", str(generation) if generation > 1 else ""),
        ("profile", f"{profile.text('id')} {profile.text('version')}".strip()),
        ("agent", sandbox.text("agent")),
        ("may run", _catalogue(sandbox)),
        ("backend", sandbox.text("extension")),
        ("wall", _wall(sandbox.child("isolation"))),
        ("network", sandbox.text("network_mode")),
        ("created", _moment(sandbox.text("created_at"))),
        ("last active", _moment(sandbox.text("last_active_at"))),
        ("expires", sandbox.text("expires_at")),
        ("ends soon", end_notice(sandbox)),
        ("kept until", sandbox.text("retained_until")),
    ]
    lines += [("missing", note) for note in sandbox.child("isolation").texts("degraded")]
    lines += [
        ("exposed", f"{name}: its value is inside") for name in sandbox.texts("exposed_secrets")
    ]
    lines += _instructions(sandbox.child("setup_metadata"))
    lines += [("repository", _repository(repo)) for repo in sandbox.children("repos")]
    return lines


def _instructions(setup: Answer) -> list[tuple[str, str]]:
    """The first line of the agent's instructions, and whether an agent has them."""
    words = setup.text("instructions").strip()
    source = setup.text("instructions_ref")
    if not words:
        return [("told first", f"{source}, not read yet")] if source else []
    first, _, rest = words.partition("\n")
    shown = first[:_SHOWN] + (" …" if rest or len(first) > _SHOWN else "")
    origin = f" (from {source})" if source else ""
    given = "" if setup.flag("instructed") else "; no agent has it yet"
    return [("told first", f"{shown}{origin}{given}")]


def _catalogue(sandbox: Answer) -> str:
    """Return the agents it is limited to; empty where it has all of the installation's."""
    if sandbox.value.get("agent_catalogue") is None:
        return ""
    return ", ".join(sandbox.texts("agent_catalogue")) or "no agent"


def _wall(isolation: Answer) -> str:
    if not isolation.value:
        return ""
    weak = ", WEAK: a limit that protects this machine is missing" if isolation.flag("weak") else ""
    uid = isolation.number("host_uid")
    owner = f", host uid {uid}" if uid else ""
    return f"{isolation.text('level')} ({isolation.text('mechanism')}{owner}){weak}"


def _repository(repo: Answer) -> str:
    where = repo.text("repo_url") or repo.text("key")
    source = f" from {repo.text('from_branch')}" if repo.text("from_branch") else ""
    return f"{where} branch {repo.text('branch')}{source} at {repo.text('path')}"


def _moment(at: str) -> str:
    return f"{at} ({age(at)} ago)" if at else ""
