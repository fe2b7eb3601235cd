"""The tools `atoll.*` inside a sandbox: exec, read, write, ask.

Output of commands and files are text of others: an agent in the sandbox, or a repository, may have
written any of it.
"""

import asyncio
import base64
import contextlib
from typing import Annotated

from msgspec import Meta

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.tools.answer import Answer, ForeignText, text_page
from atoll.domain.tools.tool import READS, Effects
from atoll.services.identifiers import checked_id
from atoll.services.terminals.runtime_calls import RuntimeCalls
from atoll.surfaces.mcp.definition import Arguments, Call, Namespace
from atoll.surfaces.mcp.fields import Offset, SandboxName, WaitSeconds
from atoll.wire.contract import agents, execs, files
from atoll.wire.contract.call import PathId

inside = Namespace("atoll")

READ_BYTES = 32 * 1024
"""The bytes of a file that are read for one answer, which shows no more of them."""

MAX_WRITE = 1024 * 1024
"""The longest text of one `atoll.write`, in characters."""


class ExecArguments(Arguments, frozen=True):
    """The arguments of `atoll.exec`: a `command`, or the `exec_id` of one."""

    sandbox: SandboxName
    command: Annotated[str, Meta(description="A line for the shell.", max_length=100_000)] = ""
    cwd: Annotated[str, Meta(description="Where; /workspace by default.", max_length=4096)] = ""
    exec_id: Annotated[
        str, Meta(description="In place of `command`: one that runs, or ran.", max_length=64)
    ] = ""
    offset: Offset = 0
    seconds: WaitSeconds = 20


class ReadArguments(Arguments, frozen=True):
    """The arguments of `atoll.read`."""

    sandbox: SandboxName
    path: Annotated[str, Meta(description="Relative to /workspace.", min_length=1, max_length=4096)]
    offset: Offset = 0


class WriteArguments(Arguments, frozen=True):
    """The arguments of `atoll.write`."""

    sandbox: SandboxName
    path: Annotated[str, Meta(description="Relative to /workspace.", min_length=1, max_length=4096)]
    text: Annotated[str, Meta(description="The whole content.", max_length=MAX_WRITE)]


class AskArguments(Arguments, frozen=True):
    """The arguments of `atoll.ask`."""

    sandbox: SandboxName
    prompt: Annotated[str, Meta(description="The words.", min_length=1, max_length=100_000)]
    agent_id: Annotated[
        str, Meta(description="Which; needed where there are several.", max_length=64)
    ] = ""


@inside.tool("exec", Capability.EXEC_USE, Effects(), inside=Capability.SANDBOX_CHILDREN)
async def run_command(call: Call, arguments: ExecArguments) -> Answer:
    """Run a command in a sandbox and return its output. When its state is running after the wait,
    or `next` is not null, call again with its exec_id and that offset."""
    if bool(arguments.command) == bool(arguments.exec_id):
        raise Invalid("give either `command` or `exec_id`", field="command")
    if arguments.exec_id and arguments.cwd:
        raise Invalid("`cwd` is for a new command: leave it out", field="cwd")
    reach = await call.reach_to_run(arguments.sandbox, "a command")
    calls, caller, ref = call.atoll.runtime_calls, reach.caller, reach.ref
    if arguments.command:
        body = execs.ExecBody(shell=arguments.command, cwd=arguments.cwd or None, background=True)
        exec_id = PathId((await calls.run(caller, ref, body)).exec_id)
    else:
        exec_id = checked_id(arguments.exec_id, noun="command")
    await _until_end(calls, caller, ref, exec_id, seconds=arguments.seconds)
    return _command_answer(await calls.call(caller, ref, execs.get_exec(exec_id)), arguments)


