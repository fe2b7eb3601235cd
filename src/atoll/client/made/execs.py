"""Commands in a sandbox: run one and wait, follow its output, write to it, signal it, forget it.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.parts import ExecOutput
from atoll.client.transport import Transport, get, post


class ExecRecord(Shape):
    """A command without its output."""

    exec_id = fields.text()
    argv = fields.texts()
    cwd = fields.text()
    state: Field[Literal["running", "exited"]] = fields.word()
    exit_code = fields.number(1)
    signal = fields.text()
    timed_out = fields.flag()
    started_at = fields.text()
    ended_at = fields.text()
    stdout_bytes = fields.number()
    stderr_bytes = fields.number()
    truncated = fields.flag()


class Exec(ExecOutput, ExecRecord):
    """A command with the kept part of its output, base64."""

    stdout = fields.text()
    stderr = fields.text()


class ExecList(Shape):
    """The sandbox's commands."""

    execs = fields.many(ExecRecord)


class ExecBody(TypedDict, total=False):
    """A command: `argv`, or `shell` for a line. `timeout` in seconds, `stdin` in base64. With
    `reap` all it started is killed as it ends; otherwise processes that it left running live on."""

    argv: list[str] | None
    shell: str | None
    cwd: str | None
    env: dict[str, str] | None
    stdin: str | None
    timeout: float | None
    background: bool
    max_output_bytes: int | None
    reap: bool


class Execs:
    """Commands in a sandbox. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def run(self, name: str, body: ExecBody) -> Exec:
        """Run a command. It waits for the end, or with `background` answers at once. With
        `Accept: application/x-ndjson` the output comes as it is written."""
        return self._transport.read(Exec, post("sandboxes", name, "exec", value=body))

    def list(self, name: str) -> ExecList:
        """Return the commands that run, and those that ended lately; without their output."""
        return self._transport.read(ExecList, get("sandboxes", name, "exec"))

    def get(self, name: str, exec_id: str) -> Exec:
        """Return one command with its output so far."""
        return self._transport.read(Exec, get("sandboxes", name, "exec", exec_id))
