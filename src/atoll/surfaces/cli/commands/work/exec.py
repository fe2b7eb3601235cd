"""`atoll exec`: one command in a sandbox, its streams as they come, its exit code as ours."""

import click

from atoll.client.bodies import ExecBody
from atoll.client.terminal_shapes import Exec
from atoll.domain.duration import parse_duration
from atoll.surfaces.cli.commands.work.attach import signal_number
from atoll.surfaces.cli.console.exits import SIGNALLED, TIMEOUT
from atoll.surfaces.cli.console.following import Following, piped
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import note, say, show_json

MAX_OUTPUT_BYTES = 64 * 1024 * 1024
"""The contract's hard cap for each stream."""


@click.command(
    "exec",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": True},
    epilog="Put the command after `--`: atoll exec NAME -- ls -l",
)
@sandbox_argument()
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--shell", "line", metavar="LINE", default=None, help="A command line for the shell inside."
)
@click.option("--cwd", default=None, help="Where to run it  [default: /workspace]")
@click.option("--env", "env", multiple=True, metavar="K=V", help="A variable; may be repeated.")
@click.option(
    "--timeout", default=None, help="End it after this time (30s, 5m), with exit code 124."
)
@click.option("--background", is_flag=True, help="Print its id and leave it running.")
@click.option(
    "--follow", metavar="EXEC_ID", default=None, help="Follow a command that was left running."
)
@click.option(
    "--reap", is_flag=True, help="End the processes it leaves; alone, those that others left."
)
@json_option()
@pass_invocation
def command(
    invocation: Invocation,
    name: str,
    argv: tuple[str, ...],
    *,
    line: str | None,
    cwd: str | None,
    env: tuple[str, ...],
    timeout: str | None,
    background: bool,
    follow: str | None,
    reap: bool,
    as_json: bool,
) -> None:
    """Run one command in a sandbox."""
    if _only_reap(argv, line, follow=follow, reap=reap):
        invocation.api().sandboxes.end_processes(name)
        return
    api = invocation.api()
    if follow is not None:
        started, feed = api.execs.get(name, follow), False
    else:
        feed = piped() and not background
        request = _request(argv, line, cwd=cwd, env=env, timeout=timeout)
        if reap:
            request["reap"] = True
        if not feed:
            request["stdin"] = ""
        started = api.execs.run(name, request)
    if background:
        show_json(started.value) if as_json else say(started.exec_id)
        return
    following = Following(api, name, started.exec_id, quiet=as_json)
    ended = following.run(feed=feed, forget=follow is None)
    if as_json:
        show_json({**ended.value, **following.captured()})
    raise click.exceptions.Exit(_code(ended))


def _only_reap(argv: tuple[str, ...], line: str | None, *, follow: str | None, reap: bool) -> bool:
    """Return whether --reap stands alone. Raises a usage error unless one thing is requested."""
    ways = bool(argv) + (line is not None) + (follow is not None)
    if ways > 1 or not (ways or reap):
        raise click.UsageError("Give a command after `--`, or --shell LINE, or --follow EXEC_ID.")
    if reap and follow is not None:
        raise click.UsageError("--reap is chosen when the command is started, not with --follow.")
    return not ways


def _request(
    argv: tuple[str, ...],
    line: str | None,
    *,
    cwd: str | None,
    env: tuple[str, ...],
    timeout: str | None,
) -> ExecBody:
    # We keep no copy and forget it in the end: ask for all the runtime is willing to hold.
    request: ExecBody = {"background": True, "max_output_bytes": MAX_OUTPUT_BYTES}
    if line is not None:
        request["shell"] = line
    else:
        request["argv"] = list(argv)
    if cwd is not None:
        request["cwd"] = cwd
    if env:
        request["env"] = variables(env)
    if timeout is not None:
        try:
            request["timeout"] = parse_duration(timeout, bare=True)
        except ValueError as problem:
            raise click.BadParameter(str(problem), param_hint="--timeout") from problem
    return request


def variables(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return `K=V` words as a mapping. Raises a usage error for a word without `=`."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{pair!r} is not K=V", param_hint="--env")
        found[key] = value
    return found


def _code(ended: Exec) -> int:
    if ended.truncated:
        note("atoll: output beyond 64 MiB was dropped: write it to a file inside, then `atoll cp`")
    if ended.timed_out:
        note("atoll: the command ran out of time and was ended")
        return TIMEOUT
    signal = ended.signal
    if signal:
        return SIGNALLED + signal_number(signal)
    return ended.exit_code
