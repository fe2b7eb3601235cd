"""Routes of the processes that programs left running in a sandbox: list and end them."""

from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.processes import Processes
from atoll.wire.contract.execs import LeftList, end_left_running, list_left_running

operations = Operations()


@operations.serves(Processes.list)
async def list_processes(context: RequestContext, sandbox: str) -> LeftList:
    return await context.atoll.runtime_calls.call(context.caller, sandbox, list_left_running())


@operations.serves(Processes.end)
async def end_processes(context: RequestContext, sandbox: str) -> None:
    calls = context.atoll.runtime_calls
    await calls.call(context.caller, sandbox, end_left_running(), activity=True)
