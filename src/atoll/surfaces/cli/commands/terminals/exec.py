"""`atoll exec`: one command in a sandbox, its streams as they come, its exit code as ours."""

import sys

import click

from atoll.client.attach.keys import DETACH_KEYS, DetachKeys
from atoll.client.client import Client
from atoll.client.made.execs import Exec, ExecBody
from atoll.client.made.terminals import TerminalBody
from atoll.domain.duration import parse_duration
from atoll.surfaces.cli.attach.rawtty import RawTty
from atoll.surfaces.cli.commands.terminals.attach import (
    AttachOptions,
    attach_terminal,
    wake,
)
from atoll.surfaces.cli.console.following import (
    MAX_OUTPUT_BYTES,
    ExecFollower,
    end_code,
    is_stdin_piped,
)
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import say, show_json
from atoll.surfaces.cli.console.references import exec_id
from atoll.surfaces.cli.dispatch.docker_order import DockerOrder


def _reject_user(_context: click.Context, _parameter: click.Parameter, user: str | None) -> None:
    if user is not None:
        raise click.UsageError(
            "a sandbox has one user, who runs every command: leave `--user` out "
            "(a profile may allow `sudo` inside)"
        )


@needs("exec.use")
@click.command(
    "exec",
    cls=DockerOrder,
    epilog="The command begins after NAME; a `--` before it is optional: atoll exec NAME -- ls -l",
)
@sandbox_argument()
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--shell", "line", metavar="LINE", default=None, help="A command line for the shell inside."
)
@click.option("-w", "--cwd", default=None, help="Where to run it  [default: /workspace]")
@click.option(
    "-e", "--env", "env", multiple=True, metavar="K=V", help="A variable; may be repeated."
)
@click.option(
    "-i", "interactive", is_flag=True, help="Pass on what is typed, too, not only a pipe."
)
@click.option("-t", "tty", is_flag=True, help="Run it at a terminal of its own, and attach to it.")
@click.option(
    "-u",
    "--user",
    hidden=True,
    expose_value=False,
    callback=_reject_user,
    help="There is no choice.",
)
@click.option(
    "--timeout", default=None, help="End it after this time (30s, 5m), with exit code 124."
)
@click.option("-d", "--background", is_flag=True, help="Print its id and leave it running.")
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
    interactive: bool,
    tty: bool,
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
    if tty:
        if any((background, reap, as_json, follow, timeout)):
            raise click.UsageError("-t goes with --cwd, --env and --shell only.")
        request = _request(argv, line, cwd=cwd, env=env, timeout=None)
        raise click.exceptions.Exit(at_terminal(invocation, name, request))
    if follow is not None:
        started, feed = api.execs.get(name, exec_id(api, name, follow)), False
    else:
        feed = (is_stdin_piped() or interactive) and not background
        request = _request(argv, line, cwd=cwd, env=env, timeout=timeout)
        if reap:
            request["reap"] = True
        if not feed:
            request["stdin"] = ""
        started = api.execs.run(name, request)
    if background:
        show_json(started.value) if as_json else say(started.exec_id)
        return
    _follow(api, name, started, feed=feed, forget=follow is None, as_json=as_json)


def _follow(
    api: Client, name: str, started: Exec, *, feed: bool, forget: bool, as_json: bool
) -> None:
    """Follow the command to its end, and leave with its exit code."""
    follower = ExecFollower(api.transport, name, started.exec_id, quiet=as_json)
    ended = follower.run(feed=feed, forget=forget)
    if as_json:
        show_json({**ended.value, **follower.captured_output()})
    raise click.exceptions.Exit(end_code(ended))


def at_terminal(invocation: Invocation, name: str, request: ExecBody) -> int:
    """Run the command at a terminal of its own and attach to it; returns its exit code."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            "`-t` needs a terminal on stdin and stdout: leave it out (`-i` passes stdin on)"
        )
    tty = RawTty()
    api = invocation.api()
    sandbox = wake(api, api.sandboxes.get(name))
    cols, rows = tty.size
    line = request.get("shell")
    argv = ["sh", "-c", line] if line is not None else request.get("argv")
    body: TerminalBody = {"argv": argv, "cols": cols, "rows": rows}
    if cwd := request.get("cwd"):
        body["cwd"] = cwd
    if env := request.get("env"):
        body["env"] = env
    opened = api.terminals.open(sandbox.sandbox_id, body)
    keys = DetachKeys(invocation.environ.get("ATOLL_DETACH_KEYS", DETACH_KEYS))
    options = AttachOptions(keys, opened.terminal_id)
    return attach_terminal(invocation, sandbox, options, tty=tty)


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
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{pair!r} is not K=V", param_hint="--env")
        values[key] = value
    return values
