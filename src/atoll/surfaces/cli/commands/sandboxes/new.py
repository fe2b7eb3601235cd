"""`atoll new`: one command from a repository to its terminal."""

import sys
import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import click

from atoll.client.client import Client
from atoll.client.made.agents.sandbox_agents import AgentBody
from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.errors import AtollError, Invalid
from atoll.surfaces.cli.commands.terminals.exec import variables
from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.memory import remember
from atoll.surfaces.cli.console.options import duration, json_option, profile_option
from atoll.surfaces.cli.console.output import note, say, show_json
from atoll.surfaces.cli.console.plan import SandboxPlan, last_plan, preset, save
from atoll.surfaces.cli.console.requirements import print_missing_parts, print_requirements
from atoll.surfaces.cli.console.waiting import name_of, place_notice, wait_for_task, wait_ready
from atoll.surfaces.cli.create.agents import prepare_agents
from atoll.surfaces.cli.create.copies import read_copy, send_copies
from atoll.surfaces.cli.create.issues import plan_issue
from atoll.surfaces.cli.create.job import FROM_STDIN, Job, PromptKeeper, jobs
from atoll.surfaces.cli.create.request import create_body
from atoll.surfaces.cli.create.route_options import route_options
from atoll.surfaces.cli.dispatch.remote_names import branches
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.transfer.mounts import grant_mounts, read_mount
from atoll.surfaces.cli.transfer.origin import origins

NETWORKS = ("none", "limited", "host-only", "full")
ACCESSES = ("none", "ro", "rw")
SCOPES = ("session", "agent", "shared")
SOFTLOCKS = ("owner", "strict")


@dataclass(frozen=True, slots=True)
class _Manner:
    """The manner in which sandboxes are made: folders that are `private` may be mounted, the
    `project` file counts, the person may be asked (`asks`), and this machine `sends` files."""

    private: bool
    project: bool
    asks: bool
    sends: bool


