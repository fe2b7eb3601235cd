"""`atoll info`: one sandbox, in words or as the API sends it."""

from contextlib import suppress

import click

from atoll.client.client import Client
from atoll.client.made.agents.tools import SandboxTool, SandboxTools
from atoll.client.made.processes import Processes
from atoll.client.made.sandboxes.views import Isolation, Repo, Sandbox, SandboxProject, Setup
from atoll.domain.errors import AtollError
from atoll.domain.logins.agent_login import NAMED_LOGIN
from atoll.domain.size import MIB
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import age, moment_with_age, moment_with_time_left
from atoll.surfaces.cli.console.options import json_option, sandbox_argument, utc_option
from atoll.surfaces.cli.console.output import clean, paint, show_json
from atoll.surfaces.cli.console.requirements import missing_parts
from atoll.surfaces.cli.console.selection import select
from atoll.surfaces.cli.console.waiting import end_notice, name_of, state_of
from atoll.surfaces.cli.overview.agent_line import status_line

RUNNING = ("ready", "active")
WIDTH = 14
_SHOWN = 100


@needs("sandbox.read")
@click.command("info")
@sandbox_argument(required=False)
@utc_option()
@json_option()
@pass_invocation
def command(invocation: Invocation, name: str | None, *, as_json: bool) -> None:
    """Show everything about one sandbox."""
    api = invocation.api()
    sandbox = select(invocation, api, name)
    left, tools = _remaining_processes(api, sandbox), _tools(api, sandbox)
    if as_json:
        inside = {"left_running": left.value.get("processes", []), **tools.value}
        show_json({**sandbox.value, **inside, "runtime_usage": left.value.get("runtime")})
        return
    click.echo(f"{'name':<{WIDTH}}{clean(name_of(sandbox))}")
    click.echo(f"{'state':<{WIDTH}}{paint(clean(state_of(sandbox)))}{_reason(sandbox)}")
    lines = [
        *_fact_lines(sandbox),
        *_agent_lines(sandbox),
        *_process_lines(left),
        ("runtime", _usage(left)),
    ]
    lines += [("not inside", _missing_agents(api, sandbox)), *_withheld_lines(api, sandbox)]
    lines += [("tool", _tool(tool)) for tool in tools.tools]
    for label, text in lines:
        if text:
            click.echo(f"{label:<{WIDTH}}{clean(text)}")


def _agent_lines(sandbox: Sandbox) -> list[tuple[str, str]]:
    return [("status", f"{agent.agent}: {status_line(agent.status)}") for agent in sandbox.agents]


def _missing_agents(api: Client, sandbox: Sandbox) -> str:
    """Return the agents of the installation that it may run and does not have, with how one of them
    comes in; empty where there are none, or nobody looked."""
    if sandbox.state not in RUNNING or sandbox.value.get("agents_inside") is None:
        return ""
    from atoll.client.catalogues import AgentCatalogue

    inside = {"shell", *(each.partition("@")[0] for each in sandbox.agents_inside)}
    limited = sandbox.value.get("agent_catalogue") is not None
    admitted = set(sandbox.agent_catalogue) if limited else None
    with suppress(AtollError):
        names = [
            agent.name
            for agent in AgentCatalogue(api.transport).list().agents
            if agent.state in ("works", "key_missing")
            and agent.name not in inside
            and (admitted is None or agent.name in admitted)
        ]
        name = name_of(sandbox)
        again = f"`atoll stop {name}` and `atoll start {name}` bring in what was installed later"
        return f"{', '.join(names)}: {again}" if names else ""
    return ""


def _remaining_processes(api: Client, sandbox: Sandbox) -> Processes:
    """Return what ended programs left running; empty where nothing runs or answers."""
    if sandbox.state in RUNNING:
        with suppress(AtollError):
            return api.sandboxes.processes(sandbox.sandbox_id)
    return Processes({})


def _withheld_lines(api: Client, sandbox: Sandbox) -> list[tuple[str, str]]:
    """Return what of its network a bound takes away by now."""
    with suppress(AtollError):
        openings = api.sandboxes.network(sandbox.sandbox_id).withheld
        return [
            ("not open", f"{opening.field} {opening.text}: beyond {opening.whose}")
            for opening in openings
        ]
    return []


def _tools(api: Client, sandbox: Sandbox) -> SandboxTools:
    """Return the tools of its agents; none from a server that does not list them."""
    with suppress(AtollError):
        return api.sandboxes.tools(sandbox.sandbox_id)
    return SandboxTools({})


def _tool(tool: SandboxTool) -> str:
    if tool.missing:
        return f"{tool.name}: no, {tool.reason}"
    return f"{tool.name}: {'after a person approves' if tool.rule == 'ask' else 'yes'}"


def _process_lines(left: Processes) -> list[tuple[str, str]]:
    lines = [("left running", f"{each.command} (pid {each.pid})") for each in left.processes]
    return [*lines, ("", "and more")] if left.more else lines


def _usage(left: Processes) -> str:
    """Return what its runtime, outside the wall, takes and may take; empty where it is unknown."""
    if left.value.get("runtime") is None:
        return ""
    usage = left.runtime
    parts = [f"{usage.memory_bytes // MIB}{_upper_bound(usage.most_memory_bytes // MIB)} MiB"]
    if usage.value.get("tasks") is not None:
        parts.append(f"{usage.tasks}{_upper_bound(usage.most_tasks)} tasks")
    return ", ".join(parts)


