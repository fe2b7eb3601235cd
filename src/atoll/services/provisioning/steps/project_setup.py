"""The set-up of a project and its servers: approved commands, in visible terminals.

They run inside, as whatever an agent runs. A command that fails ends the set-up, never the
sandbox: its terminal says which one it was. Servers start after it, each in a terminal of its own.
"""

from collections.abc import Callable
from dataclasses import replace

from atoll.domain.errors import AtollError
from atoll.domain.sandboxes.project import (
    SETUP_MARK,
    SETUP_TERMINAL,
    SandboxProject,
    mark_setup_begun,
    mark_setup_ended,
    server_argv,
)
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import RuntimeClient
from atoll.services.provisioning.bring_up import BringUp
from atoll.wire.contract.terminals import OpenBody, TerminalRecord, list_terminals, open_terminal
from atoll.wire.words.sandboxes import SetupState

# $1… commands. Each is an argument: none is part of this text.
_RUN = (
    rf"""
rm -rf {SETUP_MARK}; : > {SETUP_MARK}
"""
    + r"""
number=0
for command do
  number=$((number + 1))
  printf '\033[1m[%s/%s]\033[0m %s\n' "$number" "$#" "$command"
  "${shell:=$(command -v bash || echo /bin/sh)}" -c "$command" || {
    code=$?
    printf '\033[31mset-up ended: command %s failed with exit code %s\033[0m\n' "$number" "$code"
    exit "$code"
  }
done
printf '\033[32mset-up done\033[0m\n'
"""
)


class ProjectSetup:
    """The set-up of the sandbox's project, begun in its terminal."""

    async def run(self, up: BringUp) -> None:
        """Start a set-up that waits. Raises nothing."""
        project = await begin_setup(up.sandbox, up.client, up.report)
        up.sandbox = replace(up.sandbox, project=project)


async def open_setup(sandbox: Sandbox, client: RuntimeClient) -> TerminalRecord:
    """Open the terminal in which the commands of a sandbox's project run. Raises the runtime's
    refusal."""
    commands = () if sandbox.project is None else sandbox.project.content.setup
    body = OpenBody(
        argv=["/bin/sh", "-c", _RUN, SETUP_TERMINAL, *commands],
        cwd=sandbox.repos[0].path if sandbox.repos else None,
        name=SETUP_TERMINAL,
    )
    return await client.call(open_terminal(body, principal=sandbox.owner))


async def begin_setup(
    sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
) -> SandboxProject | None:
    """Start a set-up that waits, and return the project as it then is; None without one. Raises
    nothing: what went wrong is reported."""
    project = sandbox.project
    if project is None or project.state is not SetupState.WAITING:
        return project
    if project.later and sandbox.generation == 1:
        return project
    try:
        opened = await open_setup(sandbox, client)
    except AtollError as error:
        report(f"The set-up did not begin: {error.message}")
        return mark_setup_ended(project, error.message)
    report(f"The set-up runs in the terminal {SETUP_TERMINAL}.")
    return mark_setup_begun(project, opened.terminal_id)


async def open_servers(sandbox: Sandbox, client: RuntimeClient) -> None:
    """Open a terminal for each server of a sandbox's project, unless one of its name is there.
    Raises the runtime's refusal."""
    servers = () if sandbox.project is None else sandbox.project.content.servers
    there = {terminal.name for terminal in (await client.call(list_terminals())).terminals}
    for name, command in servers:
        if name not in there:
            body = OpenBody(
                argv=[*server_argv(name, command)],
                cwd=sandbox.repos[0].path if sandbox.repos else None,
                name=name,
            )
            await client.call(open_terminal(body, principal=sandbox.owner))
