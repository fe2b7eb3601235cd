"""`atoll open`: a file of a sandbox in the person's pager or editor, or a port on this machine."""

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path, PurePosixPath

import click

from atoll.client.client import Client
from atoll.client.transport import Call, at
from atoll.domain.errors import Conflict, Failed, Invalid
from atoll.domain.network.forwarded_port import MOST_PORT, read_port
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import sandbox_argument
from atoll.surfaces.cli.console.output import note, say
from atoll.surfaces.cli.dispatch.remote_names import inner_paths
from atoll.surfaces.cli.transfer.sandbox_files import SandboxPath, send

MAX_FILE_BYTES = 64 * 2**20


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
    path = at("sandboxes", place.sandbox, "files", "content")
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
    pager = shlex.split(invocation.environ.get("PAGER") or "less")
    if not pager or shutil.which(pager[0]) is None:
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
    editor = shlex.split(
        invocation.environ.get("VISUAL") or invocation.environ.get("EDITOR") or "vi"
    )
    before = _content(api, place)
    folder = Path(tempfile.mkdtemp(prefix="atoll-open-"))
    try:
        copy = folder / (PurePosixPath(place.path).name or "file")
        copy.write_bytes(before)
        try:
            done = subprocess.run([*editor, str(copy)], check=False, env=dict(invocation.environ))
        except OSError as err:
            raise Failed(f"{editor[0]} cannot be run ({err.strerror}): set EDITOR") from err
        if done.returncode != 0:
            raise Failed(f"{editor[0]} ended with {done.returncode}: nothing was written back")
        if copy.read_bytes() == before:
            note("unchanged")
            return
        if _content(api, place) != before:
            kept = Path(f"{os.fspath(folder)}-kept")
            folder.rename(kept)
            raise Conflict(
                f"{place.path} was changed inside meanwhile, so nothing was written back; "
                f"your version is {kept / copy.name}"
            )
        send(api, str(copy), place)
        say(f"wrote {place.path}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