@needs("sandbox.create")
@click.command(
    "new",
    epilog="REPO is owner/repo, an https or ssh address, or a path of yours such as `.`.",
)
@click.argument("repo", required=False)
@click.argument("branch", required=False, shell_complete=branches)
@click.argument("from_branch", metavar="[FROM-BRANCH]", required=False, shell_complete=branches)
@click.option(
    "--repo",
    "also",
    multiple=True,
    metavar="REPO[#BRANCH[:FROM]]",
    help="Another repository, in a folder of its own; may be repeated.",
)
@profile_option()
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    shell_complete=candidates.agents(),
    help="The agent that runs in it: codex, claude-code …; several get a sandbox each.",
)
@click.option(
    "--prompt",
    metavar="TEXT|-",
    default=None,
    help="Its agent's task, at once at work; - reads it from the standard input.",
)
@click.option(
    "--issue",
    metavar="ADDRESS",
    default=None,
    help="Its task: an issue or pull request at your forge, also its repository and branch.",
)
@click.option(
    "--max-working",
    type=click.IntRange(1, 1000),
    default=None,
    metavar="N",
    help="Queue the task while N of yours are at work.",
)
@click.option(
    "--machine", is_flag=True, help="With --prompt: its agent works by cards, without a terminal."
)
@click.option("--ask-first", is_flag=True, help="Its agent asks before it acts.")
@click.option(
    "--may-run",
    multiple=True,
    metavar="NAME",
    shell_complete=candidates.agents(),
    help="Only these agents may run in it; may be repeated  [default: the profile's].",
)
@click.option(
    "--softlock",
    type=click.Choice(SOFTLOCKS),
    default=None,
    help="Whom the lock of a working agent stops: all but the owner, or everybody.",
)
@click.option("--secret", multiple=True, metavar="NAME", help="A secret it cannot do without.")
@click.option(
    "--webhook",
    type=(str, str),
    metavar="URL SECRET",
    default=None,
    help="Post its events to URL, signed by the custom secret of this name.",
)
@click.option("--network", type=click.Choice(NETWORKS), default=None, help="Its network mode.")
@click.option(
    "--instructions",
    metavar="FILE|repo:PATH",
    default=None,
    help="Its agent's first prompt: a file here, or one of the repository.",
)
@click.option(
    "--compose",
    metavar="FILE|repo:PATH",
    default=None,
    help="Bring up the services of a compose file: one here, or one of the repository.",
)
@click.option("--name", default=None, help="Its name  [default: <repo>-<branch>]")
@click.option("--ttl", default=None, callback=duration, help="How long it lives: 15m, 4h, 2d.")
@click.option("--env", multiple=True, metavar="K=V", help="A variable inside; may be repeated.")
@click.option("--wd", metavar="DIR", default=None, help="Start in this folder of the workspace.")
@click.option(
    "--sparse", multiple=True, metavar="DIR", help="Check out only this folder; may be repeated."
)
@click.option(
    "--mount",
    multiple=True,
    metavar="HOST:PATH[:rw]",
    help="Mount a folder of this machine at /mnt, /srv or /data; may be repeated.",
)
@click.option(
    "--mount-private", is_flag=True, help="Mount folders with keys or logins without a question."
)
@click.option(
    "--copy", multiple=True, metavar="HOST:PATH", help="Copy into the workspace; may be repeated."
)
@click.option(
    "--mirror", metavar="DIR", default=None, help="Send DIR; `atoll pull` brings changes."
)
@click.option(
    "--access", type=click.Choice(ACCESSES), default=None, help="Access to the workspace."
)
@click.option(
    "--scope", type=click.Choice(SCOPES), default=None, help="Whose it is: shared is your team's."
)
@click.option("--host", metavar="NAME", default=None, help="Place it on this host, and no other.")
@route_options
@click.option(
    "--preset",
    "chosen",
    metavar="NAME",
    default=None,
    shell_complete=candidates.presets(),
    help="Use the preset of this name.",
)
@click.option("--last", is_flag=True, help="Use the options of the last sandbox.")
@click.option("--save-as", metavar="NAME", default=None, help="Save these options as a preset.")
@click.option("--no-project", is_flag=True, help="Leave the repository's .atoll.yaml out.")
@click.option("-d", "--detach", is_flag=True, help="Wait until it is ready; do not attach.")
@click.option("--no-wait", is_flag=True, help="Return at once: do not wait until it is ready.")
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    name: str | None,
    agents: tuple[str, ...],
    prompt: str | None,
    issue: str | None,
    max_working: int | None,
    webhook: tuple[str, str] | None,
    chosen: str | None,
    last: bool,
    save_as: str | None,
    mount_private: bool,
    no_project: bool,
    detach: bool,
    no_wait: bool,
    as_json: bool,
    **words: str | bool | tuple[str, ...] | None,
) -> None:
    """Create a sandbox, from a repository if you name one, and attach to it.

    BRANCH goes on where it is there already (in a checkout, its worktrees, its remote or here);
    else it is made from FROM-BRANCH (default: the one checked out, or the repository's own).
    What is said goes before a preset or the last plan.
    """
    # A prompt from a pipe leaves no terminal to attach by.
    piped = prompt == FROM_STDIN and not sys.stdin.isatty()
    options = SandboxPlan(agent=agents[0] if agents else None, **words)  # type: ignore[arg-type]  # click made them of the right kind
    keeper = PromptKeeper(invocation.environ)
    with keeper.keep_unless_done():
        task = keeper.read(prompt) if piped else None
        plan = _complete_plan(invocation, options, chosen=chosen, last=last)
        # An agent that works by cards has no terminal either.
        sits = not (detach or no_wait or as_json or piped or plan.machine or len(agents) > 1)
        if sits:
            _check_terminal()
        task = task if piped else keeper.read(prompt)
        if sits and plan == SandboxPlan() and (name, task, issue) == (None, None, None):
            from atoll.surfaces.cli.create.questions import ask_plan

            plan = ask_plan(invocation)
        plan = plan.anchor()
        _check_places(plan, no_wait=no_wait)
        planned = plan_issue(invocation, plan, task, issue)
        _check_manner(plan, planned.prompt)
        asked = jobs(planned, agents, name=name, max_working=max_working, webhook=webhook)
        # Kept first: an odd name is reported before anything is sent, and `--last` may try again.
        save(invocation.environ, plan, name=save_as)
        prepare_agents(invocation, [job.plan.agent for job in asked if job.plan.agent])
        manner = _Manner(mount_private, not no_project, not as_json, not no_wait)
        several = Several(invocation, len(asked))
        made = _make_all(invocation, several, asked, manner)
    if len(made) < len(asked):
        keeper.keep()
    if sits and not place_notice(made[0]):
        _attach(invocation, made[0])
    elif as_json:
        show_json(
            made[0].value if len(asked) == 1 else {"sandboxes": [sandbox.value for sandbox in made]}
        )
    else:
        for sandbox in made:
            say(name_of(sandbox))
    several.end()


