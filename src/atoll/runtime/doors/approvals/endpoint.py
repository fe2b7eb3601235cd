"""Where programs inside ask for a person's word: `POST /atoll/ask` at the egress door.

The body is words ended by NUL: what is asked (`operator`, `check` or `sudo PID`), the working
directory, then argv. The answer's status is the word, its text is for the person at the
terminal: 200 run exactly this, 403 no, 409 nobody decided in time, 400 it cannot be asked.
What `sudo` may run was run when 200 comes; `Atoll-Exit` is how it ended. Until then each byte
that follows the body is the number of a signal for it.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from atoll.domain.approvals.command_rule import asks_for, showable, sudo_allows
from atoll.domain.errors import AtollError, LimitReached
from atoll.runtime.doors.approvals.command_requests import Asks, Word
from atoll.runtime.doors.egress.pipe import Side
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
class _Question:
    kind: str
    cwd: str
    argv: tuple[str, ...]


class AskDesk:
    """Answers those who ask. `commands` tells what the policy says just now."""

    def __init__(self, asks: Asks, commands: Callable[[], Commands], sudo: Sudo) -> None:
        self._asks = asks
        self._sudo = sudo
        self._commands = commands

    async def serve(self, head: ProxyHead, rest: bytes, caller: Side) -> bytes:
        """The whole answer to a request to the door itself."""
        if (head.method, head.path) != ("POST", PATH):
            return spelled(_GONE, "this is a proxy: send http://host/path or CONNECT host:port")
        question = await _question(head, rest, caller[0])
        if isinstance(question, str):
            return spelled(_WRONG, question)
        return await self._answered(question, caller[0])

    async def _answered(self, question: _Question, reader: asyncio.StreamReader) -> bytes:
        commands = self._commands()
        match question.kind:
            case "check" if not asks_for(commands.operator, question.argv):
                return spelled(_RUN, "")
            case "check" | "operator":
                return await self._asked(question, reader)
            case kind if kind.startswith("sudo "):
                return await self._run(commands, question, reader)
            case _:
                return spelled(_WRONG, "asked for something unknown")

    async def _run(
        self, commands: Commands, question: _Question, reader: asyncio.StreamReader
    ) -> bytes:
        why_not = _refused(commands, question.argv)
        if why_not is not None:
            return spelled(_NO, why_not)
        pid = question.kind.removeprefix("sudo ")
        if not (pid.isascii() and pid.isdecimal() and 1 < int(pid[:9]) < _MOST_PIDS):
            return spelled(_WRONG, "asked by no process")
        try:
            run = self._sudo.begin(question.argv, question.cwd, int(pid))
            code = await self._ended(run, reader)
        except AtollError as error:
            return spelled(_NO, error.message)
        return spelled(_RUN, "", code=code)

    async def _ended(self, run: Run, reader: asyncio.StreamReader) -> int:
        """Raises `ConnectionError` (in a group) once the asker is gone, and ends the command."""
        failed: AtollError | None = None
        code = 0
        async with asyncio.TaskGroup() as waits:
            heard = waits.create_task(_signals(reader, run))
            try:
                code = await self._sudo.ended(run)
            except AtollError as error:
                failed = error
            finally:
                heard.cancel()
        if failed is not None:
            raise failed
        return code

    async def _asked(self, question: _Question, reader: asyncio.StreamReader) -> bytes:
        why_not = showable(question.argv, question.cwd)
        if why_not is not None:
            return spelled(_WRONG, f"a person cannot be asked for this command: {why_not}")
        word = await self._word(question, reader)
        match word:
            case Word.ALLOW:
                return spelled(_RUN, "allowed")
            case Word.DENY:
                return spelled(_NO, "a person said no")
            case Word.EXPIRED:
                return spelled(_LATE, "nobody decided in time")
            case LimitReached():
                return spelled(_WRONG, word.message)

    async def _word(self, question: _Question, reader: asyncio.StreamReader) -> Word | LimitReached:
        """The person's word; raises `ConnectionError` (in a group) once the asker is gone."""
        async with asyncio.TaskGroup() as waits:
            gone = waits.create_task(_gone(reader))
            try:
                return await self._asks.ask(question.argv, question.cwd)
            except LimitReached as error:
                return error
            finally:
                gone.cancel()


def spelled(status: str, text: str, *, code: int | None = None) -> bytes:
    """A whole HTTP answer with one line of text; with the exit `code` of what was run."""
    ended = "" if code is None else f"Atoll-Exit: {code}\r\n"
    body = f"{text}\n".encode() if text else b""
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n{ended}Connection: close\r\n\r\n"
    )
    return head.encode() + body


def _refused(commands: Commands, argv: tuple[str, ...]) -> str | None:
    if not commands.sudo:
        return "this sandbox's profile allows sudo nothing (safety.sudo)"
    if not sudo_allows(commands.sudo, argv):
        allowed = "; ".join(" ".join(rule) for rule in commands.sudo[:8])
        return f"not word for word on the profile's list, which allows: {allowed}"
    return None


async def _signals(reader: asyncio.StreamReader, run: Run) -> None:
    """Raises when the asker hangs up."""
    while numbers := await reader.read(64):
        for number in numbers:
            with contextlib.suppress(AtollError):
                run.signal(number)
    raise ConnectionError("the one who asked went away")


async def _gone(reader: asyncio.StreamReader) -> None:
    """Raises when the asker hangs up; what else it says is not listened to."""
    while await reader.read(4096):
        pass
    raise ConnectionError("the one who asked went away")


async def _question(head: ProxyHead, rest: bytes, reader: asyncio.StreamReader) -> _Question | str:
    """What is asked, or why it is no question."""
    length = head.length or 0
    if not 0 < length <= MAX_BODY_BYTES or len(rest) > length:
        return f"an ask has 1 to {MAX_BODY_BYTES} bytes"
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = rest + await reader.readexactly(length - len(rest))
    except TimeoutError:
        return "the ask did not come whole"
    if not body.endswith(b"\0"):
        return "an ask is words, each ended by NUL"
    words = [word.decode("utf-8", "surrogateescape") for word in body[:-1].split(b"\0")]
    if len(words) < 3 or not words[2]:
        return "an ask names its kind, a directory and a command"
    return _Question(words[0], words[1], tuple(words[2:]))