@inside.tool("read", Capability.FILE_READ, READS, inside=Capability.SANDBOX_CHILDREN)
async def read_file(call: Call, arguments: ReadArguments) -> Answer:
    """Read a text file of a sandbox. `next` is the offset in bytes of what follows."""
    first = arguments.offset
    query = (("path", arguments.path),)
    reach = await call.reach(arguments.sandbox)
    calls, caller, ref = call.atoll.runtime_calls, reach.caller, reach.ref
    entry = await calls.look(caller, ref, files.stat_file(query))
    if entry.type == "file" and entry.size <= first:
        return Answer({"path": entry.path, "size": entry.size, "next": None})
    asked = files.read_file(query, byte_range=f"bytes={first}-{first + READ_BYTES - 1}")
    async with calls.take(caller, ref, asked) as answer:
        data = b"".join([part async for part in answer.body])
    page = text_page(data.decode("utf-8", "surrogateescape"), 0)
    following = first + len(page.text.encode("utf-8", "surrogateescape"))
    rest = following if following < entry.size else None
    text = ForeignText(f"the file {entry.path} of {arguments.sandbox}", page.text)
    return Answer({"path": entry.path, "size": entry.size, "next": rest}, (text,))


@inside.tool(
    "write",
    Capability.FILE_WRITE,
    Effects(destructive=True, idempotent=True),
    inside=Capability.SANDBOX_CHILDREN,
)
async def write_file(call: Call, arguments: WriteArguments) -> Answer:
    """Write a text file of a sandbox, whole or not at all; missing directories are made."""
    query = (("path", arguments.path), ("parents", "true"))
    asked = files.write_file(query, arguments.text.encode())
    reach = await call.reach(arguments.sandbox)
    calls = call.atoll.runtime_calls
    written = await calls.call(reach.caller, reach.ref, asked, activity=True)
    return Answer({"path": written.entry.path, "size": written.entry.size, "new": written.new})


@inside.tool("ask", Capability.AGENT_USE, Effects(), inside=Capability.SANDBOX_CHILDREN)
async def ask_agent(call: Call, arguments: AskArguments) -> Answer:
    """Send words to an agent that runs in a sandbox. It answers once they were sent; the events of
    the sandbox say when it is done."""
    reach = await call.reach_to_run(arguments.sandbox, "words to an agent")
    running = (await call.atoll.agents.list(reach.caller, reach.ref)).agents
    named = [one for one in running if arguments.agent_id in ("", one.id)]
    if len(named) != 1:
        ids = ", ".join(one.id for one in running) or "none"
        raise Invalid(f"name one of the agents that run there: {ids}", field="agent_id")
    body = agents.AskBody(prompt=arguments.prompt)
    asked = await call.atoll.agents.ask(reach.caller, reach.ref, named[0].id, body=body)
    return Answer({"agent_id": asked.id, "agent": asked.agent, "turn": asked.turn})


async def _until_end(
    calls: RuntimeCalls, caller: Principal, ref: str, exec_id: PathId, *, seconds: float
) -> None:
    """Wait until a command has ended, or for so long."""
    last = (("stdout", str(2**53)), ("stderr", str(2**53)))
    with contextlib.suppress(TimeoutError):
        async with (
            asyncio.timeout(seconds),
            calls.stream(caller, ref, execs.follow_exec(exec_id, last)) as answer,
        ):
            async for _ in answer.body:
                pass


def _command_answer(seen: execs.ExecWithOutput, arguments: ExecArguments) -> Answer:
    """Return the page of a command's output, its errors after its output."""
    output = b"".join(map(base64.b64decode, (seen.stdout, seen.stderr)))
    page = text_page(output.decode("utf-8", "surrogateescape"), arguments.offset)
    value: dict[str, Json] = {
        "exec_id": seen.exec_id,
        "state": seen.state,
        "exit_code": seen.exit_code,
        "signal": seen.signal,
        "truncated": seen.truncated,
        "next": page.next,
    }
    origin = f"a command in {arguments.sandbox}"
    return Answer(value, (ForeignText(origin, page.text),) if page.text else ())