def _make_all(
    invocation: Invocation, several: Several, asked: list[Job], manner: _Manner
) -> list[Sandbox]:
    """Make the sandboxes of all jobs, and fill those that this machine may wait for."""
    begun = several.each(
        asked, lambda job: _create_sandbox(invocation, job, manner), name=_agent_of
    )
    if manner.sends:
        begun = several.each(
            begun,
            lambda pair: (pair[0], _fill_when_ready(invocation, *pair)),
            name=lambda pair: name_of(pair[1]),
        )
    return [sandbox for _, sandbox in begun]


def _agent_of(job: Job) -> str:
    return job.plan.agent or "the sandbox"


def _complete_plan(
    invocation: Invocation, given: SandboxPlan, *, chosen: str | None, last: bool
) -> SandboxPlan:
    if chosen is not None and last:
        raise click.UsageError("Give --preset or --last, not both.")
    if chosen is not None:
        return given.over(preset(invocation.environ, chosen))
    return given.over(last_plan(invocation.environ)) if last else given


def _check_terminal() -> None:
    """Reject a missing terminal, before anything is made."""
    from atoll.surfaces.cli.attach.rawtty import RawTty

    try:
        RawTty()
    except Invalid as error:
        raise click.UsageError("attaching needs a terminal: add --detach or --json") from error


def _check_places(plan: SandboxPlan, *, no_wait: bool) -> None:
    """Reject wrong places, before anything is made."""
    if plan.sparse and plan.repo is None:
        raise click.UsageError("--sparse needs a REPO: it checks out a part of one.")
    sends = bool(plan.copy or plan.mirror)
    if sends and no_wait:
        raise click.UsageError("--copy and --mirror send once it is ready: not with --no-wait.")
    if sends and plan.access in ("none", "ro"):
        raise click.UsageError(f"Nothing can be sent to a workspace of --access {plan.access}.")
    if plan.mirror is not None and (plan.repo is not None or plan.also):
        raise click.UsageError("--mirror sends a folder in place of repositories: give one.")
    if plan.mirror is not None and not Path(plan.mirror).is_dir():
        raise click.BadParameter(f"{plan.mirror} is not a folder", param_hint="--mirror")
    for text in plan.mount:
        read_mount(text)
    for text in plan.copy:
        read_copy(text)


def _check_manner(plan: SandboxPlan, prompt: str | None) -> None:
    """Reject a way to work without a task, before anything is made."""
    if plan.ask_first and prompt is None:
        raise click.UsageError(
            "--ask-first needs a --prompt; without a task: `atoll agent start NAME --ask-first`."
        )
    if plan.machine and prompt is None:
        raise click.UsageError(
            "--machine needs a --prompt; without a task: `atoll agent start NAME --machine`."
        )


