"""`atoll attach`: choose the sandbox and the terminal, then attach to it."""

import asyncio
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from atoll.client.attach.attachment import AttachState
from atoll.client.attach.keys import CONTROL_KEY, DETACH_KEYS, ControlKey, DetachKeys
from atoll.client.client import Client
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.made.terminals import TerminalBody, TerminalChangeBody
from atoll.client.server import Server, server_at
from atoll.domain.errors import AtollError, Conflict, NotFound
from atoll.surfaces.cli.attach.ending import (
    ConnectionLoss,
    Detachment,
    Ending,
    ProgramEnd,
    SignalEnd,
)
from atoll.surfaces.cli.attach.rawtty import RawTty
from atoll.surfaces.cli.console.exits import FAILED, OK, SIGNALLED
from atoll.surfaces.cli.console.following import signal_number
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.memory import remember
from atoll.surfaces.cli.console.options import sandbox_argument
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.console.references import terminal_id
from atoll.surfaces.cli.console.selection import select
from atoll.surfaces.cli.console.waiting import COMING, LIVE, end_notice, name_of, wait_ready
from atoll.surfaces.cli.dispatch.remote_names import terminals

if TYPE_CHECKING:
    from atoll.client.desktop.folders import HeldTerminal, WorkerFolder
    from atoll.surfaces.cli.attach.connection import TerminalTarget

_SHARED = "://"
"""A link has it, and no name of a sandbox."""


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """Options of `attach`: a terminal by id, a new one, or whichever runs; to watch only, or to
    drive at once."""

    keys: DetachKeys
    terminal: str | None = None
    new: bool = False
    read_only: bool = False
    take: bool = False
    control: ControlKey = field(default_factory=ControlKey)
    size: TerminalChangeBody | None = None


