"""The endpoint for approval requests from inside: `POST /atoll/ask` at the egress door.

The body is a list of strings, each ended by NUL: the kind (`operator`, `check`, `pushed` or
`sudo PID`), the working directory, then argv. `pushed` asks nothing: it reports that git holds a
push inside. The status is the decision, the text is for the person at the
terminal: 200 run exactly this command, 403 denied, 409 no decision in time, 400 not a valid
request. For `sudo`, 200 means that the command has run, and `Atoll-Exit` is its exit code. Until
then each byte after the body is the number of a signal for the command.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from atoll.domain.approvals.command_rule import asks_for, showable, sudo_allows
from atoll.domain.errors import AtollError, Invalid, LimitReached
from atoll.runtime.doors.approvals.command_requests import CommandRequests, Decision
from atoll.runtime.doors.approvals.push_reports import PushReports
from atoll.runtime.doors.egress.pipe import Side
from atoll.runtime.doors.listener.responses import text_response
from atoll.runtime.execs.sudo import Run, Sudo
from atoll.wire.contract.policy import Commands
from atoll.wire.http.proxy_head import ProxyHead

PATH = "/atoll/ask"
MAX_BODY_BYTES = 256 * 1024
BODY_SECONDS = 15.0
_MOST_PIDS = 2**22

_RUN, _NO, _LATE, _WRONG, _GONE = (
    "200 OK",
    "403 Forbidden",
    "409 Conflict",
    "400 Bad Request",
    "404 Not Found",
)


@dataclass(frozen=True, slots=True)
class _Ask:
    kind: str
    cwd: str
    argv: tuple[str, ...]


class ApprovalEndpoint:
    """The approval endpoint of one sandbox. `commands` returns the command rules of the policy."""

    def __init__(
        self,
        requests: CommandRequests,
        commands: Callable[[], Commands],
        sudo: Sudo,
        *,
        pushes: PushReports,
    ) -> None:
        self._pushes = pushes
        self._requests = requests
        self._sudo = sudo
        self._commands = commands

    async def serve(self, head: ProxyHead, rest: bytes, caller: Side) -> bytes:
        """Return the whole response to a request that addresses the door itself."""
        if (head.method, head.path) != ("POST", PATH):
            return text_response(
                _GONE, "this is a proxy: send http://host/path or CONNECT host:port"
            )
        ask = await _read_ask(head, rest, caller[0])
        if isinstance(ask, str):
            return text_response(_WRONG, ask)
        return await self._respond(ask, caller[0])

    async def _respond(self, ask: _Ask, reader: asyncio.StreamReader) -> bytes:
        commands = self._commands()
        match ask.kind:
            case "check" if not asks_for(commands.operator, ask.argv):
                return text_response(_RUN, "")
            case "check" | "operator":
                return await self._decide(ask, reader)
            case "pushed":
                return self._note_push(ask.argv)
            case kind if kind.startswith("sudo "):
                return await self._run(commands, ask, reader)
            case _:
                return text_response(_WRONG, "unknown kind of request")

    def _note_push(self, words: tuple[str, ...]) -> bytes:
        try:
            self._pushes.report(words)
        except Invalid as error:
            return text_response(_WRONG, error.message)
        return text_response(_RUN, "")

    async def _run(self, commands: Commands, ask: _Ask, reader: asyncio.StreamReader) -> bytes:
        why_not = _why_refused(commands, ask.argv)
        if why_not is not None:
            return text_response(_NO, why_not)
        pid = ask.kind.removeprefix("sudo ")
        if not (pid.isascii() and pid.isdecimal() and 1 < int(pid[:9]) < _MOST_PIDS):
            return text_response(_WRONG, "not the pid of a process")
        try:
            run = self._sudo.begin(ask.argv, ask.cwd, int(pid))
            code = await self._wait_for_exit(run, reader)
        except AtollError as error:
            return text_response(_NO, error.message)
        return text_response(_RUN, "", code=code)

    async def _wait_for_exit(self, run: Run, reader: asyncio.StreamReader) -> int:
        """Return the exit code. Raises `ConnectionError` (in a group) when the caller hangs up, and
        ends the command."""
        failed: AtollError | None = None
        code = 0
        async with asyncio.TaskGroup() as waits:
            signals = waits.create_task(_forward_signals(reader, run))
            try:
                code = await self._sudo.ended(run)
            except AtollError as error:
                failed = error
            finally:
                signals.cancel()
        if failed is not None:
            raise failed
        return code

    async def _decide(self, ask: _Ask, reader: asyncio.StreamReader) -> bytes:
        why_not = showable(ask.argv, ask.cwd)
        if why_not is not None:
            return text_response(_WRONG, f"a person cannot be asked for this command: {why_not}")
        decision = await self._wait_for_decision(ask, reader)
        match decision:
            case Decision.ALLOW:
                return text_response(_RUN, "allowed")
            case Decision.DENY:
                return text_response(_NO, "a person denied it")
            case Decision.EXPIRED:
                return text_response(_LATE, "nobody decided in time")
            case LimitReached():
                return text_response(_WRONG, decision.message)

    async def _wait_for_decision(
        self, ask: _Ask, reader: asyncio.StreamReader
    ) -> Decision | LimitReached:
        """Return the decision. Raises `ConnectionError` (in a group) when the caller hangs up."""
        async with asyncio.TaskGroup() as waits:
            gone = waits.create_task(_wait_for_hang_up(reader))
            try:
                return await self._requests.submit(ask.argv, ask.cwd)
            except LimitReached as error:
                return error
            finally:
                gone.cancel()


def _why_refused(commands: Commands, argv: tuple[str, ...]) -> str | None:
    if not commands.sudo:
        return "this sandbox's profile allows sudo nothing (safety.sudo)"
    if not sudo_allows(commands.sudo, argv):
        allowed = "; ".join(" ".join(rule) for rule in commands.sudo[:8])
        return f"not word for word on the profile's list, which allows: {allowed}"
    return None


async def _forward_signals(reader: asyncio.StreamReader, run: Run) -> None:
    """Forward signals to the command. Raises `ConnectionError` when the caller hangs up."""
    while numbers := await reader.read(64):
        for number in numbers:
            with contextlib.suppress(AtollError):
                run.signal(number)
    raise ConnectionError("the caller hung up")


async def _wait_for_hang_up(reader: asyncio.StreamReader) -> None:
    """Raise `ConnectionError` when the caller hangs up; discard other bytes."""
    while await reader.read(4096):
        pass
    raise ConnectionError("the caller hung up")


async def _read_ask(head: ProxyHead, rest: bytes, reader: asyncio.StreamReader) -> _Ask | str:
    """Return the request, or why it is not valid."""
    length = head.length or 0
    if not 0 < length <= MAX_BODY_BYTES or len(rest) > length:
        return f"a request has 1 to {MAX_BODY_BYTES} bytes"
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = rest + await reader.readexactly(length - len(rest))
    except TimeoutError:
        return "the request did not arrive in time"
    if not body.endswith(b"\0"):
        return "a request is a list of strings, each ended by NUL"
    words = [word.decode("utf-8", "surrogateescape") for word in body[:-1].split(b"\0")]
    if len(words) < 3 or not words[2]:
        return "a request names its kind, a directory and a command"
    return _Ask(words[0], words[1], tuple(words[2:]))