def _send_files(invocation: Invocation, job: Job, made: Sandbox) -> None:
    """Put into a sandbox that is ready what this machine sends itself."""
    api, sandbox_id, plan = invocation.api(), made.sandbox_id, job.plan
    if plan.mirror is not None:
        from atoll.surfaces.cli.transfer.mirror import send_mirror

        left_out = send_mirror(api, invocation.environ, sandbox_id, Path(plan.mirror).resolve())
        if left_out:
            note(f"atoll: {len(left_out)} links out of the folder or special files stay here")
    send_copies(api, sandbox_id, [read_copy(text) for text in plan.copy])
    if job.project is not None and job.sends:
        from atoll.surfaces.cli.create.project import fill

        fill(api, sandbox_id, made.repos[0].path, job.project)


def _fill_when_ready(invocation: Invocation, job: Job, made: Sandbox) -> Sandbox:
    """Wait until the sandbox is ready, and send what comes from this machine. An agent that needs
    those files begins then."""
    api = invocation.api()
    if waits := place_notice(made):
        note(waits)
        return made
    ready = _await_ready(api, made)
    _send_files(invocation, job, ready)
    if job.prompts_later and job.prompt is not None:
        plan = job.plan
        order: AgentBody = {
            "agent": ready.agent,
            "prompt": job.prompt,
            "permissions": "ask" if plan.ask_first else "allow",
        }
        if plan.machine:
            order["mode"] = "machine"
        api.agents.start(ready.sandbox_id, order)
    return wait_for_task(api, ready) if job.prompt is not None else ready


def _create_sandbox(invocation: Invocation, job: Job, manner: _Manner) -> tuple[Job, Sandbox]:
    api = invocation.api()
    sources = origins(api, job.plan, base=job.base)
    if manner.project and sources:
        from atoll.surfaces.cli.create.project import apply_project

        plan, project = apply_project(api, job.plan, sources, ask=manner.asks, sends=manner.sends)
        job = replace(job, plan=plan, project=project)
    plan = job.plan
    request = create_body(job, sources, variables(plan.env))
    folder = next((origin.folder for origin in sources if origin.folder), None)
    with grant_mounts(invocation, plan.mount, private=manner.private) as mounts:
        if mounts.bodies:
            request["mounts"] = mounts.bodies
        since = datetime.now(UTC).replace(microsecond=0)
        # One key for this run: were the request repeated on its way, one sandbox comes of it.
        made = api.sandboxes.create(request, idempotency_key=uuid.uuid4().hex)
        if datetime.fromisoformat(made.created_at) < since:
            mounts.withdraw()  # It was there, and has grants of its own.
    remember(invocation.environ, made.sandbox_id, folder=folder)
    return job, made


def _await_ready(api: Client, made: Sandbox) -> Sandbox:
    name = name_of(made)
    try:
        ready = wait_ready(api, made, title=f"making {name}")
        print_missing_parts(ready)
        print_requirements(api, ready)
        if ready.project.state == "running":
            note(f"{name}: its set-up runs: `atoll attach {name} setup`")
        return ready
    except KeyboardInterrupt:
        note(f"\n{name} is still being made: `atoll attach {name}` or `atoll destroy {name}`")
        raise
    except AtollError:
        note(f"{name} was kept to be looked at: `atoll logs {name}`, `atoll destroy {name}`")
        raise


def _attach(invocation: Invocation, made: Sandbox) -> None:
    from atoll.client.attach.keys import DetachKeys
    from atoll.surfaces.cli.attach.rawtty import RawTty
    from atoll.surfaces.cli.commands.terminals.attach import AttachOptions, attach_terminal

    say(f"{name_of(made)} is ready; detach with {DetachKeys().spelled}")
    raise click.exceptions.Exit(
        attach_terminal(invocation, made, AttachOptions(DetachKeys()), tty=RawTty())
    )