def _size(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> TerminalChangeBody | None:
    """Return the change of a terminal that an option asks for, or None."""
    if text is None:
        return None
    if text == "free":
        return {"fixed": False}
    match = re.fullmatch(r"([0-9]{1,4})[x\u00d7]([0-9]{1,3})", text)
    if match is None:
        raise click.BadParameter("give a size like 120x40, or free")
    return {"fixed": True, "cols": int(match[1]), "rows": int(match[2])}


@needs("terminal.watch")
@click.command(
    "attach",
    epilog="Without NAME: the sandbox made from the current folder, else the only one there is.",
)
@sandbox_argument(required=False)
@click.argument("at", metavar="[TERMINAL]", required=False, shell_complete=terminals)
@click.option("--last", is_flag=True, help="The sandbox used last.")
@click.option(
    "--terminal", shell_complete=terminals, metavar="ID", default=None, help="Only this terminal."
)
@click.option("--new", "new", is_flag=True, help="Open a new terminal.")
@click.option(
    "--detach-keys",
    default=DETACH_KEYS,
    show_default=True,
    envvar="ATOLL_DETACH_KEYS",
    help="Detach with these keys (ctrl-p,ctrl-q is a sequence; none: no such keys).",
)
@click.option("--read-only", is_flag=True, help="Watch only; what you type is dropped.")
@click.option("--take", is_flag=True, help="Take control from the driver.")
@click.option(
    "--control-key",
    default=CONTROL_KEY,
    show_default=True,
    envvar="ATOLL_CONTROL_KEY",
    help="Ask for control, give it or release it with this key (none: no such key).",
)
@click.option(
    "--size",
    metavar="COLSxROWS",
    default=None,
    callback=_size,
    help="Fix the terminal's size, whoever drives it (free: follow the driver again).",
)
@click.option("--clipboard", is_flag=True, help="Let programs inside set your clipboard.")
@click.option("--as", "guest_name", metavar="YOU", default=None, help="Your name, with a link.")
@pass_invocation
def command(
    invocation: Invocation,
    name: str | None,
    at: str | None,
    *,
    last: bool,
    terminal: str | None,
    new: bool,
    detach_keys: str,
    read_only: bool,
    take: bool,
    control_key: str,
    size: TerminalChangeBody | None,
    clipboard: bool,
    guest_name: str | None,
) -> None:
    """Attach to a sandbox's terminal, by its name or by a share link.

    TERMINAL is the id or the name of one of its terminals.
    """
    if bool(at) + bool(terminal) + new > 1:
        raise click.UsageError("Give one of TERMINAL, --terminal and --new.")
    terminal = terminal or at
    if read_only and take:
        raise click.UsageError("Give --read-only or --take, not both.")
    key = ControlKey(control_key)
    options = AttachOptions(DetachKeys(detach_keys), terminal, new, read_only, take, key, size)
    if name is not None and _SHARED in name:
        if last or terminal or new or take or size or clipboard:
            raise click.UsageError(
                "A share link goes without --last, --terminal, --new, --take, --size "
                "and --clipboard: its sandbox is not yours."
            )
        raise click.exceptions.Exit(attach_by_link(name, guest_name, options))
    if guest_name is not None:
        raise click.UsageError("--as goes with a share link; `atoll me --name` sets your own name.")
    tty = RawTty(clipboard=clipboard)
    api = invocation.api()
    sandbox = wake(api, select(invocation, api, name, last=last))
    raise click.exceptions.Exit(attach_terminal(invocation, sandbox, options, tty=tty))


def wake(api: Client, sandbox: Sandbox) -> Sandbox:
    """Return the sandbox, started when it was stopped, and ready. Raises `Conflict`, `Failed`."""
    state = sandbox.state
    if state == "stopped":
        note(f"{name_of(sandbox)} is stopped: starting it")
        sandbox = api.sandboxes.start(sandbox.sandbox_id)
    elif state not in (*LIVE, *COMING):
        reason = sandbox.reason
        name = name_of(sandbox)
        retained = state in ("failed", "expired")
        start = f"`atoll start {name}` starts it with its files, " if retained else ""
        raise Conflict(
            f"{name} is {state}{': ' + reason if reason else ''}; "
            f"{start}`atoll recreate {name}` creates it anew"
        )
    return wait_ready(api, sandbox, title=f"waiting for {name_of(sandbox)}", again=True)


def attach_terminal(
    invocation: Invocation, sandbox: Sandbox, options: AttachOptions, *, tty: RawTty
) -> int:
    """Attach until the end. Return the exit code; the tty is as before afterwards."""
    # Loaded only now: the WebSocket client takes longer to load than most commands to run.
    from atoll.surfaces.cli.attach.connection import TerminalTarget

    api = invocation.api()
    sandbox_id = sandbox.sandbox_id
    remember(invocation.environ, sandbox_id)
    terminal, fresh = _terminal(api, sandbox, options, tty.size)
    if options.size is not None:
        api.terminals.change(sandbox_id, terminal, options.size)
    target = TerminalTarget(sandbox_id, terminal, name_of(sandbox))
    place = _Place(
        target, lambda: api.server, lambda: _gone_reason(api, target.sandbox_id, target.name), fresh
    )
    if soon := end_notice(sandbox):
        note(soon)
    return _report_ending(_attach(place, options, tty), f"atoll attach {target.name}")


def attach_by_link(link: str, name: str | None, options: AttachOptions) -> int:
    """Attach as a guest until the end. Return the exit code."""
    from atoll.surfaces.cli.attach.connection import TerminalTarget
    from atoll.surfaces.cli.attach.guest import (
        ask_name,
        guest_end_reason,
        guest_terminal,
        visit_by_link,
    )

    with visit_by_link(link, ask_name(name)) as visit:
        api = Client(lambda: visit.server)
        access = visit.access
        target = TerminalTarget(
            access.sandbox_id, guest_terminal(api, visit), access.sandbox_name, guest=True
        )
        place = _Place(
            target, lambda: visit.server, lambda: guest_end_reason(api, visit), fresh=False
        )
        ending = _attach(place, options, RawTty(clipboard=False))
    return _report_ending(ending, "atoll attach LINK")


def attach_here(
    folder: "WorkerFolder", held: "HeldTerminal", options: AttachOptions, *, tty: RawTty
) -> int:
    """Attach to a terminal of a worker on this machine until the end, by its runtime itself. Return
    the exit code."""
    from atoll.surfaces.cli.attach.connection import TerminalTarget

    name = folder.worker_id
    server = server_at(held.url, "the runtime of a worker")._replace(token=held.token)
    path = f"/sessions/{quote(held.terminal_id, safe='')}/attach"
    target = TerminalTarget("", held.terminal_id, name, path=path)

    def loss_reason() -> str:
        return "" if folder.terminal() == held else f"the terminal of {name} was given back"

    place = _Place(target, lambda: server, loss_reason, fresh=True)
    return _report_ending(_attach(place, options, tty), f"atoll worker take {name}")


@dataclass(frozen=True, slots=True)
class _Place:
    """A terminal to attach to: where its server is, and why it cannot be attached again (empty
    while it can). `fresh`: it was opened just now."""

    target: "TerminalTarget"
    locate: Callable[[], Server]
    end_reason: Callable[[], str]
    fresh: bool


def _attach(place: _Place, options: AttachOptions, tty: RawTty) -> Ending:
    from atoll.surfaces.cli.attach.session import AttachClient

    attachment = AttachState(
        f"cli-{secrets.token_hex(8)}",
        fresh=place.fresh,
        read_only=options.read_only,
        take=options.take,
    )

    async def find_end_reason() -> str:
        return await asyncio.to_thread(place.end_reason)

    with tty:
        session = AttachClient(place.target, tty, attachment, key=options.control)
        ending = asyncio.run(
            session.run(place.locate, options.keys, find_end_reason=find_end_reason)
        )
    if session.lost_bytes:
        note(
            f"atoll: {session.lost_bytes} bytes that you typed or pasted did not reach the program"
        )
    return ending


def _terminal(
    api: Client, sandbox: Sandbox, options: AttachOptions, size: tuple[int, int]
) -> tuple[str, bool]:
    """Return the terminal's id, and whether it was opened just now."""
    sandbox_id = sandbox.sandbox_id
    if options.terminal:
        terminal = terminal_id(api, sandbox_id, options.terminal)
        api.terminals.get(sandbox_id, terminal)
        return terminal, False
    if not options.new:
        listed = api.terminals.list(sandbox_id).terminals
        running = [row for row in listed if row.state == "running"]
        if running:
            # The one started last: what this person most likely left.
            latest = max(running, key=lambda row: row.started_at)
            return latest.terminal_id, False
    request: TerminalBody = {"cols": size[0], "rows": size[1]}
    agent = sandbox.agent
    if agent and not options.new:
        request["agent"] = agent
    opened = api.terminals.open(sandbox_id, request)
    return opened.terminal_id, True


def _gone_reason(api: Client, sandbox_id: str, name: str) -> str:
    """Return why the sandbox cannot be attached again; empty while it can, or that is unknown."""
    try:
        sandbox = api.sandboxes.get(sandbox_id)
    except NotFound:
        return f"{name} is gone"
    except AtollError:
        return ""
    state = sandbox.state
    if state in (*LIVE, *COMING):
        return ""
    reason = sandbox.reason
    return f"{name} is {state}{': ' + reason if reason else ''}"


def _report_ending(ending: Ending, back: str) -> int:
    match ending:
        case Detachment():
            note(f"detached: come back with `{back}`")
            return OK
        case ProgramEnd(code, signal):
            if signal is None:
                return FAILED if code is None else code
            return SIGNALLED + signal_number(signal)
        case ConnectionLoss(message, exit_code):
            note(f"atoll: {message}")
            return exit_code
        case SignalEnd(number):
            return SIGNALLED + number
