"""Processes that programs left running in a sandbox."""

from atoll.wire.api.fields import SandboxRef
from atoll.wire.api.operation import Area, operation
from atoll.wire.contract.execs import LeftList


class Processes(Area):
    """The processes that commands and terminals left running."""

    tag = "exec"
    needs = "sandbox.read"

    @operation(
        "GET /v1/sandboxes/{sandbox}/processes",
        name="list_processes",
        problems=(404, 409, 502),
        max_items=200,
    )
    def list(self, sandbox: SandboxRef) -> LeftList:
        """Return the processes that commands and terminals left running when they ended, at most
        200.

        The response also has the resources of the sandbox's runtime.
        """

    @operation(
        "DELETE /v1/sandboxes/{sandbox}/processes",
        name="end_processes",
        status=204,
        needs="sandbox.manage",
        problems=(404, 409, 502),
    )
    def end(self, sandbox: SandboxRef) -> None:
        """Kill these processes. Running commands and terminals stay."""
