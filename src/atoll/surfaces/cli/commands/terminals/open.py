"""`atoll open`: a file of a sandbox in the person's pager or editor, or a port on this machine."""

import asyncio
import contextlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from types import FrameType

import click

from atoll.client.client import Client
from atoll.client.transport import Call, api_path
from atoll.domain.errors import AtollError, Conflict, Failed, Invalid, NotFound
from atoll.domain.files.outgoing_file import is_own_folder
from atoll.domain.network.forwarded_port import MOST_PORT, read_port
from atoll.surfaces.cli.console.diff_lines import find_pager
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import sandbox_argument
from atoll.surfaces.cli.console.output import note, say
from atoll.surfaces.cli.dispatch.remote_names import inner_paths
from atoll.surfaces.cli.transfer.sandbox_files import SandboxPath

MAX_FILE_BYTES = 64 * 2**20

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
QUICK_SECONDS = 2.0
"""The time within which an editor that waits for nobody has ended."""

EDITOR_SECONDS = 5.0
"""The time an editor has to end by the signal that ends this command."""


@needs("file.read")
@click.command("open", epilog="A file whose name is a number is opened as ./NUMBER.")
@sandbox_argument()
@click.argument("what", metavar="[FILE|PORT]", required=False, shell_complete=inner_paths)
@click.option("--edit", is_flag=True, help="Edit the file, and write it back when it changed.")
@click.option(
    "--port",
    "local",
    type=click.IntRange(0, MOST_PORT),
    default=0,
    help="Listen at this port here  [default: any]",
)
@pass_invocation
def command(invocation: Invocation, name: str, what: str | None, *, edit: bool, local: int) -> None:
    """Open a file of a sandbox, or forward one of its ports to this machine.

    A file is shown by $PAGER at a terminal, else printed as it is. A port listens on 127.0.0.2
    here until Ctrl-C, so that it never gets the cookies of pages on 127.0.0.1. Without either, the
    ports that its project file names are forwarded.
    """
    if what is None or what.isdecimal():
        ports = [read_port(what)] if what else _project_ports(invocation, name)
        _forward(invocation, name, ports, local)
        return
    api = invocation.api()
    if edit:
        _edit(invocation, api, SandboxPath(name, what))
    else:
        _show(invocation, _content(api, SandboxPath(name, what)))


def _project_ports(invocation: Invocation, name: str) -> list[int]:
    """Return the approved ports of the sandbox's project. Raises a usage error without any."""
    ports = invocation.api().sandboxes.get(name).project.ports
    if not ports:
        raise click.UsageError(f"Name a file or a port: {name} has no project with ports.")
    return [read_port(str(port)) for port in ports]


def _forward(invocation: Invocation, name: str, ports: list[int], local: int) -> None:
    from atoll.client.server import find_server
    from atoll.surfaces.cli.transfer.forward import Forward

    if local and len(ports) > 1:
        raise click.UsageError("--port is for one port: name it.")
    sandbox = invocation.api().sandboxes.get(name)

    async def forward(port: int) -> None:
        def listening(host: str, where: int) -> None:
            say(f"http://{host}:{where}")
            sys.stdout.flush()
            note(f"port {port} of {sandbox.name}; Ctrl-C ends it")

        locate = partial(find_server, invocation.environ)
        await Forward(locate, sandbox.sandbox_id, port, note).run(local, listening)

    async def all_ports() -> None:
        await asyncio.gather(*map(forward, ports))

    try:
        asyncio.run(all_ports())
    except KeyboardInterrupt:
        return


def _content(api: Client, place: SandboxPath) -> bytes:
    path = api_path("sandboxes", place.sandbox, "files", "content")
    data = bytearray()
    with api.transport.open(
        Call("GET", path, (("path", place.path),), (("Accept", "*/*"),))
    ) as stream:
        while piece := stream.read():
            data += piece
            if len(data) > MAX_FILE_BYTES:
                raise Invalid(f"{place.path} is larger than 64 MiB: use `atoll cp`")
    return bytes(data)