def _upper_bound(bound: int) -> str:
    return f" of {bound}" if bound else ""


def _reason(sandbox: Sandbox) -> str:
    reason = sandbox.reason
    return f"  ({clean(reason)})" if reason else ""


def _fact_lines(sandbox: Sandbox) -> list[tuple[str, str]]:
    profile = sandbox.profile
    generation = sandbox.generation
    lines = [
        ("id", sandbox.sandbox_id),
        ("generation", str(generation) if generation > 1 else ""),
        ("profile", f"{profile.id} {profile.version}".strip()),
        ("agent", sandbox.agent),
        ("may run", _catalogue(sandbox)),
        ("has", ", ".join(each.replace("@", " ") for each in sandbox.agents_inside)),
        ("backend", sandbox.extension),
        ("host", sandbox.host),
        ("route", sandbox.route),
        ("made inside", sandbox.parent),
        ("wall", _wall(sandbox.isolation)),
        ("network", sandbox.network_mode),
        ("created", moment_with_age(sandbox.created_at)),
        ("last active", moment_with_age(sandbox.last_active_at)),
        ("expires", moment_with_time_left(sandbox.expires_at)),
        ("ends soon", end_notice(sandbox)),
        ("kept until", moment_with_time_left(sandbox.retained_until)),
    ]
    lines += _reachability_lines(sandbox)
    lines += [("missing", note) for note in sandbox.isolation.degraded]
    lines += [("exposed", _exposure(name)) for name in sandbox.exposed_secrets]
    lines += _instruction_lines(sandbox.setup_metadata)
    lines += _project_lines(sandbox.project)
    for repo in sandbox.repos:
        lines += [("repository", _repository(repo))]
        lines += [("", line) for line in missing_parts(sandbox, repo)]
    return lines


def _reachability_lines(sandbox: Sandbox) -> list[tuple[str, str]]:
    """Return the tunnel and the identity that its profile names, and the state of its webhook."""
    reachability = sandbox.reachability
    entries = (("tunnel", reachability.tunnel), ("identity", reachability.identity))
    lines = [
        (word, f"{clean(entry.url)} ({clean(entry.kind)})")
        for word, entry in entries
        if entry.value
    ]
    webhook = reachability.lifecycle_webhook
    if webhook.value:
        why = f": {clean(webhook.reason)}" if webhook.reason else ""
        place = f"{webhook.webhook_id} to {clean(webhook.host)}"
        lines.append(("webhook", f"{place}, {webhook.state}{why}"))
    return lines


def _exposure(name: str) -> str:
    if name.startswith(NAMED_LOGIN):
        return f"{name}: the access token of a login is inside"
    return f"{name}: its value is inside"


def _project_lines(project: SandboxProject) -> list[tuple[str, str]]:
    """Return the state of its set-up, its servers, and the ports that are there to open."""
    if not project.value:
        return []
    why = f": {project.reason}" if project.reason else ""
    if project.prebuilt_at:
        why = f", from a snapshot of {age(project.prebuilt_at)} ago"
    lines = [] if project.state == "none" else [("set-up", f"{project.state}{why}")]
    lines += [("server", f"{name}: {command}") for name, command in project.servers.items()]
    return [*lines, *(("port", str(port)) for port in project.ports)]


def _instruction_lines(setup: Setup) -> list[tuple[str, str]]:
    """Return the first line of the agent's instructions, and whether an agent has them."""
    words = setup.instructions.strip()
    source = setup.instructions_ref
    if not words:
        return [("instructions", f"{source}, not read yet")] if source else []
    first, _, rest = words.partition("\n")
    shown = first[:_SHOWN] + (" …" if rest or len(first) > _SHOWN else "")
    origin = f" (from {source})" if source else ""
    given = "" if setup.instructed else "; no agent has it yet"
    return [("instructions", f"{shown}{origin}{given}")]


def _catalogue(sandbox: Sandbox) -> str:
    """Return the agents it is limited to; empty where it has all of the installation's. Where it
    runs, those that are not inside are marked."""
    if sandbox.value.get("agent_catalogue") is None:
        return ""
    known = sandbox.value.get("agents_inside") is not None
    inside = {"shell", *(each.partition("@")[0] for each in sandbox.agents_inside)}
    words = (
        f"{name} (not inside)" if known and name not in inside else name
        for name in sandbox.agent_catalogue
    )
    return ", ".join(words) or "no agent"


def _wall(isolation: Isolation) -> str:
    if not isolation.value:
        return ""
    weak = ", WEAK: a limit that protects this machine is missing" if isolation.weak else ""
    uid = isolation.host_uid
    owner = f", host uid {uid}" if uid else ""
    return f"{isolation.level} ({isolation.mechanism}{owner}){weak}"


def _repository(repo: Repo) -> str:
    where = repo.repo_url or repo.key
    source = f" from {repo.from_branch}" if repo.from_branch else ""
    return f"{where} branch {repo.branch}{source} at {repo.path}"