def _show(invocation: Invocation, data: bytes) -> None:
    """Show a file, at a terminal only through a pager: what an agent wrote may hold control
    sequences."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    pager = find_pager(invocation.environ)
    if not pager:
        text = data.decode("utf-8", "replace")
        say(
            "".join(
                c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
            )
        )
        return
    env = {**invocation.environ, "LESSSECURE": "1", "LESS": ""}
    subprocess.run(pager, input=data, check=False, env=env)


def _edit(invocation: Invocation, api: Client, place: SandboxPath) -> None:
    """Edit a copy and write it back. A version that cannot be written back stays on this machine,
    and the error names its path; so does the end by a signal."""
    before = _content(api, place)
    folder = Path(tempfile.mkdtemp(prefix="atoll-open-"))
    name = PurePosixPath(place.path).name
    # An editor may ask git about the folder of the file.
    copy = folder / ("file" if not name or is_own_folder(name) else name)
    try:
        with _end_in_order() as ends:
            copy.write_bytes(before)
            began = time.monotonic()
            _run_editor(invocation, copy, ends)
            data, quick = _read_copy(copy), time.monotonic() - began < QUICK_SECONDS
            if data == before and quick:
                # Its window may be open yet, and save the copy later.
                _name_copy(copy, place)
                return
            _write_back(api, place, before, data)
    except BaseException as problem:
        # After a signal an editor may still be there, and write it.
        signalled = isinstance(problem, click.exceptions.Exit | KeyboardInterrupt)
        if not signalled and not _holds_work(copy, before):
            shutil.rmtree(folder, ignore_errors=True)
        elif isinstance(problem, AtollError):
            problem.message = f"{problem.message.rstrip('.')}; your version is {copy}"
        else:
            with contextlib.suppress(OSError):  # the terminal may be gone
                note(f"your version is {copy}")
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _name_copy(copy: Path, place: SandboxPath) -> None:
    """Say where the copy is that an editor may still write."""
    note(
        "unchanged, and your editor ended at once: does it wait, as EDITOR='code --wait' does? "
        "The copy stays here; once it is saved, write it back by\n"
        f"  {shlex.join(('atoll', 'cp', str(copy), f'{place.sandbox}:{place.path}'))}"
    )


@dataclass(slots=True)
class _EndSignals:
    """Signals that end the program, as the error `Exit`; `deferred` ones wait for `resume`."""

    deferred: bool = False
    number: int = 0

    def take(self, number: int, _: FrameType | None) -> None:
        """Record a signal, and raise `Exit` for it unless it is deferred."""
        self.number = number
        if not self.deferred:
            self.resume()

    def resume(self) -> None:
        """Raise `Exit` for a signal that was deferred, and from now on for any; those that follow
        it are ignored."""
        self.deferred = False
        if self.number:
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            raise click.exceptions.Exit(128 + self.number)


@contextlib.contextmanager
def _end_in_order() -> Iterator[_EndSignals]:
    """Have the signals that end a program raise `Exit` in the block."""
    signals = _EndSignals()
    before = {
        number: held for number in _SIGNALS if (held := signal.getsignal(number)) != signal.SIG_IGN
    }
    try:
        for number in before:
            signal.signal(number, signals.take)
        yield signals
    finally:
        for number, held in before.items():
            signal.signal(number, held)


def _run_editor(invocation: Invocation, copy: Path, signals: _EndSignals) -> None:
    setting = invocation.environ.get("VISUAL") or invocation.environ.get("EDITOR") or ""
    try:
        editor = shlex.split(setting) or ["vi"]
    except ValueError as err:
        raise Invalid(f"the editor {setting!r} cannot be read ({err}): set EDITOR") from err
    signals.deferred = True  # an editor that nobody knows could not be ended
    try:
        running = subprocess.Popen([*editor, str(copy)], env=dict(invocation.environ))
    except OSError as err:
        signals.resume()
        raise Failed(f"{editor[0]} cannot be run ({err.strerror}): set EDITOR") from err
    try:
        signals.resume()
        code = running.wait()
    except BaseException as problem:
        _end_editor(running, problem)
        raise
    if code != 0:
        raise Failed(f"{editor[0]} ended with {code}: nothing was written back")


def _end_editor(running: "subprocess.Popen[bytes]", problem: BaseException) -> None:
    """Pass a signal on to the editor, which may then keep what was not saved, beside the copy. An
    interrupt reached it already."""
    if isinstance(problem, click.exceptions.Exit):
        running.send_signal(problem.exit_code - 128)
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(EDITOR_SECONDS)


def _read_copy(copy: Path) -> bytes:
    try:
        return copy.read_bytes()
    except OSError as err:
        raise Failed(
            f"the editor left no {copy} ({err.strerror}): nothing was written back"
        ) from err


def _write_back(api: Client, place: SandboxPath, before: bytes, data: bytes) -> None:
    """Write the file, which keeps its mode. Raises `Conflict` when it changed inside meanwhile."""
    if data == before:
        note("unchanged")
        return
    try:
        now = _content(api, place)
    except NotFound as gone:
        raise NotFound(f"{gone.message}: nothing was written back") from gone
    if now != before:
        raise Conflict(f"{place.path} was changed inside meanwhile, so nothing was written back")
    api.files.write(place.sandbox, place.path, (data,))
    say(f"wrote {place.path}")


def _holds_work(copy: Path, before: bytes) -> bool:
    """Report whether the copy changed, or the editor left a file of its own beside it."""
    try:
        return copy.read_bytes() != before or len(list(copy.parent.iterdir())) > 1
    except OSError:
        return any(copy.parent.iterdir())
